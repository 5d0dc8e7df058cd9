// Boxes of an array: a chunk of it, or some of its rows; and what the two share. Pure; any thread.
#pragma once
#include <span>
#include <string>

#include "headrace/formats/zarr/codecs.h"

namespace headrace::zarr {

struct Box {
  Dims origin, size;
};

// The fill value in all of `out`, which holds whole elements.
void fill_elements(const std::string& fill, std::span<std::byte> out);

// What `cell` has of `target`: from `plain`, whose elements lie as `strides` says, to `out`, all of the
// target in row-major order.
void place_cell(const Box& cell, const Dims& strides, const Box& target, uint64_t element_bytes,
                std::span<const std::byte> plain, std::byte* out);

}  // namespace headrace::zarr
