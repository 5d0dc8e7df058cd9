// Numbers of a chunk: their other byte order, and the filters they went through. Pure; any bytes may be
// given; any thread.
#pragma once
#include <span>

#include "headrace/formats/zarr/codecs.h"

namespace headrace::zarr {

// Of elements of 2, 4 or 8 bytes; others stay.
void swap_elements(std::span<std::byte> bytes, size_t each);

// REQUIRES: `in` holds `count` of what the filter stores, and `out` has room for as many of what it is given.
void undo_filter(const NumberFilter& filter, const std::byte* in, size_t count, std::byte* out);

}  // namespace headrace::zarr
