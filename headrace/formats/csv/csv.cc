// CSV: see README.md.
#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/csv/chosen_columns.h"
#include "headrace/formats/records/table_format.h"
#include "headrace/formats/shard_names.h"

namespace headrace {
namespace {

bool is_tab_separated(const Probe& probe) {
  return !probe.files.empty() && shard_kind(probe.files[0].path) == ".tsv";
}

int recognise(const Probe& probe) {
  if (probe.files.empty()) return 0;
  const std::string kind = shard_kind(probe.files[0].path);
  const char delimiter = kind == ".csv" ? ',' : kind == ".tsv" ? '\t' : '\0';
  if (delimiter == '\0') return 0;
  if (hides_text_of_head(probe)) return 30;
  const std::string head = text_of_head(probe);
  const std::string first = head.substr(0, head.find_first_of("\r\n"));
  if (first.find(delimiter) != std::string::npos) return 40;
  // One column: text whose first line is its name.
  const auto is_control = [](unsigned char c) { return c < 0x20 && c != '\t'; };
  return !first.empty() && first.size() < head.size() && std::ranges::none_of(first, is_control) ? 20 : 0;
}

Result<char> character(const OpenRequest& request, std::string_view option, char otherwise) {
  HEADRACE_ASSIGN(const std::string given, request.text(option, std::string(1, otherwise)));
  if (given.empty() && option == "quote") return '\0';
  if (given.size() == 1 && static_cast<unsigned char>(given[0]) < 0x80 && given.find_first_of("\r\n") != 0 &&
      given[0] != '\0')
    return given[0];
  return invalid(std::string(option) + " must be one ASCII character, not a line end, got '" + given + "'");
}

Result<CsvOptions> options_of(const OpenRequest& request) {
  CsvOptions out;
  HEADRACE_ASSIGN(out.dialect.delimiter,
                  character(request, "delimiter", is_tab_separated(request.path()) ? '\t' : ','));
  HEADRACE_ASSIGN(out.dialect.quote, character(request, "quote", '"'));
  if (out.dialect.quote == out.dialect.delimiter)
    return invalid("quote and delimiter must differ, both are '" + std::string(1, out.dialect.quote) + "'");
  HEADRACE_ASSIGN(out.has_header, request.flag("header", true));
  HEADRACE_ASSIGN(out.names, request.strings("names"));
  HEADRACE_ASSIGN(out.columns, request.strings("columns"));
  HEADRACE_ASSIGN(out.encoding, encoding_of(request));
  if (const Value* dtypes = request.options.find("dtypes")) out.dtypes = *dtypes;
  if (const Value* defaults = request.options.find("defaults")) out.defaults = *defaults;
  HEADRACE_ASSIGN(out.nulls, NullRules::of(request));
  return out;
}

// Rows end with \n or \r\n. A file with \r alone, as old Macs wrote it, would be one single row.
Status check_row_ends(const Probe& probe, const CsvDialect& dialect) {
  if (probe.files.empty() || hides_text_of_head(probe)) return {};
  const std::string head = text_of_head(probe);
  bool is_quoted = false;
  for (size_t i = 0; i + 1 < head.size(); ++i) {
    if (head[i] == '\n') return {};
    if (head[i] == dialect.quote && dialect.quote != '\0') is_quoted = !is_quoted;
    if (head[i] != '\r' || is_quoted) continue;
    if (head[i + 1] == '\n') return {};
    const auto has_bytes = [](const SourceFile& file) { return file.size > 0; };
    const auto file = std::ranges::find_if(probe.files, has_bytes);
    return corrupt({.expected = "rows that end with \\n or \\r\\n",
                    .got = "a file that ends its lines with \\r alone",
                    .fix = "convert it with tr '\\r' '\\n'"})
        .in_file((file == probe.files.end() ? probe.files[0] : *file).path);
  }
  return {};
}

std::string dialect_text(const CsvOptions& options) {
  return std::to_string(static_cast<int>(options.dialect.delimiter)) + " " +
         std::to_string(static_cast<int>(options.dialect.quote)) + (options.has_header ? " header" : "");
}

Result<SourcePtr> finish(const OpenRequest& request, const CsvOptions& options,
                         std::vector<FileIndex> indexes) {
  auto contents = std::make_shared<std::vector<CsvContents>>();
  for (FileIndex& index : indexes) {
    HEADRACE_ASSIGN(const std::string extra, take_finders_extra(index));
    auto unpacked = CsvContents::unpack(extra);
    if (!unpacked) return internal_error("expected the index of a CSV file, got something else");
    contents->push_back(*std::move(unpacked));
  }
  HEADRACE_ASSIGN(CsvTable made, csv_table(options, request.path().files, *contents));
  const std::string nulls = made.nulls;
  RecordFormat format = table_format("csv", std::make_shared<const CsvTable>(std::move(made)));
  format.called = [contents](size_t file, uint64_t record) {
    return "line " + std::to_string((*contents)[file].lines.of(record));
  };
  format.options = dialect_text(options) + " " + options.defaults.dump() + nulls;
  return record_files(std::move(format), request, std::move(indexes));
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const CsvOptions options, options_of(request));
  HEADRACE_TRY(check_row_ends(request.path(), options.dialect));
  HEADRACE_ASSIGN(const Packing packed, packing(request, Packing::by_content));
  HEADRACE_ASSIGN(const std::string compression, request.text("compression", "any"));
  RecordOpening out;
  out.kind = "csv 4 " + dialect_text(options) + " " + compression;
  out.files = request.path().files;
  out.index = [files = out.files, options, packed](uint64_t file) {
    return walk_whole(files[file], packed, csv_rows(options.dialect, options.has_header));
  };
  out.finish = [request, options](std::vector<FileIndex> indexes) {
    return finish(request, options, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "csv",
    .doc = "CSV files (RFC 4180), plain, gzip, zlib or zstd: one field per column, one sample per row.",
    .fields = "one scalar per column.",
    .details = {"Quoted fields may contain delimiters, line endings and doubled quotes. Empty lines are "
                "ignored. All files must have the same columns."},
    .options =
        {{"columns", "Sequence[str] | None", "Only these columns, in this order; all when not given."},
         {"header", "bool", "Whether the first row of each file has the column names.", true},
         {"names", "Sequence[str] | None",
          "Names of all columns instead of the header's; `column_0`, `column_1`, … if there is neither."},
         {"dtypes", "Mapping[str, DTypeLike] | None",
          "{column: dtype}. Other columns are int64 or float64 if every field of every file is such a "
          "number, and none a whole one with leading zeros (01234), else str; a warning lists columns that "
          "are str because of a few fields. With a dtype "
          "given here, such a field is an error of its row, see `on_error`."},
         {"defaults", "Mapping[str, int | float | str] | None",
          "{column: value} for empty fields. Without a default, an empty field is \"\" for str, and for "
          "others what `nulls` says."},
         nulls_option("An empty field of a number or bool, and for \"mask\" also of a str, is a null: "),
         {"delimiter", "str | None",
          "Delimiter between fields; a tab for .tsv files, else a comma, when not given."},
         {"quote", "str", "Quote character; \"\" for files without quotes.", "\""},
         encoding_option(),
         compression_option("gzip and zstd are detected")},
    .raises = {{"CorruptSample",
                "a row has too few or too many fields, or a field is not a number of its dtype. The message "
                "has file, line and column."},
               {"ValueError", "a column does not exist, or the columns of the files differ."}},
    .example = "hr.read_csv(\"train.csv\", columns=[\"id\", \"price\"], dtypes={\"price\": \"float32\"}, "
               "defaults={\"price\": 0})",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});
const ChecksItsStrings registered_checks_of_csv("csv");

}  // namespace
}  // namespace headrace
