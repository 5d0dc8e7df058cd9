// A collection of a global heap: where the runs and texts lie that references name. Pure; any bytes may be
// given.
//
//   "GCOL", u8 version 1, 3 bytes, length of the collection, then objects:
//   u16 index, u16 references to it, u32, length, bytes padded to a multiple of 8; index 0 is free space to
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

// What a reference names: so many values of object `index` of the collection at `address`.
struct Reference {
  uint64_t count = 0, address = 0;
  uint32_t index = 0;
};
Reference read_reference(const std::byte* bytes, int address_bytes);

// Bytes of the head of a collection, and of each object.
uint64_t heap_head(Sizes sizes);
// Where an object's bytes are when its head is at `offset` and says that it is object `index` of at least so
// many bytes.
std::optional<HeapObject> object_at(std::span<const std::byte> bytes, uint64_t offset, uint32_t index,
                                    uint64_t least, Sizes sizes);

// Fills Leaf::places of all datasets whose rows are kept: collections hold their objects one behind the other
// in the order of their indexes, unless some were deleted.
void find_places(Contents& contents);

class HeapCollection {
 public:
  // `bytes`: a beginning of the collection, or all of it.
  static Result<HeapCollection> read(std::span<const std::byte> bytes, Sizes sizes);
  // How large a beginning is likely to hold all of an object of so many bytes that is the only one, or one of
  // few.
  static uint64_t guess(uint64_t object_bytes, Sizes sizes);

  uint64_t size() const { return size_; }  // as its head says: any number
  // The object whose bytes all are in what was read.
  const HeapObject* find(uint32_t index) const;

 private:
  uint64_t size_ = 0;
  std::vector<HeapObject> objects_;
};

}  // namespace headrace::hdf5
