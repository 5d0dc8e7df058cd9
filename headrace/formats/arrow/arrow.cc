// Arrow IPC files and streams, Feather V2: see README.md in this folder.
#include <algorithm>
#include <mutex>

#include "headrace/formats/arrow/group.h"
#include "headrace/formats/arrow/message.h"
#include "headrace/formats/arrow/put_rows.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/records/record_files.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

using arrow::Form;
using arrow::Group;
using arrow::Table;

// A block is identified by its first row.
class ArrowSource final : public Source {
 public:
  ArrowSource(std::string format, Table table, Value description, Value left_out)
      : format_(std::move(format)),
        table_(std::make_shared<const Table>(std::move(table))),
        description_(std::move(description)),
        left_out_(std::move(left_out)) {}

  const Schema& schema() const override { return table_->schema; }
  uint64_t size() const override { return table_->first.back(); }
  Place place(uint64_t index) const override {
    const uint64_t first = table_->first_row(table_->group_of(index));
    return {first, index - first};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const Group group = table_->group_of(block);
    return with_changes(arrow::open_group(table_, group), table_->files[group.file].changes);
  }
  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    if (table_->agreed.has_changes) return false;  // every row is read in its block, which changes it
    arrow::extents_of(*table_, indices, out);
    return true;
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    return arrow::single_rows(table_, indices, at, std::move(bytes));
  }
  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    if (!arrow::may_lie_apart(*table_, indices[0])) return 0;
    std::call_once(asked_, [&] { known_.emplace(*table_); });
    return arrow::put_rows(*table_, *known_, indices, mapped, to);
  }
  SourcePtr with_fields(std::span<const int> fields) const override {
    return std::make_shared<ArrowSource>(format_, arrow::with_columns(table_, fields), Value(), Value());
  }
  uint64_t num_files() const override { return table_->files.size(); }
  std::string file(uint64_t ordinal) const override { return table_->files[ordinal].file.path; }
  const SourceFile* known_file(uint64_t ordinal) const override { return &table_->files[ordinal].file; }

  SamplePlace where(uint64_t index) const override {
    const auto after = std::ranges::upper_bound(table_->first, index);
    const auto at = static_cast<size_t>(after - table_->first.begin() - 1);
    const arrow::TableFile& file = table_->files[at];
    const uint64_t row = index - table_->first[at], batch = file.contents->batch_of(row);
    const uint64_t offset = (*file.batches)[batch].offset;
    return {file.file.path,
            ", row " + std::to_string(row - file.contents->rows_before(batch)) + " of record batch " +
                std::to_string(batch) + " at byte " + std::to_string(offset),
            row, offset};
  }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::vector<SourceFile> files;
    std::vector<uint64_t> rows;
    for (const arrow::TableFile& file : table_->files)
      files.push_back(file.file), rows.push_back(file.contents->num_rows);
    return files_fingerprint(format_ + " " + schema().stable_text() + text_of(table_->nulls, schema()) +
                                 table_->agreed.stable_text,
                             files, rows);
  }

  Value metadata() const override {
    Value out{Value::Object()};
    out.set("files", table_->files.size());
    uint64_t batches = 0;
    for (const arrow::TableFile& file : table_->files) batches += file.batches->size();
    out.set("batches", batches);
    if (!left_out_.is_null()) out.set("left_out", left_out_);
    const std::vector<std::string>& columns = table_->left_out_columns;
    if (!columns.empty()) out.set("left_out_columns", Value::List(columns.begin(), columns.end()));
    table_->agreed.add_to(out);
    return out;
  }

 private:
  std::string format_;
  std::shared_ptr<const Table> table_;
  Value description_, left_out_;
  mutable std::once_flag asked_;  // for rows read one by one
  mutable std::optional<arrow::KnownBatches> known_;
};

int recognise(const Probe& probe) {
  if (!probe.head) return 0;
  const auto head = probe.head->bytes();
  switch (arrow::form_of(head)) {
    case Form::file:
    case Form::feather1: return 95;  // feather1 only for its error message
    case Form::none: return 0;
    case Form::stream: break;
  }
  const uint64_t metadata = arrow::metadata_length(head);
  if (metadata > probe.info.size) return 0;
  // A schema of many columns is longer than the head; then only its marker can be checked.
  const bool is_marked = load<uint32_t>(head.data()) == 0xffffffffu;
  if (metadata > head.size()) return is_marked && metadata % 8 == 0 ? 60 : 0;
  const auto message = arrow::Message::read(head);
  return message.ok() && message->kind == arrow::Message::schema ? 90 : 0;
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const std::vector<std::string> columns, request.strings("columns"));
  HEADRACE_ASSIGN(const NullRules nulls, NullRules::of(request));
  HEADRACE_ASSIGN(const bool align_labels, request.flag("align_labels", false));
  RecordOpening out;
  out.kind = arrow::kIndexKind;
  out.files = request.path().files;
  if (out.files.empty()) return invalid({.expected = "files", .got = "none"});
  out.index = [files = out.files](uint64_t file) { return arrow::index_arrow(files[file]); };
  out.finish = [request, columns, nulls, align_labels](std::vector<FileIndex> indexes) -> Result<SourcePtr> {
    HEADRACE_ASSIGN(Table table, arrow::make_table(request.path().files, std::move(indexes), columns, nulls,
                                                   align_labels));
    return arrow::table_source("arrow", request, std::move(table));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "arrow",
    .doc =
        "Tables in Arrow IPC files and streams, also Feather V2: one field per column, one sample per row.",
    .fields = "one per column. Numbers are scalars, fixed-size lists of numbers arrays, other lists of "
              "numbers arrays of variable length, text str and binary bytes. Members of structs have names "
              "such as `image/bytes`. Lists of strings are `{\"values\": str, \"lengths\": int64 (n,)}`: the "
              "concatenated strings, and the length of each in bytes. Dates and times are int64 as stored.",
    .details = {"All files must have the same columns. Where their units differ, values come in the finest "
                "one, which `metadata[\"types\"]` names."},
    .path = "A file, a pattern, a folder of shards, or a list of files and patterns.",
    .options = {{"columns", "Sequence[str] | None",
                 "Only these columns, in this order; the name of a struct selects its members. All supported "
                 "columns when not given; `metadata[\"left_out_columns\"]` lists the others."},
                nulls_option(),
                align_labels_option(),
                encoding_option()},
    .raises = {{"NotImplementedError",
                "a chosen column has an unsupported type (maps, unions, decimals, lists of lists), or a file "
                "is Feather V1."},
               {"ValueError",
                "a column does not exist, or the columns, logical types or classes of the files differ."}},
    .example = "hr.read_arrow(\"train-*.arrow\", columns=[\"image\", \"label\"])",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace

Result<SourcePtr> arrow::table_source(std::string format, const OpenRequest& request, Table table) {
  Value description = describe_opening(format, request);
  const std::vector<Nulls> nulls = table.nulls;
  return with_masks(std::make_shared<ArrowSource>(std::move(format), std::move(table), std::move(description),
                                                  request.path().left_out),
                    nulls);
}

}  // namespace headrace
