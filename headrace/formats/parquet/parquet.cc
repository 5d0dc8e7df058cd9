// Parquet files: see README.md beside this file.
#include "headrace/formats/columns.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/parquet/table.h"
#include "headrace/formats/records/record_files.h"

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
    return parquet::open_part(table_, block);
  }
  // A row group, whichever columns are read: those of one order lie side by side.
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

  std::string where(uint64_t index) const override {
    const Place at = place(index);
    const Part& part = table_->parts[at.block];
    return table_->files[part.file].file.path + ", row " + std::to_string(part.first + at.row) +
           " of row group " + std::to_string(part.group);
  }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::vector<SourceFile> files;
    std::vector<uint64_t> rows;
    for (const parquet::TableFile& file : table_->files)
      files.push_back(file.file), rows.push_back(file.rows);
    return files_fingerprint("parquet " + schema().text() + where_ + text_of(table_->nulls, schema()), files,
                             rows);
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
    if (Value types = types_of(*table_->files[0].columns); !types.is_null())
      out.set("types", std::move(types));
    add_about(table_->about, out);
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
  return head.starts_with("PAR1") || head.starts_with("PARE") ? 95 : 0;  // the latter for its message
}

// What the name of an index says of the columns whose pages it has.
std::string of_columns(const std::vector<std::string>& columns) {
  if (columns.empty()) return {};
  return " of " + hash_text(Value(Value::List(columns.begin(), columns.end())).dump()).substr(0, 16);
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const std::vector<std::string> columns, request.texts("columns"));
  HEADRACE_ASSIGN(const NullRules nulls, NullRules::of(request));
  const Value* given = request.options.find("where");
  HEADRACE_ASSIGN(const Where where, parquet::read_where(given ? *given : Value()));
  RecordOpening out;
  out.kind = parquet::kIndexKind + of_columns(columns) + (where.empty() ? "" : " where " + where.text);
  out.files = request.path().files;
  if (out.files.empty()) return invalid("wants files, got none");
  out.index = [files = out.files, where, columns](uint64_t file) {
    return parquet::index_parquet(files[file], where, columns);
  };
  out.finish = [request, columns, nulls, where](std::vector<FileIndex> indexes) -> Result<SourcePtr> {
    HEADRACE_ASSIGN(Table table, parquet::make_table(request.path().files, indexes, columns, nulls));
    return std::make_shared<ParquetSource>(std::move(table), describe_opening("parquet", request),
                                           request.path().left_out, where.text);
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "parquet",
    .doc = "Tables in Parquet files: a field for each column.",
    .options =
        {{"columns", "Sequence[str] | None",
          "These columns, in this order; a struct's name stands for its members. All that are served when "
          "not given; `metadata[\"left_out_columns\"]` lists others.",
          Value()},
         {"where", "Sequence[tuple[str, str, Any]] | None",
          "Only rows for which all of these hold, each (column, operator, value); operators are ==, !=, <, "
          "<=, >, >= and in. Row groups whose statistics say no are not read.",
          Value()},
         nulls_option()},
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
