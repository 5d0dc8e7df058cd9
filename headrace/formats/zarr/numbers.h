// Numbers of a chunk: byte swapping, and undoing filters. Pure; accepts any bytes; any thread.
#pragma once
#include <span>

#include "headrace/formats/zarr/codecs.h"

namespace headrace::zarr {

// Swaps elements of 2, 4 or 8 bytes; others are unchanged.
void swap_elements(std::span<std::byte> bytes, size_t each);

// REQUIRES: `in` has `count` elements of filter.stored, and `out` has room for `count` of filter.plain.
void undo_filter(const NumberFilter& filter, const std::byte* in, size_t count, std::byte* out);

}  // namespace headrace::zarr
