// Logical types of numbers, as Arrow spells them: "timestamp[us, tz=UTC]", "date32[day]", "decimal128(9, 2)";
// "" is a plain number. Which type can hold the values of two others, and how they are converted. Pure; any
// thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/core/dtype.h"

namespace headrace {

// A column of nothing but nulls, as Arrow types it where a file has no value. Any other type holds its
// values.
inline constexpr std::string_view kNullType = "null";

// The type that holds the values of both without loss: of two units the finer one. Nothing if there is none,
// as for a timestamp and a plain number, or for timestamps of which only one has a time zone.
std::optional<std::string> common_type(std::string_view a, std::string_view b);

// The dtype that holds all numbers of both: the wider one of two kinds of integers or of floats. Nothing for
// an integer and a float, for uint64 and a signed integer, and where one is no number.
std::optional<DType> common_dtype(DType a, DType b);

// The factor that turns values of type `from` into those of `to`. REQUIRES: common_type(from, to) == to.
int64_t factor_between(std::string_view from, std::string_view to);

// "timestamp[us]", or "a plain number".
std::string type_text(std::string_view type);

}  // namespace headrace
