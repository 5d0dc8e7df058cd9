#include "headrace/formats/jsonl/json_line.h"

#include <bit>
#include <cstring>

#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101u, kHighBits = kOnes * 0x80;

// Sets the high bit of the first byte equal to `c`; bits of later bytes are unreliable. 0: no byte is equal.
uint64_t bytes_equal(uint64_t word, char c) {
  const uint64_t differ = word ^ kOnes * static_cast<unsigned char>(c);
  return (differ - kOnes) & ~differ & kHighBits;
}

// The first byte from `at` on that is a quote, a backslash or a control character, or `end`.
const char* end_of_plain(const char* at, const char* end) {
  for (uint64_t word = 0; end - at >= 8; at += 8) {
    std::memcpy(&word, at, sizeof word);
    const uint64_t found =
        bytes_equal(word, '"') | bytes_equal(word, '\\') | ((word - kOnes * 0x20) & ~word & kHighBits);
    if (found) return at + std::countr_zero(found) / 8;
  }
  while (at < end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
  return at;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<int8_t, 256> kHexDigits = [] {
  std::array<int8_t, 256> out;
  out.fill(-1);
  for (size_t i = 0; i < 10; ++i) out['0' + i] = static_cast<int8_t>(i);
  for (size_t i = 0; i < 6; ++i) out['a' + i] = out['A' + i] = static_cast<int8_t>(10 + i);
  return out;
}();

// The number that the four hexadecimal digits at `at` form; -1 if they are not such digits.
int four_hex_digits(std::string_view text, size_t at) {
  if (text.size() < 4 || at > text.size() - 4) return -1;
  const auto digit = [&](size_t i) -> int { return kHexDigits[static_cast<unsigned char>(text[at + i])]; };
  const int a = digit(0), b = digit(1), c = digit(2), d = digit(3);
  return (a | b | c | d) < 0 ? -1 : a << 12 | b << 8 | c << 4 | d;
}

char* put_utf8(int point, char* out) {
  const auto put = [&](int byte) { *out++ = static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6), put(0x80 | (point & 63));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12), put(0x80 | (point >> 6 & 63)), put(0x80 | (point & 63));
  } else {
    put(0xF0 | point >> 18), put(0x80 | (point >> 12 & 63));
    put(0x80 | (point >> 6 & 63)), put(0x80 | (point & 63));
  }
  return out;
}

bool is_high(int unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(int unit) { return unit >= 0xDC00 && unit < 0xE000; }

// What a backslash and this letter mean; 0 if they are not an escape.
char unescaped_letter(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return '\0';
  }
}

// The number of bytes of the escape that the text begins with; 0 if it is not one.
size_t escape_size(std::string_view text) {
  if (text.size() < 2) return 0;
  if (text[1] == 'u') return four_hex_digits(text, 2) < 0 ? 0 : 6;
  return unescaped_letter(text[1]) ? 2 : 0;
}

}  // namespace

bool JsonReader::wrong(const char* wanted) {
  if (!wanted_) wanted_ = wanted;
  return false;
}

Status JsonReader::error() const {
  if (!why_.empty()) return corrupt(why_);
  return corrupt(wanted_and_got("the end of the line") + " at byte " + std::to_string(position()) +
                 " of the line");
}

std::string JsonReader::wanted_and_got(std::string_view at_end) const {
  const std::string_view came(at_, static_cast<size_t>(end_ - at_));
  std::string got(at_end);
  if (!came.empty()) {
    const auto byte = static_cast<unsigned char>(came[0]);
    got = byte >= 0x20 && byte < 0x7F ? in_quotes(came.substr(0, 1)) : "byte " + std::to_string(byte);
  }
  return std::string("expected ") + (wanted_ ? wanted_ : "JSON") + ", got " + got;
}

bool JsonReader::take(char c) {
  skip_blanks();
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}

bool JsonReader::begins_with(char c) {
  skip_blanks();
  return at_ < end_ && *at_ == c;
}

bool JsonReader::is_at_end() {
  skip_blanks();
  return at_ == end_ || wrong("nothing after the object");
}

bool JsonReader::begin_object() {
  if (!begins_with('{')) return wrong("a JSON object");
  if (depth_ == kMostJsonDepth) return wrong("at most 128 nested lists and objects");
  ++at_, ++depth_;
  return true;
}

