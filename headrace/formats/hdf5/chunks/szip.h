// Decompresses szip: CCSDS 121.0, the extended Rice code, as HDF5's filter writes it. Pure; accepts any
// bytes.
#pragma once
#include <cstdint>
#include <span>

#include "headrace/core/status.h"

namespace headrace::hdf5 {

struct SzipOptions {
  bool is_big_endian = false;
  bool has_predictor = false;  // samples are differences to the previous one
  uint32_t block = 0;          // samples of a block: even, 2 to 32
  uint32_t bits = 0;           // of a sample: 1 to 24, 32 or 64
  uint32_t line = 0;           // samples after which the predictor restarts
};
// From the filter's four values in the file.
Result<SzipOptions> szip_options(std::span<const uint32_t> values);

// Decompresses one stream to exactly `out`.
Status unpack_szip(const SzipOptions& options, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace headrace::hdf5
