// Parquet files: see README.md in this folder.
#include <algorithm>

#include "headrace/formats/columns.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/parquet/table.h"
#include "headrace/formats/records/record_files.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

using parquet::Part;
using parquet::Table;
using parquet::Where;

class ParquetSource final : public Source {
 public:
  ParquetSource(Table table, Value description, Value left_out, std::string where)
      : table_(std::make_shared<const Table>(std::move(table))),
        description_(std::move(description)),
        left_out_(std::move(left_out)),
        where_(std::move(where)) {}

  const Schema& schema() const override { return table_->schema; }
  uint64_t size() const override { return table_->size(); }
  Place place(uint64_t index) const override {
    const uint64_t row = table_->row_of(index);
    const size_t part = table_->part_of(row);
    return {part, row - table_->part_rows[part]};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return with_changes(parquet::open_part(table_, block), table_->files[table_->parts[block].file].changes);
  }
  // A row group, whichever columns are read, so that the selection does not change a shuffled order.
  Lot lot(uint64_t index) const override {
    const size_t part = table_->part_of(table_->row_of(index));
    const auto is_same = [&](const Part& other) {
      return other.file == table_->parts[part].file && other.group == table_->parts[part].group;
    };
    size_t begin = part, end = part + 1;
    while (begin > 0 && is_same(table_->parts[begin - 1])) --begin;
    while (end < table_->parts.size() && is_same(table_->parts[end])) ++end;
    const uint64_t end_row = table_->part_rows[end];
    if (!table_->chosen) return {end_row, end - begin};
    const auto behind = std::ranges::lower_bound(*table_->chosen, end_row);
    return {static_cast<uint64_t>(behind - table_->chosen->begin()), end - begin};
  }
  SourcePtr with_fields(std::span<const int> fields) const override {
    return std::make_shared<ParquetSource>(parquet::with_columns(*table_, fields), Value(), Value(), "");
  }
  uint64_t num_files() const override { return table_->files.size(); }
  std::string file(uint64_t ordinal) const override { return table_->files[ordinal].file.path; }
  const SourceFile* known_file(uint64_t ordinal) const override { return &table_->files[ordinal].file; }

  SamplePlace where(uint64_t index) const override {
    const Place at = place(index);
    const Part& part = table_->parts[at.block];
    return {table_->files[part.file].file.path,
            ", row " + std::to_string(part.first + at.row) + " of row group " + std::to_string(part.group)};
  }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::vector<SourceFile> files;
    std::vector<uint64_t> rows;
    for (const parquet::TableFile& file : table_->files)
      files.push_back(file.file), rows.push_back(file.rows);
    return files_fingerprint("parquet " + schema().stable_text() + where_ + text_of(table_->nulls, schema()) +
                                 table_->agreed.stable_text,
                             files, rows);
  }

  Value metadata() const override {
    Value out{Value::Object()};
    out.set("files", table_->files.size());
    uint64_t groups = 0;
    for (const parquet::TableFile& file : table_->files) groups += file.groups.size();
    out.set("row_groups", groups);
    if (!left_out_.is_null()) out.set("left_out", left_out_);
    const std::vector<std::string>& columns = table_->left_out_columns;
    if (!columns.empty()) out.set("left_out_columns", Value::List(columns.begin(), columns.end()));
    table_->agreed.add_to(out);
    return out;
  }

 private:
  std::shared_ptr<const Table> table_;
  Value description_, left_out_;
  std::string where_;
};

int recognise(const Probe& probe) {
  if (!probe.head) return 0;
  const std::string_view head = probe.text();
  return head.starts_with("PAR1") || head.starts_with("PARE") ? 95 : 0;  // PARE only for its error message
}

// The part of an index's name that identifies the columns whose page indexes it has.
std::string of_columns(const std::vector<std::string>& columns) {
  if (columns.empty()) return {};
  return " of " + hash_text(Value(Value::List(columns.begin(), columns.end())).dump()).substr(0, 16);
}

Result<SourceOpening> open(const OpenRequest& request) {
  parquet::TableOptions options;
  HEADRACE_ASSIGN(options.columns, request.strings("columns"));
  HEADRACE_ASSIGN(options.nulls, NullRules::of(request));
  HEADRACE_ASSIGN(options.align_labels, request.flag("align_labels", false));
  const Value* given = request.options.find("where");
  HEADRACE_ASSIGN(const Where where, parquet::read_where(given ? *given : Value()));
  for (const parquet::Condition& condition : where.conditions)
    if (std::ranges::find(options.conditional, condition.column) == options.conditional.end())
      options.conditional.push_back(condition.column);
  RecordOpening out;
  out.kind =
      parquet::kIndexKind + of_columns(options.columns) + (where.empty() ? "" : " where " + where.text);
  out.files = request.path().files;
  if (out.files.empty()) return invalid({.expected = "files", .got = "none"});
  out.index = [files = out.files, where, columns = options.columns](uint64_t file) {
    return parquet::index_parquet(files[file], where, columns);
  };
  out.finish = [request, options, where](std::vector<FileIndex> indexes) -> Result<SourcePtr> {
    HEADRACE_ASSIGN(Table table, parquet::make_table(request.path().files, indexes, options));
    const std::vector<Nulls> of_columns = table.nulls;
    return with_masks(std::make_shared<ParquetSource>(std::move(table), describe_opening("parquet", request),
                                                      request.path().left_out, where.text),
                      of_columns);
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "parquet",
    .doc = "Tables in Parquet files: one field per column, one sample per row.",
    .fields = "one per column. Numbers are scalars, lists of numbers arrays of variable length, text str and "
              "binary bytes. Members of structs have names such as `hw/height`. A struct `image` of `bytes` "
              "and `path`, as Hugging Face stores images, is the field `image` with the bytes, and "
              "`image/path`. Dates and times are int64 as stored, decimals float64.",
    .details = {"All files must have the same columns. Where their units differ, values come in the finest "
                "one, which `metadata[\"types\"]` names."},
    .path = "A file, a pattern, a folder of shards, or a list of files and patterns.",
    .options = {{"columns", "Sequence[str] | None",
                 "Only these columns, in this order; the name of a struct selects its members. All supported "
                 "columns when not given; `metadata[\"left_out_columns\"]` lists the others."},
                {"where", "Sequence[tuple[str, str, Any]] | None",
                 "Only rows that meet all of these conditions (column, operator, value): `[(\"label\", "
                 "\"<\", 10)]`. Operators are ==, !=, <, <=, >, >= and in; a null meets none. These columns "
                 "are read once, unless statistics are sufficient; the length is exact."},
                nulls_option(),
                align_labels_option(),
                encoding_option()},
    .raises =
        {{"NotImplementedError",
          "a chosen column has an unsupported type (maps, lists of structs or of lists), or is encrypted."},
         {"ValueError",
          "a column does not exist, or the columns, logical types or classes of the files differ."}},
    .example = "hr.read_parquet(\"data/train-*.parquet\", columns=[\"image\", \"label\"], where=[(\"label\", "
               "\"<\", 10)])",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
