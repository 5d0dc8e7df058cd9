#include "headrace/formats/parquet/table.h"

#include <algorithm>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"

namespace headrace::parquet {
namespace {

// For a row group that is read in parts: a part has about kPartBytes, and a column without a page index,
// which is read again for each part, at most kMostAgain.
constexpr uint64_t kPartBytes = 256 << 10, kMostAgain = 256 << 10, kMostValuesAgain = 1 << 16;

// The column whose pages determine the parts; null if the row group is not split.
const TableChunk* may_be_cut(const TableGroup& group) {
  uint64_t bytes = 0;
  for (const TableChunk& chunk : group.chunks) bytes += chunk.size;
  const auto largest = std::ranges::max_element(group.chunks, {}, &TableChunk::size);
  if (bytes <= kWholeGroup || largest->pages.empty()) return nullptr;
  const bool is_cheap = std::ranges::all_of(group.chunks, [](const TableChunk& chunk) {
    return !chunk.pages.empty() || (chunk.size <= kMostAgain && chunk.values <= kMostValuesAgain);
  });
  return is_cheap ? &*largest : nullptr;
}

// Splits a row group at pages of its largest column. The group belongs to the next file of `table`.
void add_parts(Table& table, TableGroup& group, size_t g) {
  if (group.rows == 0) return;
  const auto file = static_cast<uint32_t>(table.files.size());
  const auto add = [&](uint64_t first, uint64_t end) {
    table.parts.push_back({file, static_cast<uint32_t>(g), first, end - first});
    table.part_rows.push_back(table.part_rows.back() + (end - first));
  };
  const TableChunk* largest = may_be_cut(group);
  if (!largest) {
    for (TableChunk& chunk : group.chunks) chunk.pages.clear();
    return add(0, group.rows);
  }
  uint64_t first = 0, bytes = 0;
  for (const PagePlace& page : largest->pages) {
    if (bytes >= kPartBytes) add(first, page.first_row), first = page.first_row, bytes = 0;
    bytes += page.size;
  }
  add(first, group.rows);
}

class Making {
 public:
  Making(Table* out, const TableOptions& options, const std::set<std::string>& known)
      : out_(out),
        options_(options),
        known_(known),
        agree_("column", options.align_labels),
        conditional_("column", options.align_labels) {}

  Status add(const SourceFile& file, const FileIndex& index) {
    HEADRACE_ASSIGN(Contents contents, unpack(index.extra));
    HEADRACE_ASSIGN(const Footer footer, read_footer(std::as_bytes(std::span(contents.footer))));
    HEADRACE_TRY(check_sizes(footer, file.size));
    HEADRACE_ASSIGN(const std::vector<Column> all, read_columns(footer));
    HEADRACE_TRY(choose(all));
    Value about = about_file(footer);
    HEADRACE_TRY(compare_conditional(file.path, all, about));
    HEADRACE_TRY(agree_.add({file.path, schema_of(*columns_), types_of(*columns_), std::move(about)}));
    TableFile made{file, {}, columns_, 0};
    const uint64_t before = out_->part_rows.back();
    uint64_t rows = 0;
    for (size_t g = 0; g < footer.groups.size(); ++g) {
      HEADRACE_ASSIGN(TableGroup group, group_of(footer.groups[g], g, contents, file.size));
      group.first = rows;
      rows += group.rows;
      add_parts(*out_, group, g);
      made.groups.push_back(std::move(group));
    }
    made.rows = rows;
    if (contents.rows) {
      is_conditional_ = true;
      made.rows = contents.rows->size();
      for (const uint32_t row : *contents.rows) {
        if (row >= rows)
          return corrupt(
              {.expected = "the index as it was stored", .got = "rows beyond the end of the file"});
        chosen_.push_back(before + row);
      }
    }
    out_->files.push_back(std::move(made));
    return {};
  }

  Status finish() {
    if (is_conditional_) out_->chosen = std::make_shared<const std::vector<uint64_t>>(std::move(chosen_));
    HEADRACE_ASSIGN(out_->agreed, agree_.finish(options_.nulls));
    for (size_t i = 0; i < out_->files.size(); ++i) out_->files[i].changes = agree_.changes(i);
    out_->schema = agree_.schema();
    if (options_.conditional.empty()) return {};
    HEADRACE_ASSIGN(const Agreed conditional, conditional_.finish());
    if (!conditional.has_changes) return {};
    std::string names;
    for (const std::string& name : options_.conditional) names += (names.empty() ? "'" : ", '") + name + "'";
    return invalid("where= compares values as they are stored, and the files store " + names +
                   " in different units or with different class numbers; read the files apart, each with a "
                   "where= of its own, and concatenate() them");
  }

  // Whether a file has a column of nothing but nulls.
  bool has_only_nulls() const { return has_only_nulls_; }

 private:
  Status choose(const std::vector<Column>& all) {
    std::vector<std::string> left_out;
    has_only_nulls_ = has_only_nulls_ || std::ranges::any_of(all, &Column::has_only_nulls);
    HEADRACE_ASSIGN(std::vector<Column> columns, choose_columns(all, options_.columns, &left_out, known_));
    for (std::string& name : left_out)
      if (std::ranges::find(out_->left_out_columns, name) == out_->left_out_columns.end())
        out_->left_out_columns.push_back(std::move(name));
    if (columns_) {
      put_in_order(*out_->files[0].columns, columns);
      if (*columns_ == columns) return {};
    }
    columns_ = std::make_shared<const std::vector<Column>>(std::move(columns));
    return {};
  }

