// Values as they are stored, made into values as they are served. Pure; any thread.
#pragma once
#include "headrace/formats/parquet/encodings.h"
#include "headrace/formats/parquet/schema.h"

namespace headrace::parquet {

// `stored`: values of one size, one behind the other. REQUIRES: `out` has room for as many.
void change_values(const Column& column, Span stored, std::byte* out);
// What INT96 becomes that is no time of i64 nanoseconds since 1970, the years 1677 to 2262.
inline constexpr int64_t kTooEarly = INT64_MIN, kTooLate = INT64_MAX;
// A decimal of free length, big end first. An error where it has not 1 to 16 bytes.
Result<double> read_decimal(Span bytes, int32_t scale);

}  // namespace headrace::parquet
