// JSON lines: see README.md.
#include "headrace/core/text/utf8.h"
#include "headrace/formats/jsonl/chosen_fields.h"
#include "headrace/formats/records/table_format.h"
#include "headrace/formats/shard_names.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

// `is_cut`: the line may be longer than its part here.
bool is_object(std::string_view line, bool is_cut) {
  JsonReader reader(line);
  JsonSpan value;
  if (!reader.begins_with('{')) return false;
  return (reader.value(value) && reader.is_at_end()) || (is_cut && reader.is_cut());
}

// How many of the first two lines are objects; 0 if one of them is something else.
int objects_in(std::string_view text) {
  int lines = 0;
  while (!text.empty() && lines < 2) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!is_object(line, end == std::string_view::npos)) return 0;
    ++lines;
  }
  return lines;
}

// A single line may be any JSON file, so it also needs the name; two lines do not.
int recognise(const Probe& probe) {
  if (probe.files.empty()) return 0;
  const std::string kind = shard_kind(probe.files[0].path);
  const bool is_named = kind == ".jsonl" || kind == ".ndjson";
  if (is_named && hides_text_of_head(probe)) return 30;
  const std::string head = text_of_head(probe);
  std::string_view text = head;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const int lines = objects_in(text);
  return is_named && lines > 0 ? 45 : lines > 1 ? 25 : 0;
}

Result<SourcePtr> finish(const OpenRequest& request, const JsonlOptions& options,
                         std::vector<FileIndex> indexes) {
  std::vector<JsonlContents> contents;
  auto lines = std::make_shared<std::vector<LineNumbers>>();
  for (FileIndex& index : indexes) {
    HEADRACE_ASSIGN(const std::string extra, take_finders_extra(index));
    auto unpacked = JsonlContents::unpack(extra);
    if (!unpacked) return internal_error("expected the index of a JSON lines file, got something else");
    lines->push_back(std::move(unpacked->lines));
    contents.push_back(*std::move(unpacked));
  }
  HEADRACE_ASSIGN(JsonTable made, JsonTable::make(options, request.path().files, contents));
  const std::string nulls = made.nulls();
  RecordFormat format = table_format("jsonl", std::make_shared<const JsonTable>(std::move(made)));
  format.called = [lines](size_t file, uint64_t record) {
    return "line " + std::to_string((*lines)[file].of(record));
  };
  format.options = options.defaults.dump() + nulls;
  return record_files(std::move(format), request, std::move(indexes));
}

Result<SourceOpening> open(const OpenRequest& request) {
  JsonlOptions options;
  HEADRACE_ASSIGN(options.columns, request.strings("columns"));
  if (const Value* dtypes = request.options.find("dtypes")) options.dtypes = *dtypes;
  if (const Value* defaults = request.options.find("defaults")) options.defaults = *defaults;
  HEADRACE_ASSIGN(options.nulls, NullRules::of(request));
  HEADRACE_ASSIGN(const Packing packed, packing(request, Packing::by_content));
  HEADRACE_ASSIGN(const std::string compression, request.text("compression", "any"));
  RecordOpening out;
  out.kind = "jsonl 3 " + compression;
  out.files = request.path().files;
  out.index = [files = out.files, packed](uint64_t file) {
    return walk_whole(files[file], packed, json_lines());
  };
  out.finish = [request, options](std::vector<FileIndex> indexes) {
    return finish(request, options, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "jsonl",
    .doc = "JSON lines (NDJSON), plain, gzip, zlib or zstd: one object and sample per line.",
    .fields =
        "one per key of the objects. Numbers are int64 or float64, `true` and `false` bool, strings str. "
        "Lists of numbers are arrays with a shape that fits all values (`(3)`, `(?)`, `(?, 4)`). Lists of "
        "strings are `{\"values\": str, \"lengths\": int64 (n,)}`: the concatenated strings, and the length "
        "of each in bytes. Members of nested objects have names such as `\"image/width\"`. Everything else "
        "is its JSON as str: lists of objects, keys with values of different types, integers beyond 64 bits.",
    .details = {"Blank lines are ignored."},
    .options = {{"columns", "Sequence[str] | None",
                 "Only these fields, in this order; all when not given. The name of an object selects all "
                 "its members."},
                {"dtypes", "Mapping[str, DTypeLike] | None",
                 "{column: dtype}, for arrays the dtype of their items. Other columns have a dtype that fits "
                 "every value of every file. \"str\" for other values gives their JSON."},
                {"defaults", "Mapping[str, Any] | None",
                 "{column: value} for null and missing keys: a number, a string or a list. Without a "
                 "default, these are what `nulls` says."},
                nulls_option("A missing key is a null, too: "),
                compression_option("gzip and zstd are detected")},
    .raises = {{"CorruptSample",
                "a line is not a JSON object, or a value is missing or has another dtype. The message has "
                "file, line and column."},
               {"ValueError", "a column does not exist."}},
    .example =
        "hr.read_jsonl(\"captions.jsonl\", columns=[\"url\", \"caption\"], defaults={\"caption\": \"\"})",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});
const ChecksItsStrings registered_checks_of_jsonl("jsonl");

}  // namespace
}  // namespace headrace