bool JsonReader::next_key(JsonSpan& key, bool is_first) {
  if (!ok()) return false;
  if (take('}')) {
    --depth_;
    return false;
  }
  if (!is_first && !take(',')) return wrong("',' or '}' after a value");
  if (!begins_with('"')) return wrong("a key in quotes");
  if (!text(key)) return false;
  return take(':') || wrong("':' after a key");
}

bool JsonReader::begin_list() {
  if (!begins_with('[')) return wrong("a list");
  if (depth_ == kMostJsonDepth) return wrong("at most 128 nested lists and objects");
  ++at_, ++depth_;
  return true;
}

bool JsonReader::next_item(bool is_first) {
  if (!ok()) return false;
  if (take(']')) {
    --depth_;
    return false;
  }
  return is_first || take(',') || wrong("',' or ']' after a value");
}

bool JsonReader::value(JsonSpan& out) {
  skip_blanks();
  out.leaves = 0, out.count = 0;
  return any(out);
}

bool JsonReader::any(JsonSpan& out) {
  if (at_ == end_) return wrong("a value");
  switch (*at_) {
    case '"': return text(out);
    case '{': return object(out);
    case '[': return list(out);
    case 't': return word("true", JsonType::boolean, out);
    case 'f': return word("false", JsonType::boolean, out);
    case 'n': return word("null", JsonType::null, out);
    case 'N': return word("NaN", JsonType::real, out);
    case 'I': return word("Infinity", JsonType::real, out);
    default: return number(out);
  }
}

bool JsonReader::word(std::string_view word, JsonType type, JsonSpan& out) {
  if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) return wrong("a value");
  out.type = type;
  out.text = {at_, word.size()};
  at_ += word.size();
  return true;
}

bool JsonReader::digits() {
  const char* const begin = at_;
  while (at_ < end_ && is_digit(*at_)) ++at_;
  return at_ > begin || wrong("a digit");
}

bool JsonReader::number(JsonSpan& out) {
  const char* const begin = at_;
  if (*at_ == '-') {
    ++at_;
    if (at_ < end_ && *at_ == 'I') {
      if (!word("Infinity", JsonType::real, out)) return false;
      out.text = {begin, static_cast<size_t>(at_ - begin)};
      return true;
    }
  } else if (!is_digit(*at_)) {
    return wrong("a value");
  }
  out.type = JsonType::integer;
  if (at_ < end_ && *at_ == '0')
    ++at_;
  else if (!digits())
    return false;
  if (at_ < end_ && *at_ == '.') {
    ++at_, out.type = JsonType::real;
    if (!digits()) return false;
  }
  if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_, out.type = JsonType::real;
    if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (!digits()) return false;
  }
  out.text = {begin, static_cast<size_t>(at_ - begin)};
  return true;
}

// At a backslash.
bool JsonReader::escape() {
  const size_t size = escape_size({at_, static_cast<size_t>(end_ - at_)});
  if (size == 0)
    return wrong(end_ - at_ > 1 && at_[1] == 'u' ? "\\u and four hexadecimal digits" : "a JSON escape");
  at_ += size;
  return true;
}

bool JsonReader::text(JsonSpan& out) {
  const char* const begin = ++at_;
  out.type = JsonType::text, out.has_escapes = false;
  while (true) {
    at_ = end_of_plain(at_, end_);
    if (at_ == end_) return wrong("a closing quote");
    if (*at_ == '"') break;
    if (*at_ != '\\') return wrong("an escape instead of a control character");
    if (!escape()) return false;
    out.has_escapes = true;
  }
  out.text = {begin, static_cast<size_t>(at_ - begin)};
  ++at_;
  return true;
}

bool JsonReader::list(JsonSpan& out) {
  const char* const begin = at_;
  if (depth_ == kMostJsonDepth) return wrong("at most 128 nested lists and objects");
  ++at_, ++depth_;
  uint8_t leaves = 0;
  bool has_lists = false;
  size_t count = 0;
  if (!take(']')) {
    while (true) {
      JsonSpan item;
      skip_blanks();
      if (!any(item)) return false;
      if (item.type == JsonType::list)
        leaves |= item.leaves, count += item.count, has_lists = true;
      else
        leaves |= bit_of(item.type), ++count;
      if (take(',')) continue;
      if (take(']')) break;
      return wrong("',' or ']' after a value");
    }
  }
  --depth_;
  out = {JsonType::list, false, has_lists, leaves, count, {begin, static_cast<size_t>(at_ - begin)}};
  return true;
}

