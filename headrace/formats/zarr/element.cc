#include "headrace/formats/zarr/element.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "headrace/core/text/base64.h"
#include "headrace/core/text/text.h"

namespace headrace::zarr {
namespace {

constexpr uint64_t kMostText = uint64_t{1} << 30;  // bytes of a padded string

struct NamedType {
  std::string_view v2, v3;
  DType dtype;
};
constexpr NamedType kTypes[] = {
    {"b1", "bool", DType::boolean}, {"u1", "uint8", DType::u8},    {"u2", "uint16", DType::u16},
    {"u4", "uint32", DType::u32},   {"u8", "uint64", DType::u64},  {"i1", "int8", DType::i8},
    {"i2", "int16", DType::i16},    {"i4", "int32", DType::i32},   {"i8", "int64", DType::i64},
    {"f2", "float16", DType::f16},  {"f4", "float32", DType::f32}, {"f8", "float64", DType::f64},
    {"", "bfloat16", DType::bf16}};

Status refused_type(const Value& type, std::string_view hint = "") {
  std::string name = type.dump();
  if (name.size() > 80) name.resize(80);
  return {Code::unavailable,
          Mismatch{.expected = "an array of numbers, bools or strings", .got = name + std::string(hint)}};
}

Result<Element> padded(Form form, uint64_t bytes, bool is_big_endian) {
  if (bytes == 0) return corrupt({.expected = "strings of at least one byte", .got = "a length of 0"});
  if (bytes > kMostText) return Status(Code::exhausted, "expected strings of at most 1 GiB");
  return Element{form, form == Form::utf32 ? DType::str : DType::bytes, bytes, is_big_endian};
}

// A fill value of type T from a JSON number, bool or word ("NaN").
template <class T> Result<T> number_of(const Value& fill) {
  const auto refused = [&] {
    return corrupt({.expected = "a fill_value of its data type", .got = fill.dump().substr(0, 80)});
  };
  if constexpr (std::is_same_v<T, bool>) {
    if (const bool* b = fill.boolean()) return *b;
    if (const int64_t* i = fill.integer()) return *i != 0;
    return refused();
  } else if constexpr (std::is_integral_v<T>) {
    if (const double* d = fill.real(); d && std::trunc(*d) == *d && std::abs(*d) < 9e15)
      return number_of<T>(Value(static_cast<int64_t>(*d)));
    if (const bool* b = fill.boolean()) return static_cast<T>(*b);
    const int64_t* i = fill.integer();
    if (!i) return refused();
    if constexpr (sizeof(T) == 8) return static_cast<T>(*i);  // above 2^63 the value has wrapped
    if (*i < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
        *i > static_cast<int64_t>(std::numeric_limits<T>::max()))
      return refused();
    return static_cast<T>(*i);
  } else {
    double value = 0;
    if (const double* d = fill.real())
      value = *d;
    else if (const int64_t* i = fill.integer())
      value = static_cast<double>(*i);
    else if (const std::string* word = fill.text(); word && *word == "NaN")
      value = std::numeric_limits<double>::quiet_NaN();
    else if (word && (*word == "Infinity" || *word == "-Infinity"))
      value = word->starts_with('-') ? -HUGE_VAL : HUGE_VAL;
    else
      return refused();
    if constexpr (std::is_same_v<T, half_t>)
      return half_t{f32_to_f16(static_cast<float>(value))};
    else if constexpr (std::is_same_v<T, bfloat_t>)
      return bfloat_t{f32_to_bf16(static_cast<float>(value))};
    else
      return static_cast<T>(value);
  }
}

// "0x7fc00000": the bits of a float, most significant digit first.
std::optional<std::string> from_hex(std::string_view text, size_t bytes) {
  if (!text.starts_with("0x") || text.size() != 2 + 2 * bytes) return std::nullopt;
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(&bits), bytes);
}

Result<std::string> text_fill(const Element& element, const Value& fill) {
  if (fill.is_null() || (fill.integer() && *fill.integer() == 0)) return std::string();
  const std::string* text = fill.text();
  if (text && element.dtype == DType::str) return *text;
  std::string bytes;
  if (const Value::List* list = fill.list()) {
    for (const Value& byte : *list) {
      if (!byte.integer() || *byte.integer() < 0 || *byte.integer() > 255)
        return corrupt({.expected = "a fill_value of bytes", .got = byte.dump().substr(0, 80)});
      bytes += static_cast<char>(*byte.integer());
    }
  } else if (text) {
    const auto decoded = from_base64(*text);
    if (!decoded)
      return corrupt({.expected = "a fill_value in base64", .got = "'" + text->substr(0, 80) + "'"});
    bytes = *decoded;
  } else {
    return corrupt({.expected = "a fill_value of its data type", .got = fill.dump().substr(0, 80)});
  }
  if (element.form == Form::padded_bytes) bytes.resize(bytes.find_last_not_of('\0') + 1);
  return bytes;
}

void append_utf8(uint32_t point, std::string& out) {
  const auto put = [&](uint32_t bits) { out += static_cast<char>(bits); };
  if (point < 0x80) return put(point);
  if (point < 0x800) return put(0xc0 | point >> 6), put(0x80 | (point & 63));
  if (point < 0x10000)
    return put(0xe0 | point >> 12), put(0x80 | (point >> 6 & 63)), put(0x80 | (point & 63));
  put(0xf0 | point >> 18), put(0x80 | (point >> 12 & 63)), put(0x80 | (point >> 6 & 63)),
      put(0x80 | (point & 63));
}

}  // namespace

