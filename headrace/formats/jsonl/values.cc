#include "headrace/formats/jsonl/values.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/csv/values.h"

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
  return corrupt("wants " + spec.text() + ", got " + std::string(got));
}

// The two dtypes that numbers have when nobody says another go by the short way.
bool number_at(std::string_view text, DType dtype, std::byte* out) {
  const char* const end = text.data() + text.size();
  if (dtype == DType::i64) {
    int64_t value = 0;
    const auto [next, error] = std::from_chars(text.data(), end, value);
    std::memcpy(out, &value, sizeof value);
    return error == std::errc() && next == end;
  }
  if (dtype == DType::f64) {
    double value = 0;
    const auto [next, error] = std::from_chars(text.data(), end, value);
    std::memcpy(out, &value, sizeof value);
    if (error == std::errc() && next == end) return true;
  }
  return parse_number(text, dtype, out);
}

struct NewNumbers {
  std::byte* at;
  size_t left;  // numbers there is room for
  DType dtype;

  static bool add(void* context, std::string_view leaf) {
    NewNumbers& self = *static_cast<NewNumbers*>(context);
    if (self.left == 0 || !number_at(leaf, self.dtype, self.at)) return false;
    self.at += size_of(self.dtype), --self.left;
    return true;
  }
};

// `sizes`: what was wanted, where some may be free, and then what came.
Status write_list(const JsonSpan& value, const TensorSpec& spec, std::byte* out, Shape& sizes) {
  JsonShape shape;
  NewNumbers numbers{out, value.count, spec.dtype};
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

// Without escapes, to where `at` points, which is then behind it.
Status put_text(const JsonSpan& value, DType dtype, bool is_utf8, char*& at) {
  char* const begin = at;
  at = value.has_escapes ? unescape_json(value.text, dtype == DType::str, begin)
                         : std::ranges::copy(value.text, begin).out;
  if (!at)
    return corrupt(
        "wants str, got half of a pair of surrogates, which is no character; its dtype may be bytes");
  const std::string_view text(begin, static_cast<size_t>(at - begin));
  if (dtype == DType::str && !is_utf8 && utf8_prefix(text) < text.size())
    return corrupt("wants UTF-8, got something else; its dtype may be bytes");
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
    return corrupt("wants UTF-8, got something else; its dtype may be bytes");
  const auto offset =
      static_cast<size_t>(value.text.data() - reinterpret_cast<const char*>(place.line->data()));
  set_text(out, place.line, offset, spec.dtype, value.text.size());
  return {};
}

// Numbers of the shape that is wanted, in which some sizes may be free.
Status write_shaped(const JsonSpan& value, const TensorSpec& spec, std::byte* out, Shape& sizes) {
  if (spec.shape.rank() > 0 && value.type == JsonType::list) return write_list(value, spec, out, sizes);
  const bool is_number = value.type == JsonType::integer || value.type == JsonType::real ||
                         value.type == JsonType::boolean ||
                         (value.type == JsonType::text && !value.has_escapes);
  if (spec.shape.rank() > 0 || !is_number || !number_at(value.text, spec.dtype, out))
    return unlike(spec, shown(value));
  return {};
}

// Each text of a list.
template <class Take> Status each_text(const JsonSpan& list, const Take& take) {
  if (list.type != JsonType::list) return corrupt("wants a list of texts, got " + shown(list));
  JsonReader reader(list.text);
  JsonSpan item;
  reader.begin_list();
  for (int64_t i = 0; reader.next_item(i == 0) && reader.value(item); ++i) {
    if (item.type != JsonType::text)
      return corrupt("wants a list of texts, got " + shown(item) + " as item " + std::to_string(i));
    HEADRACE_TRY(take(item));
  }
  return reader.ok() ? Status() : reader.error();
}

}  // namespace

size_t made_bytes(const JsonSpan& value, const TensorSpec& spec) {
  if (is_text(spec.dtype)) return value.type == JsonType::text && value.has_escapes ? value.text.size() : 0;
  return value.type == JsonType::list ? value.count * size_of(spec.dtype) : size_of(spec.dtype);
}

Status make_value(const JsonSpan& value, const TensorSpec& spec, const JsonPlace& place, Tensor& out) {
  if (is_text(spec.dtype)) return make_text(value, spec, place, out);
  std::byte* const numbers = place.made.take(made_bytes(value, spec));
  Shape sizes = spec.shape;
  HEADRACE_TRY(write_shaped(value, spec, numbers, sizes));
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
    if (count == value.count) return corrupt("wants a line that nobody changes, got one of more texts");
    std::memcpy(begin + count++ * sizeof length, &length, sizeof length);
    return Status();
  }));
  const Shape shape{static_cast<int64_t>(count)};
  out = Tensor{place.made.buffer(), place.made.offset_of(begin), DType::i64, shape, nullptr};
  return {};
}

Status write_numbers(const JsonSpan& value, const TensorSpec& spec, std::byte* out) {
  if (value.type == JsonType::list && made_bytes(value, spec) != spec.size_bytes())
    return unlike(spec, shown(value));
  Shape sizes = spec.shape;
  return write_shaped(value, spec, out, sizes);
}

}  // namespace headrace
