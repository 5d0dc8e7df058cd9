#include "headrace/formats/jsonl/values.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/csv/values.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

std::string shown(const JsonSpan& value) {
  constexpr size_t kMost = 40;
  const std::string_view head = value.text.substr(0, kMost);
  const std::string out =
      std::string(head.substr(0, utf8_prefix(head))) + (value.text.size() > kMost ? "…" : "");
  return value.type == JsonType::text ? "\"" + out + (value.text.size() > kMost ? "" : "\"") : out;
}

Status unlike(const TensorSpec& spec, std::string_view got) {
  return corrupt({.expected = spec.text(), .got = std::string(got)});
}

// The number that the text begins with, of a common dtype: its end. Null: parse_number() has to try.
const char* common_number(std::string_view text, DType dtype, std::byte* out) {
  const auto parsed = [&](auto value) -> const char* {
    const char* const end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data(), end, value);
    const bool is_whole = next == end || *next == ',' || *next == ']' || *next == ' ';
    std::memcpy(out, &value, sizeof value);
    return error == std::errc() && is_whole ? next : nullptr;
  };
  if (dtype == DType::i64) return parsed(int64_t{0});
  if (dtype == DType::f64) return parsed(double{0});
  return dtype == DType::f32 ? parsed(float{0}) : nullptr;
}

// A whole text as a number. Integers are exact: blanks and fractions are errors.
bool write_number(std::string_view text, DType dtype, std::byte* out) {
  if (common_number(text, dtype, out) == text.data() + text.size()) return true;
  return dtype != DType::i64 && parse_number(text, dtype, out);
}

// Whether the number, which was parsed into `value`, became another one.
bool is_rounded(std::string_view text, const std::byte* value, DType dtype, Rounding rounding) {
  return dtype == DType::f64 && rounding == Rounding::refused && !is_held(text, value);
}

struct NewNumbers {
  std::byte* at;
  size_t left;  // room, in numbers
  DType dtype;
  Rounding rounding;

  static const char* add(void* context, std::string_view text) {
    NewNumbers& self = *static_cast<NewNumbers*>(context);
    if (self.left == 0) return nullptr;
    const char* end = common_number(text, self.dtype, self.at);
    if (!end) {
      const std::string_view leaf = first_leaf(text);
      if (!write_number(leaf, self.dtype, self.at)) return nullptr;
      end = leaf.data() + leaf.size();
    }
    if (is_rounded({text.data(), end}, self.at, self.dtype, self.rounding)) return nullptr;
    self.at += size_of(self.dtype), --self.left;
    return end;
  }
};

// `sizes`: the expected sizes, some of which may be kAny; then the actual ones.
Status write_list(const JsonSpan& value, const TensorSpec& spec, Rounding rounding, std::byte* out,
                  Shape& sizes) {
  JsonShape shape;
  NewNumbers numbers{out, value.count, spec.dtype, rounding};
  constexpr auto kNumbers =
      static_cast<uint8_t>(~(bit_of(JsonType::boolean) | bit_of(JsonType::integer) | bit_of(JsonType::real)));
  const bool has_shape = (value.leaves & kNumbers) == 0 &&
                         walk_json_list(value.text, shape, &NewNumbers::add, &numbers) && numbers.left == 0;
  const int rank = spec.shape.rank();
  if (!has_shape || shape.depth > rank || (shape.rank != 0 && shape.rank != rank))
    return unlike(spec, shown(value));
  for (int i = 0; i < rank; ++i) {
    const int64_t size = shape.sizes[static_cast<size_t>(i)];
    if (size >= 0 && spec.shape[i] != kAny && spec.shape[i] != size) return unlike(spec, shown(value));
    if (size >= 0 || sizes[i] == kAny) sizes.set(i, std::max<int64_t>(size, 0));
  }
  return {};
}

// Writes a string without escapes to `at`, which it moves to the end.
Status put_text(const JsonSpan& value, DType dtype, bool is_utf8, char*& at) {
  char* const begin = at;
  at = value.has_escapes ? unescape_json(value.text, dtype == DType::str, begin)
                         : std::ranges::copy(value.text, begin).out;
  if (!at)
    return corrupt({.expected = "str",
                    .got = "half of a surrogate pair, which is not a character",
                    .fix = "dtype bytes accepts it"});
  const std::string_view text(begin, static_cast<size_t>(at - begin));
  if (dtype == DType::str && !is_utf8 && utf8_prefix(text) < text.size())
    return corrupt(expected_utf8(text) + "; dtype bytes accepts it");
  return {};
}

Status make_text(const JsonSpan& value, const TensorSpec& spec, const JsonPlace& place, Tensor& out) {
  if (value.type == JsonType::text && value.has_escapes) {
    std::byte* const begin = place.made.take(value.text.size());
    char* end = reinterpret_cast<char*>(begin);
    HEADRACE_TRY(put_text(value, spec.dtype, place.is_utf8, end));
    const auto size = static_cast<size_t>(end - reinterpret_cast<char*>(begin));
    place.made.give_back(value.text.size() - size);
    set_text(out, place.made.buffer(), place.made.offset_of(begin), spec.dtype, size);
    return {};
  }
  if (spec.dtype == DType::str && !place.is_utf8 && utf8_prefix(value.text) < value.text.size())
    return corrupt(expected_utf8(value.text) + "; dtype bytes accepts it");
  const auto offset =
      static_cast<size_t>(value.text.data() - reinterpret_cast<const char*>(place.line->data()));
  set_text(out, place.line, offset, spec.dtype, value.text.size());
  return {};
}

