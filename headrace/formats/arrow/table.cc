#include "headrace/formats/arrow/table.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/arrow/body.h"
#include "headrace/formats/arrow/group.h"
#include "headrace/formats/columns.h"

namespace headrace::arrow {
namespace {

BufferPtr copy_of(std::string_view text) {
  MutableBufferPtr out = HeapBuffer::make(text.size());
  if (!text.empty()) std::memcpy(out->mutable_data(), text.data(), text.size());
  return out;
}

Result<std::shared_ptr<const Layout>> layout_of(const std::string& schema, Value& about) {
  HEADRACE_ASSIGN(const StoredSchema stored, schema_in(schema));
  HEADRACE_ASSIGN(Layout layout, read_layout(stored.table, stored.version));
  about = written_about(stored.table);
  return std::make_shared<const Layout>(std::move(layout));
}

// Whether both read the entries of their dictionary the same way.
bool reads_alike(const Column& a, const Column& b) {
  if (!a.entries || !b.entries) return !a.entries && !b.entries;
  const Column &first = a.entries->front(), &second = b.entries->front();
  return first.spec() == second.spec() && first.stored == second.stored && first.bits == second.bits &&
         first.offset_size == second.offset_size && first.is_view == second.is_view;
}

// A dictionary as `column` reads it.
Result<ValuesPtr> read_dictionary(const BufferPtr& bytes, const Message& message, const Column& column) {
  HEADRACE_ASSIGN(const Batch batch, Batch::of(message));
  const uint64_t metadata = metadata_length(bytes->bytes());
  const std::vector<Column>& columns = *column.entries;
  HEADRACE_ASSIGN(const Body body, Body::whole(columns, batch, {bytes, metadata, bytes->size() - metadata}));
  HEADRACE_ASSIGN(RowsReader reader, RowsReader::make(columns, batch, 0, batch.rows(), {}));
  HEADRACE_ASSIGN(std::vector<Values> values, body.read(batch, std::move(reader)));
  return std::make_shared<const Values>(std::move(values[0]));
}

// The dictionaries that chosen columns use. One that grows or changes within the file is refused: rows
// before and after would differ.
Result<Dictionaries> read_dictionaries(const std::vector<std::string>& messages,
                                       const std::vector<Column>& columns) {
  Dictionaries out;
  for (const std::string& text : messages) {
    const BufferPtr bytes = copy_of(text);
    HEADRACE_ASSIGN(const Message message, Message::read(bytes->bytes()));
    if (message.kind != Message::dictionary)
      return corrupt({.expected = "a dictionary", .got = "message type " + std::to_string(message.kind)});
    HEADRACE_ASSIGN(const DictionaryMessage about, dictionary_of(message));
    const auto uses = [&](const Column& column) { return column.dictionary == about.id; };
    const auto user = std::ranges::find_if(columns, uses);
    if (user == columns.end()) continue;
    for (const Column& column : columns)
      if (uses(column) && !reads_alike(column, *user))
        return corrupt("expected one type in dictionary " + std::to_string(about.id) + ", but columns '" +
                       user->name + "' and '" + column.name + "' have different ones");
    if (about.is_delta || out.contains(about.id))
      return Status(Code::unavailable, "cannot read column '" + user->name + "', whose dictionary " +
                                           (about.is_delta ? "grows" : "changes") + " within the file");
    HEADRACE_ASSIGN(out[about.id], read_dictionary(bytes, message, *user));
  }
  for (const Column& column : columns)  // a file without rows may have none
    if (column.dictionary && !out.contains(*column.dictionary)) out[*column.dictionary] = nullptr;
  return out;
}

// The columns that are of nulls alone in some files, and can be read in others.
std::set<std::string> known_beside_nulls(const std::vector<Contents>& files) {
  std::set<std::string> known, of_nulls;
  const std::string* last = nullptr;
  for (const Contents& file : files) {
    if (last && *last == file.schema) continue;
    last = &file.schema;
    Value about;
    const auto layout = layout_of(file.schema, about);
    if (!layout.ok()) continue;  // the error is reported where the file is added
    for (const Column& column : (*layout)->columns) {
      if (column.refused.empty()) known.insert(column.name);
      if (column.has_only_nulls) of_nulls.insert(column.name);
    }
  }
  std::erase_if(known, [&](const std::string& name) { return !of_nulls.contains(name); });
  return known;
}

class Making {
 public:
  Making(Table* out, const std::vector<std::string>& names, const NullRules& nulls, bool align_labels,
         std::set<std::string> known)
      : out_(out), names_(names), nulls_(nulls), known_(std::move(known)), agree_("column", align_labels) {}