Result<Element> element_of_v2(const Value& dtype, const DType* objects) {
  const std::string* text = dtype.text();
  if (!text) return refused_type(dtype, " (records); write each of their fields as an array");
  const std::string_view name = *text;
  if (name.size() < 2 || std::string_view("<>|").find(name[0]) == std::string_view::npos)
    return refused_type(dtype);
  const bool is_big_endian = name[0] == '>';
  if (name.substr(1) == "O") {
    if (!objects)
      return refused_type(dtype, " (objects); of these, only vlen-utf8 and vlen-bytes are supported");
    return Element{Form::runs, *objects, 0, false};
  }
  if (name[1] == 'S' || name[1] == 'U') {
    uint64_t length = 0;
    const auto [end, error] = std::from_chars(name.data() + 2, name.data() + name.size(), length);
    if (error != std::errc() || end != name.data() + name.size() || length > kMostText)
      return refused_type(dtype);
    return name[1] == 'S' ? padded(Form::padded_bytes, length, false)
                          : padded(Form::utf32, 4 * length, is_big_endian);
  }
  for (const NamedType& type : kTypes)
    if (!type.v2.empty() && name.substr(1) == type.v2)
      return Element{Form::numbers, type.dtype, size_of(type.dtype), is_big_endian};
  const char kind = name[1];
  return refused_type(dtype, kind == 'M' || kind == 'm' ? "; write x.view('i8') instead"
                             : kind == 'c' ? "; write x.view(x.real.dtype) instead, with two numbers for each"
                                           : "");
}

Result<Element> element_of_v3(const Value& data_type) {
  const Value* inner = data_type.find("name");
  const std::string* text = data_type.text() ? data_type.text() : inner ? inner->text() : nullptr;
  if (!text) return refused_type(data_type);
  for (const NamedType& type : kTypes)
    if (*text == type.v3) return Element{Form::numbers, type.dtype, size_of(type.dtype), false};
  if (*text == "string") return Element{Form::runs, DType::str, 0, false};
  if (*text == "bytes" || *text == "variable_length_bytes")
    return Element{Form::runs, DType::bytes, 0, false};
  const bool is_utf32 = *text == "fixed_length_utf32";
  if (is_utf32 || *text == "null_terminated_bytes") {
    const Value* configuration = data_type.find("configuration");
    const Value* length = configuration ? configuration->find("length_bytes") : nullptr;
    if (!length || !length->integer() || *length->integer() < 0 || (is_utf32 && *length->integer() % 4 != 0))
      return corrupt("expected a length_bytes for " + *text);
    return padded(is_utf32 ? Form::utf32 : Form::padded_bytes, static_cast<uint64_t>(*length->integer()),
                  false);
  }
  return refused_type(data_type);
}

Result<std::string> fill_of(const Element& element, const Value& fill) {
  if (element.is_text()) return text_fill(element, fill);
  if (fill.is_null()) return std::string(element.bytes, '\0');
  if (const std::string* text = fill.text(); text && is_float(element.dtype))
    if (auto bits = from_hex(*text, element.bytes)) return *std::move(bits);
  return visit_dtype(element.dtype, [&]<class T>() -> Result<std::string> {
    HEADRACE_ASSIGN(const T value, number_of<T>(fill));
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  });
}

Status append_utf32(std::span<const std::byte> value, std::string& out) {
  size_t count = value.size() / 4;
  const auto point_at = [&](size_t i) {
    uint32_t point = 0;
    std::memcpy(&point, value.data() + 4 * i, 4);
    return point;
  };
  while (count > 0 && point_at(count - 1) == 0) --count;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t point = point_at(i);
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      return corrupt({.expected = "Unicode characters", .got = std::to_string(point)});
    append_utf8(point, out);
  }
  return {};
}

}  // namespace headrace::zarr