bool JsonReader::object(JsonSpan& out) {
  const char* const begin = at_;
  if (!begin_object()) return false;
  JsonSpan key, member;
  for (bool is_first = true; next_key(key, is_first); is_first = false)
    if (!value(member)) return false;
  if (!ok()) return false;
  out = {JsonType::object, false, false, 0, 0, {begin, static_cast<size_t>(at_ - begin)}};
  return true;
}

namespace {

// Copies up to the next backslash, in words where possible: `out` has room for the rest of the text.
void copy_to_backslash(std::string_view text, size_t& at, char*& out) {
  for (uint64_t word = 0; text.size() - at >= sizeof word;) {
    std::memcpy(&word, text.data() + at, sizeof word);
    std::memcpy(out, &word, sizeof word);
    const uint64_t found = bytes_equal(word, '\\');
    const auto plain = found ? static_cast<size_t>(std::countr_zero(found)) / 8 : sizeof word;
    at += plain, out += plain;
    if (found) return;
  }
  while (at < text.size() && text[at] != '\\') *out++ = text[at++];
}

}  // namespace

bool check_key(const JsonSpan& key, JsonReader& reader) {
  if (utf8_prefix(key.text) == key.text.size()) return true;
  reader.refuse("a key: " + expected_utf8(key.text) + "; convert the file, as with iconv -f latin1 -t utf-8");
  return false;
}

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

char* unescape_json(std::string_view text, bool whole_characters, char* out) {
  size_t at = 0;
  while (at < text.size()) {
    copy_to_backslash(text, at, out);
    if (at == text.size()) break;
    if (text.size() - at < 2) return nullptr;
    if (text[at + 1] != 'u') {
      const char letter = unescaped_letter(text[at + 1]);
      if (!letter) return nullptr;
      *out++ = letter;
      at += 2;
      continue;
    }
    int point = four_hex_digits(text, at + 2);
    if (point < 0) return nullptr;
    at += 6;
    if (is_high(point) && at + 1 < text.size() && text[at] == '\\' && text[at + 1] == 'u') {
      if (const int low = four_hex_digits(text, at + 2); is_low(low)) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        at += 6;
      }
    }
    if (whole_characters && (is_high(point) || is_low(point))) return nullptr;
    out = put_utf8(point, out);
  }
  return out;
}

std::string unescaped_json(const JsonSpan& text) {
  if (!text.has_escapes) return std::string(text.text);
  std::string out(text.text.size(), '\0');
  const char* const end = unescape_json(text.text, false, out.data());
  out.resize(end ? static_cast<size_t>(end - out.data()) : 0);
  return out;
}

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Walks a level of lists, and those nested in it.
struct ListWalk {
  std::string_view text;
  JsonShape& shape;
  JsonLeaf leaf;
  void* context;
  size_t at = 0;

  bool is_next(char c) const { return at < text.size() && text[at] == c; }
  void skip_blanks() {
    while (at < text.size() && is_blank(text[at])) ++at;
  }

  bool take_leaf(int level) {
    if (shape.rank != 0 && shape.rank != level + 1) return false;
    shape.rank = level + 1;
    const char* const end = leaf(context, text.substr(at));
    if (!end || end == text.data() + at) return false;
    at = static_cast<size_t>(end - text.data());
    return true;
  }

  bool level(int level) {
    if (level == kMaxRank || (shape.rank != 0 && level >= shape.rank)) return false;
    shape.depth = std::max(shape.depth, level + 1);
    ++at;
    int64_t size = 0;
    skip_blanks();
    while (!is_next(']')) {
      if (size > 0) {
        if (!is_next(',')) return false;
        ++at;
        skip_blanks();
      }
      if (!(is_next('[') ? this->level(level + 1) : take_leaf(level))) return false;
      ++size;
      skip_blanks();
    }
    ++at;
    int64_t& known = shape.sizes[static_cast<size_t>(level)];
    if (known != JsonShape::kUnseen && known != size) return false;
    known = size;
    return true;
  }
};

}  // namespace

bool walk_json_list(std::string_view list, JsonShape& shape, JsonLeaf leaf, void* context) {
  ListWalk walk{list, shape, leaf, context};
  return walk.is_next('[') && walk.level(0) && (shape.rank == 0 || shape.depth <= shape.rank);
}

std::string_view first_leaf(std::string_view text) {
  size_t size = 0;  // find_first_of() takes several times as long
  while (size < text.size() && text[size] != ',' && text[size] != ']' && !is_blank(text[size])) ++size;
  return text.substr(0, size);
}

}  // namespace headrace
