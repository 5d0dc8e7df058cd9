// A JSON scanner: checks values against RFC 8259 and reports where they are, without building a tree. It also
// accepts NaN, Infinity and -Infinity, which Python writes, as numbers.
//
// The bytes may belong to a mapped file that another process changes: each function reads only inside the
// text that it is given, whatever an earlier call found there.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/core/status.h"
#include "headrace/core/tensor.h"

namespace headrace {

enum class JsonType : uint8_t { nothing, null, boolean, integer, real, text, list, object };
constexpr uint8_t bit_of(JsonType type) { return static_cast<uint8_t>(1u << static_cast<unsigned>(type)); }

inline constexpr int kMostJsonDepth = 128;  // of nested lists and objects

// The position of a value.
struct JsonSpan {
  JsonType type = JsonType::nothing;
  bool has_escapes = false;  // for a string
  bool has_lists = false;    // for a list
  uint8_t leaves = 0;        // for a list: bit_of() the items that are not lists, at all levels
  size_t count = 0;          // for a list: the number of these items
  std::string_view text;     // a string is without its quotes
};

// Scans a text. One caller.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  // Whether the next value begins with this character: '{', '['.
  bool begins_with(char c);
  // Enters the object that follows; false if there is none, or on an error. Then, for each member:
  // next_key(), and either value() to scan the value, or begin_object() to enter it.
  bool begin_object();
  // False after the last member, or on an error. `is_first`: the first key of this object.
  bool next_key(JsonSpan& key, bool is_first);
  // The same for a list: next_item() for each item, then scan or enter it.
  bool begin_list();
  bool next_item(bool is_first);
  bool value(JsonSpan& out);
  bool is_at_end();  // only blanks follow; anything else is an error
  // After an error: whether the only problem may be that the text ends inside a value.
  bool is_cut() const { return end_ - at_ < kLongestWord; }
  bool ok() const { return wanted_ == nullptr; }
  // Makes it an error that the caller found.
  void refuse(std::string why) { wanted_ = "", why_ = std::move(why); }
  Status error() const;  // what was expected, what was found, and the byte
  size_t position() const { return static_cast<size_t>(at_ - begin_); }  // after what was scanned
  std::string wanted_and_got(std::string_view at_end) const;             // `at_end`: the name of the end

 private:
  void skip_blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }
  bool take(char c);
  bool wrong(const char* wanted);
  bool any(JsonSpan& out);
  bool text(JsonSpan& out);
  bool escape();
  bool number(JsonSpan& out);
  bool digits();
  bool word(std::string_view word, JsonType type, JsonSpan& out);
  bool list(JsonSpan& out);
  bool object(JsonSpan& out);

  static constexpr ptrdiff_t kLongestWord = 12;  // two escapes of a surrogate pair

  const char* begin_;
  const char* at_;
  const char* end_;
  int depth_ = 0;
  const char* wanted_ = nullptr;  // what was expected where scanning failed
  std::string why_;               // of refuse()
};

// Refuses a key that is not UTF-8, which would be no field and go unnoticed.
bool check_key(const JsonSpan& key, JsonReader& reader);

// A line without its line end.
std::string_view without_line_end(std::string_view line);

// Writes the text with its escapes replaced to `out`, which has room for as many bytes as the text has, and
// returns the end. Null on an invalid escape and, with `whole_characters`, on half of a surrogate pair.
char* unescape_json(std::string_view text, bool whole_characters, char* out);
std::string unescaped_json(const JsonSpan& text);

// The sizes of nested lists whose lists of one level all have the same size.
struct JsonShape {
  static constexpr int64_t kUnseen = -2;  // a level without a list
  int rank = 0;                           // levels above the leaves; 0 if there are only lists
  int depth = 0;                          // levels seen
  std::array<int64_t, kMaxRank> sizes;
  JsonShape() { sizes.fill(kUnseen); }
};
// Takes the leaf that the text begins with and returns its end; null refuses it.
using JsonLeaf = const char* (*)(void* context, std::string_view text);
// Finds the shape of a list of numbers and bools and calls `leaf` for each of them in order. False if the
// sizes of a level differ, there are too many levels, or `leaf` refuses one.
bool walk_json_list(std::string_view list, JsonShape& shape, JsonLeaf leaf, void* context);
// The text up to the end of the leaf that it begins with.
std::string_view first_leaf(std::string_view text);

}  // namespace headrace
