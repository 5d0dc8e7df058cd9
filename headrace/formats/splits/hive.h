// Folders of data whose names are values of columns, "year=2024/label=cat/part-0.parquet", as Hive, Spark,
// pyarrow, Ray and Polars write them. Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/splits/constant_fields.h"
#include "headrace/io/store.h"

namespace headrace {

struct HivePartition {
  std::vector<ConstantField> values;  // one per key
  std::vector<std::string> files;     // relative to the root
};
// All partitions, sorted by path; nothing if there is none, or a data file lies in none. Values of a key are
// int64 if all of them are whole numbers, else strings. The error names a partition that has no value, or
// other keys than the first. `copies`: those of files, left out.
Result<std::vector<HivePartition>> hive_partitions(const Listing& listing, std::vector<std::string>& copies);
// The keys of the path of one file, "year", "label"; for a note that they are not read.
std::vector<std::string> hive_keys(std::string_view path);

}  // namespace headrace
