#include "headrace/formats/csv/values.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include "headrace/core/value.h"

namespace headrace {
namespace {

std::string_view without_blanks(std::string_view field) {
  const size_t first = field.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return field.substr(first, field.find_last_not_of(" \t") + 1 - first);
}

// Parses all of the text as a number, which may have a plus sign.
template <class T> std::errc parse_all(std::string_view text, T& out) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, out);
  if (error == std::errc::invalid_argument || next != end || text.empty()) return std::errc::invalid_argument;
  return error;
}

// The value of a number that is too large or too small for T: infinity or zero, with its sign.
template <class T> T beyond(std::string_view text) {
  long double wide = 0;
  T out = 0;
  if (parse_all(text, wide) == std::errc()) {
    out = static_cast<T>(wide);
  } else {
    const size_t exponent = text.find_first_of("eE");
    const bool is_small = exponent == std::string_view::npos
                              ? text.find_first_of("123456789") > text.find('.')
                              : text.substr(exponent + 1).starts_with('-');
    out = is_small ? T{0} : std::numeric_limits<T>::infinity();
    if (text.starts_with('-')) out = -out;
  }
  return out;
}

template <class T> bool parse_float(std::string_view text, T& out) {
  const std::errc error = parse_all(text, out);
  if (error == std::errc::result_out_of_range) out = beyond<T>(text);
  return error != std::errc::invalid_argument;
}

template <class T> bool store(T value, std::byte* out) {
  std::memcpy(out, &value, sizeof value);
  return true;
}

bool parse_bool(std::string_view text, std::byte* out) {
  const bool is_true = text == "1" || text == "true" || text == "True" || text == "TRUE";
  if (!is_true && text != "0" && text != "false" && text != "False" && text != "FALSE") return false;
  return store(is_true, out);
}

bool is_whole_number(std::string_view text) {
  return text.find_first_not_of("+-0123456789") == std::string_view::npos;
}

// "01234": a postal code or an id, which would be another string as a number. The same rule as for partitions
// (splits/hive.cc).
bool has_leading_zero(std::string_view whole) {
  if (whole.starts_with('+') || whole.starts_with('-')) whole.remove_prefix(1);
  return whole.size() > 1 && whole[0] == '0';
}

}  // namespace

void ColumnKind::see(std::string_view field, uint64_t line) {
  if (counts.is_of_texts) return;
  const std::string_view shown = without_blanks(field);
  int64_t whole = 0;
  double value = 0;  // an integer that does not fit int64 stays text: a float would round it
  if (parse_all(shown, whole) == std::errc()) {
    has_leading_zero(shown) ? counts.see_text(field, line) : counts.see_number();
  } else if (!is_whole_number(shown) && parse_float(shown, value)) {
    counts.see_number(), is_integer = false;
  } else {
    counts.see_text(field, line);
  }
}

void ColumnKind::merge(const ColumnKind& later, const std::string& path_of_later) {
  counts.merge(later.counts, path_of_later);
  is_integer = is_integer && later.is_integer;
}

DType ColumnKind::dtype() const {
  return counts.num_texts > 0 || counts.num_numbers == 0 ? DType::str : dtype_of_numbers();
}

namespace {

template <class T> bool parse_short(std::string_view field, std::byte* out) {
  const char* const end = field.data() + field.size();
  T value = 0;
  const auto [next, error] = std::from_chars(field.data(), end, value);
  return error == std::errc() && next == end && store(value, out);
}

}  // namespace

ParsePlain parse_plain(DType dtype) {
  if (is_text(dtype)) return nullptr;
  return visit_dtype(dtype, []<class T>() -> ParsePlain {
    if constexpr (std::same_as<T, half_t> || std::same_as<T, bfloat_t> || std::same_as<T, bool>)
      return nullptr;
    else
      return parse_short<T>;
  });
}

bool parse_number(std::string_view field, DType dtype, std::byte* out) {
  const std::string_view text = without_blanks(field);
  if (dtype == DType::boolean) return parse_bool(text, out);
  return visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::same_as<T, half_t> || std::same_as<T, bfloat_t>) {
      float value = 0;
      if (!parse_float(text, value)) return false;
      return store(std::same_as<T, half_t> ? f32_to_f16(value) : f32_to_bf16(value), out);
    } else if constexpr (std::floating_point<T>) {
      T value = 0;
      return parse_float(text, value) && store(value, out);
    } else if constexpr (std::same_as<T, bool>) {
      return false;
    } else {
      T value = 0;
      return parse_all(text, value) == std::errc() && store(value, out);
    }
  });
}

namespace {

// "1152921504606847000" of 2^60. REQUIRES: a whole number.
std::string fewest_digits(double value) {
  char text[32];
  const char* const end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  std::string out(static_cast<const char*>(text), end);  // "1.152921504606847e+18"
  const size_t mark = out.find('e');
  size_t exponent = 0;
  std::from_chars(text + mark + 2, end, exponent);
  out.resize(mark);
  std::erase(out, '.');
  out.resize(exponent + 1, '0');
  return out;
}

std::string all_digits(double value) {
  char text[512];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 0).ptr};
}

}  // namespace

bool float64_holds(std::string_view field) {
  constexpr size_t kAlways = 15;  // digits
  if (field.size() <= kAlways) return true;
  std::string_view digits = without_blanks(field);
  if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.size() <= kAlways || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return true;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && (all_digits(value) == digits || fewest_digits(value) == digits);
}

std::string how_to_read_rounded(std::string_view column) {
  const std::string name = Value(std::string(column)).dump();
  return ", which float64 would round; dtypes={" + name + ": \"str\"} keeps all digits, and dtypes={" + name +
         ": \"float64\"} rounds";
}

}  // namespace headrace
