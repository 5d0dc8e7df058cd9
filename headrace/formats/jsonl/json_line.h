// JSON as it stands in a line: one value after the other, checked as RFC 8259 has them, and nothing made of
// them but where they are. NaN, Infinity and -Infinity, which Python writes, are numbers.
//
// The bytes may be those of a mapped file that another process changes: each function looks only inside the
// text that it is given, whatever was there before.
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

inline constexpr int kMostJsonDepth = 128;  // of lists and objects in each other

// A value where it stands.
struct JsonSpan {
  JsonType type = JsonType::nothing;
  bool has_escapes = false;  // a text's
  bool has_lists = false;    // a list's
  uint8_t leaves = 0;        // bit_of() what a list holds that is no list, and the lists in it
  size_t count = 0;          // of these
  std::string_view text;     // of a text without its quotes
};

// Goes over a text. One caller.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  // Whether the next value is of that kind, which it begins: '{', '['.
  bool begins_with(char c);
  // Into the object that follows. Then for each member: next_key, and the value is taken by value() or gone
  // into by begin_object(). False: what follows is none, or wrong.
  bool begin_object();
  // False behind the last member, or when something is wrong. `is_first`: of this object.
  bool next_key(JsonSpan& key, bool is_first);
  // The same of a list: then for each item next_item, and the item is taken or gone into.
  bool begin_list();
  bool next_item(bool is_first);
  bool value(JsonSpan& out);
  bool is_at_end();  // nothing follows but blanks; else that is what is wrong
  // When something is wrong: whether it may only be that the text ends inside a value.
  bool is_cut() const { return end_ - at_ < kLongestWord; }
  bool ok() const { return wanted_ == nullptr; }
  Status error() const;  // says what was wanted and what came, with the byte
  size_t position() const { return static_cast<size_t>(at_ - begin_); }  // behind what was taken
  std::string wanted_and_got(std::string_view at_end) const;             // `at_end`: what an end is called

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

  static constexpr ptrdiff_t kLongestWord = 12;  // two escapes of a pair of surrogates

  const char* begin_;
  const char* at_;
  const char* end_;
  int depth_ = 0;
  const char* wanted_ = nullptr;  // what is wrong
};

// A line without what ends it.
std::string_view without_line_end(std::string_view line);

// Without escapes, at `out`, which has room for as many bytes as the text has; where it ends. Null where
// `whole_characters` are wanted and half of a pair of surrogates stands for none.
char* unescape_json(std::string_view text, bool whole_characters, char* out);
std::string unescaped_json(const JsonSpan& text);

// The sizes of lists in lists, where all of a level are equal.
struct JsonShape {
  static constexpr int64_t kUnseen = -2;  // a level of which there is no list
  int rank = 0;                           // levels down to what is no list; 0 where lists are all there is
  int depth = 0;                          // levels seen
  std::array<int64_t, kMaxRank> sizes;
  JsonShape() { sizes.fill(kUnseen); }
};
using JsonLeaf = bool (*)(void* context, std::string_view leaf);
// The shape of a list of numbers and bools, and each of them in order; false where levels differ in size,
// there are too many, or `leaf` is false.
bool walk_json_list(std::string_view list, JsonShape& shape, JsonLeaf leaf, void* context);

}  // namespace headrace
