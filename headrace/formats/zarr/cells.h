// Boxes of an array: a chunk, or some rows; and their intersection. Pure; any thread.
#pragma once
#include <span>
#include <string>

#include "headrace/formats/zarr/codecs.h"

namespace headrace::zarr {

struct Box {
  Dims origin, size;
};

// Fills `out`, which holds whole elements, with the fill value.
void fill_elements(const std::string& fill, std::span<std::byte> out);

// Copies the part of `target` that is in `cell`, from `plain`, with elements at `strides`, to `out`, which
// holds all of the target in row-major order.
void place_cell(const Box& cell, const Dims& strides, const Box& target, uint64_t element_bytes,
                std::span<const std::byte> plain, std::byte* out);

}  // namespace headrace::zarr
