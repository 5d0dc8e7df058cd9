#include "headrace/formats/parquet/changes.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "headrace/core/little_endian.h"

namespace headrace::parquet {
namespace {

constexpr int kExactPower = 22;  // largest power of ten that is exact in float64

std::string digits_of(unsigned __int128 value) {
  std::string out;
  for (; value != 0; value /= 10)
    out.insert(out.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  return out.empty() ? "0" : out;
}

// The float nearest to value / 10^scale. If both are exact, one division rounds once.
double to_float(__int128 value, int32_t scale) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr __int128 kExact = __int128{1} << 53;
  if (value <= kExact && value >= -kExact && scale <= kExactPower)
    return static_cast<double>(static_cast<int64_t>(value)) / kPowers[scale];
  const bool is_negative = value < 0;
  const auto magnitude =
      is_negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  const std::string text = digits_of(magnitude) + "e-" + std::to_string(scale);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return is_negative ? -out : out;
}

// REQUIRES: 1 to 16 bytes.
__int128 big_endian(Span bytes) {
  unsigned __int128 out =
      (std::to_integer<unsigned>(bytes[0]) & 0x80) ? ~static_cast<unsigned __int128>(0) : 0;
  for (const std::byte byte : bytes) out = out << 8 | std::to_integer<unsigned>(byte);
  return static_cast<__int128>(out);
}

template <class From, class To> void cast(Span stored, std::byte* out) {
  for (size_t i = 0; i < stored.size() / sizeof(From); ++i) {
    const auto value = static_cast<To>(load<From>(stored, i * sizeof(From)));
    std::memcpy(out + i * sizeof(To), &value, sizeof value);
  }
}

void from_i96(Span stored, std::byte* out) {
  constexpr __int128 kDay1970 = 2440588, kDay = __int128{86400} * 1'000'000'000;
  for (size_t i = 0; i < stored.size() / 12; ++i) {
    const __int128 day = load<int32_t>(stored, i * 12 + 8);
    const __int128 exact = (day - kDay1970) * kDay + load<int64_t>(stored, i * 12);
    const auto value = static_cast<int64_t>(std::clamp<__int128>(exact, kTooEarly, kTooLate));
    std::memcpy(out + i * 8, &value, sizeof value);
  }
}

void to_floats(const Column& column, Span stored, std::byte* out) {
  const size_t size = column.stored_size();
  for (size_t i = 0; i < stored.size() / size; ++i) {
    const std::byte* at = stored.data() + i * size;
    const __int128 value = column.physical == Physical::i32   ? load<int32_t>(at)
                           : column.physical == Physical::i64 ? load<int64_t>(at)
                                                              : big_endian({at, size});
    const double made = to_float(value, column.scale);
    std::memcpy(out + i * sizeof made, &made, sizeof made);
  }
}

}  // namespace

void change_values(const Column& column, Span stored, std::byte* out) {
  switch (column.change) {
    case Change::none:
      if (!stored.empty()) std::memcpy(out, stored.data(), stored.size());
      return;
    case Change::narrow:
      return size_of(column.dtype) == 1 ? cast<uint32_t, uint8_t>(stored, out)
                                        : cast<uint32_t, uint16_t>(stored, out);
    case Change::widen: return cast<int32_t, int64_t>(stored, out);
    case Change::from_i96: return from_i96(stored, out);
    case Change::to_float: return to_floats(column, stored, out);
    case Change::to_length: return;  // of strings, which have no fixed size
  }
}

Result<double> read_decimal(Span bytes, int32_t scale) {
  if (bytes.empty() || bytes.size() > 16)
    return corrupt(
        {.expected = "decimals of 1 to 16 bytes", .got = "one of " + std::to_string(bytes.size())});
  return to_float(big_endian(bytes), scale);
}

}  // namespace headrace::parquet