  // Conditions are decided when a file is indexed, on its own values: only their meaning is compared.
  Status compare_conditional(const std::string& path, const std::vector<Column>& all, const Value& about) {
    if (options_.conditional.empty()) return {};
    FileFields fields{path, {}, {}, about};
    std::vector<TensorSpec> specs;
    for (const std::string& name : options_.conditional) {
      const auto at = std::ranges::find(all, name, &Column::name);
      fields.types.push_back(at == all.end() ? "" : at->type);
      specs.push_back({DType::i64, {}});
    }
    fields.schema = Schema::of(options_.conditional, std::move(specs));
    return conditional_.add(std::move(fields));
  }

  Result<TableGroup> group_of(const RowGroup& group, size_t g, Contents& contents, uint64_t file_size) const {
    TableGroup out;
    out.rows = group.rows;
    for (const Column& column : *columns_) {
      const Chunk& chunk = group.chunks[column.leaf];
      if (group.rows == 0) continue;  // its pages are meaningless
      Status status = check_chunk(chunk, column, group.rows, file_size);
      if (!status.ok())
        return std::move(status)
            .with({.field = column.name})
            .before("column '" + column.name + "' of row group " + std::to_string(g) + ": ");
      const auto pages = contents.pages.find({static_cast<uint32_t>(g), static_cast<uint32_t>(column.leaf)});
      out.chunks.push_back({chunk.codec, chunk.offset, chunk.size, chunk.values,
                            pages == contents.pages.end() ? std::vector<PagePlace>() : pages->second});
      if (!is_usable(out.chunks.back(), group.rows))
        return corrupt({.expected = "the index as it was stored", .got = "other pages"});
    }
    return out;
  }

  static bool is_usable(const TableChunk& chunk, uint64_t rows) {
    uint64_t end = chunk.offset, row = 0;
    for (size_t i = 0; i < chunk.pages.size(); ++i) {
      const PagePlace& page = chunk.pages[i];
      const bool is_inside = page.offset >= end && page.offset <= chunk.offset + chunk.size &&
                             page.size <= chunk.offset + chunk.size - page.offset;
      const bool is_next = i == 0 ? page.first_row == 0 : page.first_row > row;
      if (!is_inside || !is_next || page.first_row >= rows) return false;
      end = page.offset + page.size, row = page.first_row;
    }
    return true;
  }

  Table* out_;
  const TableOptions& options_;
  const std::set<std::string>& known_;  // columns that some file can read
  bool has_only_nulls_ = false;
  FilesAgree agree_, conditional_;
  std::shared_ptr<const std::vector<Column>> columns_;
  std::vector<uint64_t> chosen_;
  bool is_conditional_ = false;
};

}  // namespace

size_t Table::part_of(uint64_t row) const {
  return static_cast<size_t>(std::ranges::upper_bound(part_rows, row) - part_rows.begin() - 1);
}

namespace {

// The columns that some file can read, if any is of nulls alone in another one.
std::set<std::string> known_beside_nulls(const std::vector<FileIndex>& indexes) {
  std::set<std::string> known, of_nulls;
  for (const FileIndex& index : indexes) {
    const auto contents = unpack(index.extra);
    const auto footer =
        contents.ok() ? read_footer(std::as_bytes(std::span(contents->footer))) : contents.status();
    const auto columns = footer.ok() ? read_columns(*footer) : footer.status();
    if (!columns.ok()) continue;  // the error is reported where the file is added
    for (const Column& column : *columns) {
      if (column.refused.empty()) known.insert(column.name);
      if (column.has_only_nulls) of_nulls.insert(column.name);
    }
  }
  std::erase_if(known, [&](const std::string& name) { return !of_nulls.contains(name); });
  return known;
}

Status make(const std::vector<SourceFile>& files, const std::vector<FileIndex>& indexes,
            const TableOptions& options, const std::set<std::string>& known, Table& out,
            bool& has_only_nulls) {
  Making making(&out, options, known);
  Status status;
  for (size_t i = 0; i < files.size() && status.ok(); ++i) {
    status = making.add(files[i], indexes[i]);
    if (!status.ok()) status = std::move(status).in_file(files[i].path);
  }
  has_only_nulls = making.has_only_nulls();
  return status.ok() ? making.finish() : status;
}

}  // namespace

Result<Table> make_table(const std::vector<SourceFile>& files, const std::vector<FileIndex>& indexes,
                         const TableOptions& options) {
  Table out;
  bool has_only_nulls = false;
  Status status = make(files, indexes, options, {}, out, has_only_nulls);
  if (has_only_nulls && files.size() > 1)
    if (const auto known = known_beside_nulls(indexes); !known.empty()) {
      out = Table();
      status = make(files, indexes, options, known, out, has_only_nulls);
    }
  HEADRACE_TRY(status);
  HEADRACE_ASSIGN(out.nulls, options.nulls.of_fields(out.schema));
  return out;
}

Table with_columns(const Table& whole, std::span<const int> fields) {
  Table out;
  out.chosen = whole.chosen, out.nulls = chosen(whole.nulls, fields),
  out.schema = chosen(whole.schema, fields);
  std::shared_ptr<const std::vector<Column>> from, columns;  // files mostly share theirs
  for (const TableFile& file : whole.files) {
    if (file.columns != from)
      from = file.columns, columns = std::make_shared<const std::vector<Column>>(chosen(*from, fields));
    TableFile made{file.file, {}, columns, file.rows, chosen(file.changes, fields)};
    for (size_t g = 0; g < file.groups.size(); ++g) {
      const TableGroup& group = file.groups[g];
      TableGroup& some = made.groups.emplace_back(group.first, group.rows);
      if (group.rows > 0) some.chunks = chosen(group.chunks, fields);
      add_parts(out, some, g);
    }
    out.files.push_back(std::move(made));
  }
  return out;
}

}  // namespace headrace::parquet
