#include "headrace/formats/jsonl/values.h"

#include <charconv>
#include <cstring>

#include "headrace/core/text.h"
#include "headrace/core/utf8.h"
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

Status make_list(const JsonSpan& value, const TensorSpec& spec, const JsonPlace& place, Tensor& out) {
  JsonShape shape;
  NewNumbers numbers{place.made ? place.made->mutable_data() + place.at : nullptr, value.count, spec.dtype};
  constexpr auto kNumbers =
      static_cast<uint8_t>(~(bit_of(JsonType::boolean) | bit_of(JsonType::integer) | bit_of(JsonType::real)));
  const bool has_shape = (value.leaves & kNumbers) == 0 &&
                         walk_json_list(value.text, shape, &NewNumbers::add, &numbers) && numbers.left == 0;
  const int rank = spec.shape.rank();
  if (!has_shape || shape.depth > rank || (shape.rank != 0 && shape.rank != rank))
    return unlike(spec, shown(value));
  Shape sizes = spec.shape;
  for (int i = 0; i < rank; ++i) {
    const int64_t size = shape.sizes[static_cast<size_t>(i)];
    if (size >= 0 && spec.shape[i] != kAny && spec.shape[i] != size) return unlike(spec, shown(value));
    if (size >= 0 || sizes[i] == kAny) sizes.set(i, std::max<int64_t>(size, 0));
  }
  out = Tensor{place.made ? BufferPtr(place.made) : place.line, place.made ? place.at : 0, spec.dtype, sizes,
               nullptr};
  return {};
}

Status make_text(const JsonSpan& value, const TensorSpec& spec, const JsonPlace& place, Tensor& out) {
  if (value.type == JsonType::text && value.has_escapes) {
    char* const begin = reinterpret_cast<char*>(place.made->mutable_data() + place.at);
    const char* const end = unescape_json(value.text, spec.dtype == DType::str, begin);
    if (!end)
      return corrupt(
          "wants str, got half of a pair of surrogates, which is no character; its dtype may be bytes");
    const auto size = static_cast<size_t>(end - begin);
    if (spec.dtype == DType::str && utf8_prefix({begin, size}) < size)
      return corrupt("wants UTF-8, got something else; its dtype may be bytes");
    out = Tensor{place.made, place.at, spec.dtype, {static_cast<int64_t>(size)}, nullptr};
    return {};
  }
  if (spec.dtype == DType::str && utf8_prefix(value.text) < value.text.size())
    return corrupt("wants UTF-8, got something else; its dtype may be bytes");
  const auto offset =
      static_cast<size_t>(value.text.data() - reinterpret_cast<const char*>(place.line->data()));
  out = Tensor{place.line, offset, spec.dtype, {static_cast<int64_t>(value.text.size())}, nullptr};
  return {};
}

}  // namespace

size_t made_bytes(const JsonSpan& value, const TensorSpec& spec) {
  if (is_text(spec.dtype)) return value.type == JsonType::text && value.has_escapes ? value.text.size() : 0;
  return value.type == JsonType::list ? value.count * size_of(spec.dtype) : size_of(spec.dtype);
}

Status make_value(const JsonSpan& value, const TensorSpec& spec, const JsonPlace& place, Tensor& out) {
  if (is_text(spec.dtype)) return make_text(value, spec, place, out);
  if (spec.shape.rank() > 0 && value.type == JsonType::list) return make_list(value, spec, place, out);
  const bool is_number = value.type == JsonType::integer || value.type == JsonType::real ||
                         value.type == JsonType::boolean ||
                         (value.type == JsonType::text && !value.has_escapes);
  if (spec.shape.rank() > 0 || !is_number ||
      !number_at(value.text, spec.dtype, place.made->mutable_data() + place.at))
    return unlike(spec, shown(value));
  out = Tensor{place.made, place.at, spec.dtype, Shape(), nullptr};
  return {};
}

}  // namespace headrace
