// A collection of a global heap, which holds the sequences and strings of references. Pure; accepts any
// bytes.
//
//   "GCOL", u8 version 1, 3 bytes, length of the collection, then objects:
//   u16 index, u16 reference count, u32, length, bytes padded to a multiple of 8; index 0 is free space to
//   the end
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "headrace/formats/hdf5/structures/contents.h"

namespace headrace::hdf5 {

inline constexpr uint64_t kLeastCollection = 4096;

struct HeapObject {
  uint32_t index = 0;
  uint64_t offset = 0, length = 0;  // of its bytes, from the collection's beginning
};

// A reference to `count` values in object `index` of the collection at `address`.
struct Reference {
  uint64_t count = 0, address = 0;
  uint32_t index = 0;
};
Reference read_reference(const std::byte* bytes, int address_bytes);

// Bytes of the header of a collection, and of each object.
uint64_t heap_head(Sizes sizes);
// The object whose header is at `offset`, if it has this `index` and at least `least` bytes.
std::optional<HeapObject> object_at(std::span<const std::byte> bytes, uint64_t offset, uint32_t index,
                                    uint64_t least, Sizes sizes);

// Fills Leaf::places of all datasets whose rows are kept: objects of a collection are contiguous, in the
// order of their indexes, unless some were deleted.
void find_places(Contents& contents);

class HeapCollection {
 public:
  // `bytes`: the beginning of the collection, or all of it.
  static Result<HeapCollection> read(std::span<const std::byte> bytes, Sizes sizes);
  // How much of the beginning is likely to hold an object of this size that is the only one, or one of few.
  static uint64_t guess(uint64_t object_bytes, Sizes sizes);

  uint64_t size() const { return size_; }  // as stated in its header, unchecked
  // The object, if all of its bytes were read.
  const HeapObject* find(uint32_t index) const;

 private:
  uint64_t size_ = 0;
  std::vector<HeapObject> objects_;
};

}  // namespace headrace::hdf5
