// What the footer's key-value metadata adds to columns: the sizes of fixed-length lists, from Arrow's
// schema, and which integers are durations; Parquet has neither. Damage of such a key is not an error: rows
// can be read without it.
#pragma once
#include "headrace/formats/parquet/schema.h"

namespace headrace::parquet {

inline constexpr char kArrowSchemaKey[] = "ARROW:schema";
inline constexpr char kAboutKey[] = "headrace";

// Nested lists that have no hint are refused.
void apply_hints(const Footer& footer, std::vector<Column>& columns);

}  // namespace headrace::parquet
