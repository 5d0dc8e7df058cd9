// Restores rows of PNG pixels from filtered ones: for codecs/png/direct_rows.cc. Free functions on borrowed
// memory, any thread. The filters: PNG specification (ISO/IEC 15948), clause 9.
#pragma once
#include <cstddef>
#include <cstdint>

namespace headrace::kernels {

enum class RowFilter : uint8_t { none, sub, up, average, paeth };

// `size` bytes, `pixel` of them a pixel: 1, 2, 3, 4, 6 or 8. `above` is the row before, zeros for the first
// one. `out` must not be one of the others. REQUIRES: size is a multiple of pixel.
void unfilter(RowFilter filter, const uint8_t* in, const uint8_t* above, size_t size, size_t pixel,
              uint8_t* out);
void unfilter_scalar(RowFilter filter, const uint8_t* in, const uint8_t* above, size_t size, size_t pixel,
                     uint8_t* out);

}  // namespace headrace::kernels
