// Collects the chunks of an index into a dataset. Shared by the reads of that index.
#pragma once
#include <memory>

#include "headrace/formats/hdf5/structures/contents.h"
#include "headrace/formats/hdf5/structures/object_header.h"

namespace headrace::hdf5 {

struct FoundChunks {
  FoundChunks(Fetches& all, Fetches::Owner whose, Place where, Dataset* into,
              std::function<Status()> then_do);

  // A chunk at these coordinates, counted in chunks; ignored beyond the dataset's end.
  void add(std::span<const uint64_t> at, uint64_t address, uint64_t size, uint32_t mask);
  // The i-th chunk of the maximal dataset, with dimension `first` varying slowest.
  void add_nth(uint64_t i, size_t first, uint64_t address, uint64_t size, uint32_t mask);
  // An entry of such an array: an address, and the stored size and mask where `entry` has more bytes.
  Status add_entry(Cursor& cursor, uint64_t i, size_t first, uint64_t entry);

  // `then` is called with each read's bytes. After the last of them the chunks are sorted and `then_do` is
  // called.
  void read(uint64_t address, uint64_t length, std::function<Status(std::span<const std::byte>)> then);
  Status end_if_done();

  size_t rank() const { return dataset->dims.size(); }

  Fetches& fetches;
  Fetches::Owner owner;
  Place place;
  Dataset* dataset;
  std::vector<uint64_t> counts, most;  // number of chunks in each dimension: now, and at most

 private:
  std::function<Status()> then_;
  size_t waiting_ = 0;
};
using FoundChunksPtr = std::shared_ptr<FoundChunks>;

// The two indexes that are arrays of chunks (array_index.cc).
void read_fixed_array(const FoundChunksPtr& found, uint64_t address);
void read_extensible_array(const FoundChunksPtr& found, uint64_t address);

}  // namespace headrace::hdf5
