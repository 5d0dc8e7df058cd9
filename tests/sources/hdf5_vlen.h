// HDF5: datasets with one row per sample, read through the HDF5 library and without a file: a row is a Block.
//
// Served: variable-length rows of u8 (as bytes: encoded images), integers and floats of any fixed shape per
// row, contiguous or chunked, with the library's own filters. Refused: external links and storage, other
// filters and types.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace::trial {

struct Hdf5Options {
  std::vector<std::string> datasets;  // paths in the file, at least one
  uint64_t page = 64 << 10;           // bytes fetched at a time
};

Result<std::unique_ptr<Opening<SourcePtr>>> open_hdf5(SourceFile file, Hdf5Options options);

}  // namespace headrace::trial
