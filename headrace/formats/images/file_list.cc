#include "headrace/formats/images/file_list.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "headrace/core/text/text.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

struct Line {
  std::string_view name;
  int64_t number = 0;
  bool numbered = false;
};

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

template <class T> bool reads_as(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// "17\t3.000000\tn01440764/x.JPEG", a line of the .lst next to MXNet's records; nothing for other lines.
std::optional<Line> parse_mxnet_line(std::string_view text) {
  const size_t first = text.find('\t'), last = text.rfind('\t');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const std::string_view label = text.substr(first + 1, last - first - 1), name = text.substr(last + 1);
  int64_t index = 0, number = 0;
  double value = 0;
  if (!reads_as(text.substr(0, first), index) || !reads_as(label, value) || name.empty() ||
      reads_as(name, number))
    return std::nullopt;
  constexpr double kMost = 1LL << 53;
  if (std::trunc(value) != value || std::abs(value) > kMost) return std::nullopt;
  return Line{name, static_cast<int64_t>(value), true};
}

Result<Line> parse_line(std::string_view text) {
  Line line{trim_end(text)};
  if (line.name.find('\0') != std::string_view::npos)
    return corrupt({.expected = "text", .got = "a NUL byte"});
  if (const auto of_mxnet = parse_mxnet_line(line.name)) return *of_mxnet;
  const size_t blank = line.name.find_last_of(" \t");
  if (blank == std::string_view::npos) return line;
  const std::string_view word = line.name.substr(blank + 1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), line.number);
  if (end != word.data() + word.size() || error == std::errc::invalid_argument) return line;
  if (error != std::errc()) return corrupt({.expected = "a 64-bit label", .got = std::string(word)});
  const std::string_view name = trim_end(line.name.substr(0, blank));
  if (name.empty()) return line;
  return Line{name, line.number, true};
}

// A whole JSON object or array, judged by its two ends: as a list it would be one file with a strange name.
bool looks_like_json(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return false;
  const char last = text[text.find_last_not_of(blanks)];
  return (text[first] == '{' && last == '}') || (text[first] == '[' && last == ']');
}

bool has_ending(std::string_view name) {
  return name.find('.', name.rfind('/') + 1) != std::string_view::npos;
}

// A truncated text is judged by its complete lines.
int recognise(const Probe& probe) {
  if (probe.listing || probe.text().empty()) return 0;
  std::string_view text = probe.text();
  if (probe.info.size > text.size()) text = text.substr(0, text.rfind('\n') + 1);
  const auto list = parse_file_list(text);
  if (!list.ok() || list->names.empty()) return 0;
  if (list->counts_lines) return 50;
  for (size_t i = 0; i < list->names.size(); ++i)
    if (!names_an_image(list->names[i])) return 0;
  return 60;
}

// Labels for ILSVRC's lists: the index of the folder's name in sorted order. No labels if a name has no
// folder.
void label_by_parent(ImageFiles& out) {
  std::map<std::string, int64_t> number;
  for (size_t i = 0; i < out.names.size(); ++i) {
    if (out.names[i].find('/') == std::string_view::npos) return;
    number.emplace(parent_of(out.names[i]), 0);
  }
  for (auto& [folder, label] : number) {
    label = static_cast<int64_t>(out.classes.size());
    out.classes.push_back(folder);
  }
  for (size_t i = 0; i < out.names.size(); ++i) out.labels.push_back(number[parent_of(out.names[i])]);
}

Result<SourcePtr> source_from(const BufferPtr& bytes, const OpenRequest& request) {
  HEADRACE_ASSIGN(const std::string numbers, request.text("numbers", "auto"));
  HEADRACE_ASSIGN(const std::string ending, request.text("extension", ".JPEG"));
  if (numbers != "auto" && numbers != "label" && numbers != "index")
    return invalid({.expected = "\"auto\", \"label\" or \"index\"", .got = "'" + numbers + "'"})
        .in_option("numbers");
  if (ending.find('\0') != std::string::npos)
    return invalid({.expected = "no NUL byte", .got = "one"}).in_option("extension");
  const std::string_view text{reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  if (looks_like_json(text))
    return invalid({.expected = "one line per image",
                    .got = "JSON",
                    .fix = "read_json_map() reads an object that maps paths to labels"});
  ImageFiles out;
  HEADRACE_ASSIGN(out.root, request.text("root", parent_of(request.path().path)));
  HEADRACE_ASSIGN(FileList list, parse_file_list(text));
  out.names = std::move(list.names);
  if (numbers == "index" || (numbers == "auto" && list.counts_lines))
    label_by_parent(out);
  else
    out.labels = std::move(list.numbers);
  const auto complete = [&] {
    for (size_t i = 0; i < out.names.size(); ++i)
      if (!has_ending(out.names[i])) return false;
    return true;
  };
  if (!ending.empty() && !complete()) {
    Names named;
    for (size_t i = 0; i < out.names.size(); ++i)
      named.add(std::string(out.names[i]) + (has_ending(out.names[i]) ? "" : ending));
    out.names = std::move(named);
  }
  return image_files_source(std::move(out), "file_list", request);
}

Result<SourceOpening> open(const OpenRequest& request) {
  if (request.path().listing) return invalid({.expected = "a text file", .got = "a folder"});
  return parse_file(request.path().path,
                    [request](const BufferPtr& bytes) { return source_from(bytes, request); });
}

const FormatRegistration registered_file_list({
    .name = "file_list",
    .doc = "Images listed in a text file, one line \"path\" or \"path label\" per image; also MXNet's .lst.",
    .fields = "`image` (encoded, bytes) and, if there are labels, `label` (int64 scalar).",
    .path = "The list.",
    .options = {{"root", "str | None",
                 "Folder that the paths are relative to; the folder of the list when not given."},
                {"numbers", "Literal[\"auto\", \"label\", \"index\"]",
                 "Whether the number in a line is a \"label\" or an \"index\"; detected with \"auto\". An "
                 "index is ignored, and labels are taken from the folders of the paths.",
                 "auto"},
                {"extension", "str", "Extension of the files that are listed without one.", ".JPEG"},
                key_option(),
                encoding_option()},
    .raises = {{"CorruptSample",
                "some lines have a label and others have none, or a label exceeds 64 bits. The message has "
                "the line."}},
    .example = "hr.read_file_list(\"val.txt\", root=\"imagenet/val\")",
    .recognise = recognise,
    .open = open,
});

}  // namespace

Result<FileList> parse_file_list(std::string_view text) {
  FileList out;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  uint64_t line_number = 0;
  bool counts = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    auto line = parse_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string at = "line " + std::to_string(++line_number) + ": ";
    if (!line.ok()) return line.status().with({.record = line_number - 1}).before(at);
    if (line->name.empty()) continue;
    if (!out.names.empty() && line->numbered == out.numbers.empty())
      return corrupt(at + (line->numbered ? "expected no label" : "expected a label") +
                     ", as in the lines before, got " + in_quotes(line->name.substr(0, 200)));
    out.names.add(line->name);
    if (line->numbered) out.numbers.push_back(line->number);
    counts = counts && line->numbered && line->number == static_cast<int64_t>(out.names.size()) &&
             !has_ending(line->name);
  }
  out.counts_lines = counts && !out.names.empty();
  return out;
}

}  // namespace headrace