// Numbers of the expected shape, in which some sizes may be kAny.
Status write_shaped(const JsonSpan& value, const TensorSpec& spec, Rounding rounding, std::byte* out,
                    Shape& sizes) {
  if (spec.shape.rank() > 0 && value.type == JsonType::list)
    return write_list(value, spec, rounding, out, sizes);
  const bool is_number = value.type == JsonType::integer || value.type == JsonType::real ||
                         value.type == JsonType::boolean ||
                         (value.type == JsonType::text && !value.has_escapes);
  if (spec.shape.rank() > 0 || !is_number || !write_number(value.text, spec.dtype, out) ||
      is_rounded(value.text, out, spec.dtype, rounding))
    return unlike(spec, shown(value));
  return {};
}

// Calls `take` with each string of a list.
template <class Take> Status each_text(const JsonSpan& list, const Take& take) {
  if (list.type != JsonType::list) return corrupt({.expected = "a list of strings", .got = shown(list)});
  JsonReader reader(list.text);
  JsonSpan item;
  reader.begin_list();
  for (int64_t i = 0; reader.next_item(i == 0) && reader.value(item); ++i) {
    if (item.type != JsonType::text)
      return corrupt({.expected = "a list of strings", .got = shown(item) + " as item " + std::to_string(i)});
    HEADRACE_TRY(take(item));
  }
  return reader.ok() ? Status() : reader.error();
}

}  // namespace

size_t made_bytes(const JsonSpan& value, const TensorSpec& spec) {
  if (is_text(spec.dtype)) return value.type == JsonType::text && value.has_escapes ? value.text.size() : 0;
  return value.type == JsonType::list ? value.count * size_of(spec.dtype) : size_of(spec.dtype);
}

Status make_value(const JsonSpan& value, const TensorSpec& spec, Rounding rounding, const JsonPlace& place,
                  Tensor& out) {
  if (is_text(spec.dtype)) return make_text(value, spec, place, out);
  std::byte* const numbers = place.made.take(made_bytes(value, spec));
  Shape sizes = spec.shape;
  HEADRACE_TRY(write_shaped(value, spec, rounding, numbers, sizes));
  out = Tensor{place.made.buffer(), place.made.offset_of(numbers), spec.dtype, sizes, nullptr};
  return {};
}

Status make_texts(const JsonSpan& value, DType dtype, const JsonPlace& place, Tensor& out) {
  std::byte* const begin = place.made.take(value.text.size());
  char* end = reinterpret_cast<char*>(begin);
  HEADRACE_TRY(
      each_text(value, [&](const JsonSpan& item) { return put_text(item, dtype, place.is_utf8, end); }));
  const auto size = static_cast<size_t>(end - reinterpret_cast<char*>(begin));
  place.made.give_back(value.text.size() - size);
  set_text(out, place.made.buffer(), place.made.offset_of(begin), dtype, size);
  return {};
}

Status make_lengths(const JsonSpan& value, const JsonPlace& place, Tensor& out) {
  std::byte* const begin = place.made.take(value.count * sizeof(int64_t));
  size_t count = 0;
  HEADRACE_TRY(each_text(value, [&](const JsonSpan& item) {
    const auto length =
        static_cast<int64_t>(item.has_escapes ? unescaped_json(item).size() : item.text.size());
    if (count == value.count)
      return corrupt(
          {.expected = "a file that does not change while it is read", .got = "a line with more strings"});
    std::memcpy(begin + count++ * sizeof length, &length, sizeof length);
    return Status();
  }));
  const Shape shape{static_cast<int64_t>(count)};
  out = Tensor{place.made.buffer(), place.made.offset_of(begin), DType::i64, shape, nullptr};
  return {};
}

Status write_numbers(const JsonSpan& value, const TensorSpec& spec, Rounding rounding, std::byte* out) {
  if (value.type == JsonType::list && made_bytes(value, spec) != spec.size_bytes())
    return unlike(spec, shown(value));
  Shape sizes = spec.shape;
  return write_shaped(value, spec, rounding, out, sizes);
}

std::string_view rounded_number(const JsonSpan& value) {
  if (value.type != JsonType::list) return float64_holds(value.text) ? std::string_view() : value.text;
  std::string_view out;
  JsonShape shape;
  const auto look = [](void* found, std::string_view text) -> const char* {
    const std::string_view leaf = first_leaf(text);
    if (!float64_holds(leaf)) *static_cast<std::string_view*>(found) = leaf;
    return leaf.data() + leaf.size();
  };
  walk_json_list(value.text, shape, look, &out);
  return out;
}

}  // namespace headrace
