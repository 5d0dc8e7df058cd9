// Finds the chunks of a dataset in any of HDF5's chunk indexes.
#pragma once
#include "headrace/formats/hdf5/structures/messages.h"
#include "headrace/formats/hdf5/structures/object_header.h"

namespace headrace::hdf5 {

// Fills dataset.chunks, sorted, then calls `then`. REQUIRES: `dataset`, checked, outlives the fetches.
void find_chunks(Fetches& fetches, Fetches::Owner owner, Place place, const ChunkPlace& index,
                 Dataset* dataset, std::function<Status()> then);

}  // namespace headrace::hdf5
