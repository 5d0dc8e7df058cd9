// What a footer's own keys say of its columns: Arrow's schema has the sizes of lists of one length, and which
// integers are durations; Parquet has neither. Damage of such a key is no error: rows can be read without it.
#pragma once
#include "headrace/formats/parquet/schema.h"

namespace headrace::parquet {

inline constexpr char kArrowSchemaKey[] = "ARROW:schema";
inline constexpr char kAboutKey[] = "headrace";

// Lists within lists that nothing is said of are refused.
void apply_hints(const Footer& footer, std::vector<Column>& columns);

}  // namespace headrace::parquet
