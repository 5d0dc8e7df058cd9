#include "headrace/formats/jsonl/json_line.h"

#include <bit>
#include <cstring>

namespace headrace {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101u, kHighBits = kOnes * 0x80;

// The high bit of the first byte of the word that is `c`; of those behind it perhaps as well. 0: none is.
uint64_t bytes_equal(uint64_t word, char c) {
  const uint64_t differ = word ^ kOnes * static_cast<unsigned char>(c);
  return (differ - kOnes) & ~differ & kHighBits;
}

// The first byte from `at` on that is a quote, a backslash or a control character; `end` when there is none.
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

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The four digits at `at`; -1 where they are none.
int four_hex_digits(std::string_view text, size_t at) {
  if (text.size() < 4 || at > text.size() - 4) return -1;
  int out = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    out = out * 16 + digit;
  }
  return out;
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

char unescaped_letter(char c) {
  switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return c;
  }
}

}  // namespace

bool JsonReader::wrong(const char* wanted) {
  if (!wanted_) wanted_ = wanted;
  return false;
}

Status JsonReader::error() const {
  return corrupt(wanted_and_got("the end of the line") + " behind " + std::to_string(position()) +
                 " bytes of the line");
}

std::string JsonReader::wanted_and_got(std::string_view at_end) const {
  const std::string_view came(at_, static_cast<size_t>(end_ - at_));
  std::string got(at_end);
  if (!came.empty()) {
    const auto byte = static_cast<unsigned char>(came[0]);
    got =
        byte >= 0x20 && byte < 0x7F ? "'" + std::string(1, came[0]) + "'" : "a byte " + std::to_string(byte);
  }
  return std::string("wants ") + (wanted_ ? wanted_ : "JSON") + ", got " + got;
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
  return at_ == end_ || wrong("nothing behind the object");
}

bool JsonReader::begin_object() {
  if (!begins_with('{')) return wrong("a JSON object");
  if (depth_ == kMostJsonDepth) return wrong("at most 128 lists and objects in each other");
  ++at_, ++depth_;
  return true;
}

bool JsonReader::next_key(JsonSpan& key, bool is_first) {
  if (!ok()) return false;
  if (take('}')) {
    --depth_;
    return false;
  }
  if (!is_first && !take(',')) return wrong("',' or '}' behind a value");
  if (!begins_with('"')) return wrong("a key in quotes");
  if (!text(key)) return false;
  return take(':') || wrong("':' behind a key");
}

bool JsonReader::begin_list() {
  if (!begins_with('[')) return wrong("a list");
  if (depth_ == kMostJsonDepth) return wrong("at most 128 lists and objects in each other");
  ++at_, ++depth_;
  return true;
}

bool JsonReader::next_item(bool is_first) {
  if (!ok()) return false;
  if (take(']')) {
    --depth_;
    return false;
  }
  return is_first || take(',') || wrong("',' or ']' behind a value");
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

// Behind the backslash, which is at `at_`.
bool JsonReader::escape() {
  switch (end_ - at_ > 1 ? at_[1] : '\0') {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': at_ += 2; return true;
    case 'u':
      if (four_hex_digits({at_, static_cast<size_t>(end_ - at_)}, 2) < 0)
        return wrong("\\u and four hexadecimal digits");
      at_ += 6;
      return true;
    default: return wrong("an escape of JSON");
  }
}

bool JsonReader::text(JsonSpan& out) {
  const char* const begin = ++at_;
  out.type = JsonType::text, out.has_escapes = false;
  while (true) {
    at_ = end_of_plain(at_, end_);
    if (at_ == end_) return wrong("a quote that closes the text");
    if (*at_ == '"') break;
    if (*at_ != '\\') return wrong("an escape for a control character");
    if (!escape()) return false;
    out.has_escapes = true;
  }
  out.text = {begin, static_cast<size_t>(at_ - begin)};
  ++at_;
  return true;
}

bool JsonReader::list(JsonSpan& out) {
  const char* const begin = at_;
  if (depth_ == kMostJsonDepth) return wrong("at most 128 lists and objects in each other");
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
      return wrong("',' or ']' behind a value");
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

// What stands before the next backslash, in words while there are some: `out` has room for what is left.
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

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

char* unescape_json(std::string_view text, bool whole_characters, char* out) {
  size_t at = 0;
  while (at < text.size()) {
    copy_to_backslash(text, at, out);
    if (text.size() - at < 2) break;
    if (text[at + 1] != 'u') {
      *out++ = unescaped_letter(text[at + 1]);
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

// A level of lists, and those in it.
struct ListWalk {
  std::string_view text;
  JsonShape& shape;
  JsonLeaf leaf;
  void* context;
  size_t at = 0;

  bool is_next(char c) const { return at < text.size() && text[at] == c; }
  void skip_blanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) ++at;
  }

  bool take_leaf(int level) {
    const size_t end = std::min(text.find_first_of(",] \t\r", at), text.size());
    if (end == at || (shape.rank != 0 && shape.rank != level + 1)) return false;
    shape.rank = level + 1;
    const std::string_view taken = text.substr(at, end - at);
    at = end;
    return leaf(context, taken);
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

}  // namespace headrace
