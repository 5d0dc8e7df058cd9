// Converts stored values to the values that are read. Pure; any thread.
#pragma once
#include "headrace/formats/parquet/encodings.h"
#include "headrace/formats/parquet/schema.h"

namespace headrace::parquet {

// `stored`: values of one size, contiguous. REQUIRES: `out` has room for as many.
void change_values(const Column& column, Span stored, std::byte* out);
// What an INT96 time becomes that int64 nanoseconds since 1970, the years 1677 to 2262, cannot represent.
inline constexpr int64_t kTooEarly = INT64_MIN, kTooLate = INT64_MAX;
// A decimal of free length, big endian. An error unless it has 1 to 16 bytes.
Result<double> read_decimal(Span bytes, int32_t scale);

}  // namespace headrace::parquet
