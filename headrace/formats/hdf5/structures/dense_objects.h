// Messages that are too many for an object header, from their fractal heap.
#pragma once
#include <functional>

#include "headrace/formats/hdf5/structures/object_header.h"

namespace headrace::hdf5 {

enum class Dense : uint8_t { links = 5, attributes = 8 };  // the type of the B-tree of their names
using WithObject = std::function<Status(Cursor message)>;
void read_dense_objects(Fetches& fetches, Fetches::Owner owner, Place place, uint64_t heap, uint64_t names,
                        Dense kind, WithObject then);

}  // namespace headrace::hdf5
