#include "headrace/formats/captions/lines.h"

#include <algorithm>
#include <map>

#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"

namespace headrace {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct CaptionLine {
  std::string_view image;
  std::string text;
};

// "x.jpg#0\ta caption"; false for other lines.
bool read_tokens(std::string_view line, CaptionLine& out) {
  const size_t tab = line.find('\t');
  const size_t mark = line.substr(0, tab).rfind('#');
  if (tab == std::string_view::npos || mark == std::string_view::npos || mark == 0) return false;
  const std::string_view number = trimmed(line.substr(mark + 1, tab - mark - 1));
  if (number.empty() || !std::ranges::all_of(number, is_digit)) return false;
  out.image = trimmed(line.substr(0, mark));
  out.text = trimmed(line.substr(tab + 1));
  return !out.image.empty();
}

// "x.jpg| 0| a caption". Flickr30k lacks the second bar in one line.
bool read_pipes(std::string_view line, CaptionLine& out) {
  const size_t bar = line.find('|');
  if (bar == std::string_view::npos) return false;
  out.image = trimmed(line.substr(0, bar));
  std::string_view rest = trimmed(line.substr(bar + 1));
  const size_t digits = static_cast<size_t>(std::ranges::find_if_not(rest, is_digit) - rest.begin());
  if (digits == 0 || out.image.empty()) return false;
  rest = trimmed(rest.substr(digits));
  out.text = trimmed(rest.starts_with('|') ? rest.substr(1) : rest);
  return true;
}

// "x.jpg,a caption", or the caption in quotes, with quotes inside it doubled.
bool read_commas(std::string_view line, CaptionLine& out) {
  const size_t comma = line.find(',');
  if (comma == std::string_view::npos) return false;
  out.image = trimmed(line.substr(0, comma));
  if (out.image.empty()) return false;
  const std::string_view rest = trimmed(line.substr(comma + 1));
  if (!rest.starts_with('"')) {
    out.text = rest;
    return true;
  }
  if (rest.size() < 2 || !rest.ends_with('"')) return false;
  out.text.clear();
  for (size_t i = 1; i + 1 < rest.size(); ++i) {
    if (rest[i] == '"' && (++i, i + 1 >= rest.size() || rest[i] != '"')) return false;
    out.text += rest[i];
  }
  out.text = std::string(trimmed(out.text));
  return true;
}

std::string without_blanks(std::string_view line) {
  std::string out;
  for (const char c : line)
    if (c != ' ' && c != '"') out += lower_case(c);
  return out;
}

const char* wanted_of(CaptionForm form) {
  switch (form) {
    case CaptionForm::tokens: return "name#number, a tab and a caption";
    case CaptionForm::pipes: return "name|number|caption";
    default: return "name,caption, in quotes if it contains quotes";
  }
}

}  // namespace

CaptionForm caption_form(std::string_view head) {
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  const std::string_view line = take_line(head);
  const std::string names = without_blanks(line);
  if (names == "image_name|comment_number|comment" || names == "image|comment_number|comment" ||
      names == "image|comment_number|caption")
    return CaptionForm::pipes;
  if (names == "image,caption" || names == "image_name,caption") return CaptionForm::commas;
  CaptionLine ignored;
  return read_tokens(line, ignored) ? CaptionForm::tokens : CaptionForm::none;
}

Result<Captions> parse_captions(std::string_view text) {
  const CaptionForm form = caption_form(text);
  if (form == CaptionForm::none)
    return corrupt(
        "expected lines \"x.jpg#0\", a tab and a caption, or a first line "
        "\"image_name|comment_number|comment\" or \"image,caption\"");
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  uint64_t number = 0;
  if (form != CaptionForm::tokens) take_line(text), ++number;
  const auto read = form == CaptionForm::tokens  ? read_tokens
                    : form == CaptionForm::pipes ? read_pipes
                                                 : read_commas;
  std::map<std::string, uint32_t, std::less<>> places;
  std::vector<std::pair<uint32_t, std::string>> found;
  Captions out;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    ++number;
    if (trimmed(line).empty()) continue;
    CaptionLine one;
    if (line.find('\0') != std::string_view::npos || !read(line, one))
      return corrupt({.expected = wanted_of(form),
                      .got = "'" + std::string(line.substr(0, utf8_prefix(line.substr(0, 80)))) + "'"})
          .with({.record = number - 1})
          .before("line " + std::to_string(number) + ": ");
    auto place = places.find(one.image);
    if (place == places.end()) {
      place = places.emplace(one.image, static_cast<uint32_t>(out.images.size())).first;
      out.images.add(one.image);
    }
    found.emplace_back(place->second, std::move(one.text));
  }
  std::ranges::stable_sort(found, {}, &std::pair<uint32_t, std::string>::first);
  out.first.assign(out.images.size() + 1, 0);
  for (const auto& [image, caption] : found) {
    ++out.first[image + 1];
    out.texts.add(caption);
  }
  for (size_t i = 0; i + 1 < out.first.size(); ++i) out.first[i + 1] += out.first[i];
  return out;
}

std::set<std::string, std::less<>> parse_names(std::string_view text) {
  std::set<std::string, std::less<>> out;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty())
    if (const std::string_view name = trimmed(take_line(text)); !name.empty()) out.emplace(name);
  return out;
}

}  // namespace headrace