  Status add(const SourceFile& file, FileIndex index, Contents contents) {
    if (!is_in_order(index, file.size))
      return corrupt("expected record batches in order and inside the file");
    if (out_->files.empty() || contents.schema != schema_) {
      HEADRACE_TRY(read_schema(contents.schema));
      HEADRACE_TRY(agree_.add({file.path, schema_of(*columns_), types_of(*columns_), about_}));
    } else {
      agree_.add_like_last();
    }
    HEADRACE_ASSIGN(Dictionaries dictionaries, read_dictionaries(contents.dictionaries, *columns_));
    contents.schema.clear();
    contents.dictionaries.clear();
    out_->first.push_back(out_->first.back() + contents.num_rows);
    out_->files.push_back({file, std::make_shared<const std::vector<RecordExtent>>(std::move(index.records)),
                           std::make_shared<const Contents>(std::move(contents)), layout_, columns_,
                           std::move(dictionaries)});
    return {};
  }

  Status finish() {
    HEADRACE_ASSIGN(out_->agreed, agree_.finish(nulls_));
    for (size_t i = 0; i < out_->files.size(); ++i) out_->files[i].changes = agree_.changes(i);
    out_->schema = agree_.schema();
    return {};
  }

 private:
  Status read_schema(const std::string& schema) {
    HEADRACE_ASSIGN(layout_, layout_of(schema, about_));
    std::vector<std::string> left_out;
    HEADRACE_ASSIGN(std::vector<Column> columns, choose_columns(*layout_, names_, &left_out, known_));
    for (std::string& name : left_out)
      if (std::ranges::find(out_->left_out_columns, name) == out_->left_out_columns.end())
        out_->left_out_columns.push_back(std::move(name));
    if (!out_->files.empty()) put_in_order(*out_->files[0].columns, columns);
    columns_ = std::make_shared<const std::vector<Column>>(std::move(columns));
    schema_ = schema;
    return {};
  }

  Table* out_;
  const std::vector<std::string>& names_;
  const NullRules& nulls_;
  const std::set<std::string> known_;
  FilesAgree agree_;
  std::string schema_;  // of the previous file
  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<const std::vector<Column>> columns_;
  Value about_;
};

uint64_t fixed_row_bytes(const Schema& schema) {
  uint64_t out = 0;
  for (const TensorSpec& spec : schema.specs) {
    if (!spec.is_static()) return 0;
    out += spec.size_bytes();
  }
  return out;
}

}  // namespace

Result<Table> make_table(const std::vector<SourceFile>& files, std::vector<FileIndex> indexes,
                         const std::vector<std::string>& columns, const NullRules& nulls, bool align_labels) {
  Table out;
  out.first = {0};
  std::vector<Contents> contents;
  for (size_t i = 0; i < files.size(); ++i) {
    auto one = unpack(indexes[i]);
    if (!one.ok()) return one.status().in_file(files[i].path);
    contents.push_back(*std::move(one));
  }
  Making making(&out, columns, nulls, align_labels, known_beside_nulls(contents));
  for (size_t i = 0; i < files.size(); ++i) {
    Status status = making.add(files[i], std::move(indexes[i]), std::move(contents[i]));
    if (!status.ok()) return std::move(status).in_file(files[i].path);
  }
  HEADRACE_TRY(making.finish());
  HEADRACE_ASSIGN(out.nulls, nulls.of_fields(out.schema));
  out.row_bytes = fixed_row_bytes(out.schema);
  return out;
}

Table with_columns(std::shared_ptr<const Table> whole, std::span<const int> fields) {
  Table out;
  out.files = whole->files, out.first = whole->first, out.nulls = chosen(whole->nulls, fields);
  std::shared_ptr<const std::vector<Column>> from, columns;  // files mostly share theirs
  for (TableFile& file : out.files) {
    if (file.columns != from)
      from = file.columns, columns = std::make_shared<const std::vector<Column>>(chosen(*from, fields));
    file.columns = columns;
    file.changes = chosen(file.changes, fields);
  }
  out.agreed.has_changes = whole->agreed.has_changes;
  out.schema = chosen(whole->schema, fields);
  out.row_bytes = fixed_row_bytes(out.schema);
  out.whole = std::move(whole);
  return out;
}

}  // namespace headrace::arrow
