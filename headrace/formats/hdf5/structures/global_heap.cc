#include "headrace/formats/hdf5/structures/global_heap.h"

#include <algorithm>

#include "headrace/core/saturate.h"

namespace headrace::hdf5 {

Reference read_reference(const std::byte* bytes, int address_bytes) {
  Cursor cursor({bytes, 8 + static_cast<size_t>(address_bytes)}, {address_bytes, 8});
  Reference out;
  out.count = cursor.u32(), out.address = cursor.address(), out.index = cursor.u32();
  return out;
}

uint64_t heap_head(Sizes sizes) { return (8 + static_cast<uint64_t>(sizes.length) + 7) / 8 * 8; }

std::optional<HeapObject> object_at(std::span<const std::byte> bytes, uint64_t offset, uint32_t index,
                                    uint64_t least, Sizes sizes) {
  const uint64_t head = heap_head(sizes);
  if (offset > bytes.size() || head > bytes.size() - offset) return std::nullopt;
  Cursor cursor(bytes.subspan(offset), sizes);
  const uint16_t stated = cursor.u16();
  cursor.skip(2 + 4);
  const uint64_t length = cursor.length();
  if (stated != index || length < least || least > bytes.size() - offset - head) return std::nullopt;
  return HeapObject{index, offset + head, length};
}

void find_places(Contents& contents) {
  struct Object {
    uint64_t address = 0;
    uint32_t index = 0, leaf = 0;
    uint64_t row = 0, bytes = 0;
    bool operator<(const Object& other) const {
      return std::pair(address, index) < std::pair(other.address, other.index);
    }
  };
  std::vector<Leaf*> leaves;
  std::vector<Object> objects;
  for (Dataset& dataset : contents.datasets) {
    if (!dataset.refusal.ok() || dataset.kept.empty() || !dataset.has_vlen()) continue;
    for (Leaf& leaf : dataset.leaves) {
      if (!leaf.is_vlen()) continue;
      const auto ordinal = static_cast<uint32_t>(leaves.size());
      leaves.push_back(&leaf);
      leaf.places.assign(dataset.rows(), 0);
      const auto* bytes = reinterpret_cast<const std::byte*>(dataset.kept.data()) + leaf.offset;
      for (uint64_t row = 0; row < dataset.rows(); ++row) {
        const Reference to = read_reference(bytes + row * dataset.row_bytes(), contents.address_bytes);
        if (to.count > 0)
          objects.push_back(
              {to.address, to.index, ordinal, row, saturating_mul(to.count, leaf.item_bytes())});
      }
    }
  }
  if (!std::is_sorted(objects.begin(), objects.end())) std::sort(objects.begin(), objects.end());
  const uint64_t head = heap_head({contents.address_bytes, contents.length_bytes});
  uint64_t at = 0;  // position of the next object; 0 if unknown
  for (size_t i = 0; i < objects.size(); ++i) {
    const Object& object = objects[i];
    const bool goes_on = i > 0 && objects[i - 1].address == object.address;
    if (!goes_on) at = object.index == 1 ? head : 0;
    if (goes_on && object.index != objects[i - 1].index + 1) at = 0;
    if (at == 0 || at > ~uint32_t{0}) continue;
    leaves[object.leaf]->places[object.row] = static_cast<uint32_t>(at);
    at = saturating_add(at, saturating_add(head, saturating_add(object.bytes, 7) / 8 * 8));
  }
}

uint64_t HeapCollection::guess(uint64_t object_bytes, Sizes sizes) {
  const auto length = static_cast<uint64_t>(sizes.length);
  return std::max(kLeastCollection, 8 + length + 8 + length + (object_bytes + 7) / 8 * 8);
}

Result<HeapCollection> HeapCollection::read(std::span<const std::byte> bytes, Sizes sizes) {
  Cursor cursor(bytes, sizes);
  const bool is_collection = cursor.signature("GCOL");
  const uint8_t version = cursor.u8();
  cursor.skip(3);
  HeapCollection out;
  out.size_ = cursor.length();
  HEADRACE_TRY(cursor.check("a global heap"));
  if (!is_collection || version != 1) return corrupt({.expected = "a global heap", .got = "other bytes"});
  const uint64_t end = std::min<uint64_t>(out.size_, bytes.size());
  const size_t head = 8 + static_cast<size_t>(sizes.length);
  cursor.align(8);
  while (cursor.ok() && cursor.position() + head <= end) {
    HeapObject object;
    object.index = cursor.u16();
    cursor.skip(2 + 4);
    object.length = cursor.length();
    cursor.align(8);
    object.offset = cursor.position();
    if (object.index == 0 || !cursor.ok() || object.offset > end || object.length > end - object.offset)
      break;
    out.objects_.push_back(object);
    cursor.skip(std::min<uint64_t>((object.length + 7) / 8 * 8, cursor.left()));
  }
  if (!std::ranges::is_sorted(out.objects_, {}, &HeapObject::index))
    std::ranges::stable_sort(out.objects_, {}, &HeapObject::index);
  return out;
}

const HeapObject* HeapCollection::find(uint32_t index) const {
  if (index == 0) return nullptr;
  // Unless some were deleted, the n-th has index n.
  if (index <= objects_.size() && objects_[index - 1].index == index) return &objects_[index - 1];
  const auto at = std::ranges::lower_bound(objects_, index, {}, &HeapObject::index);
  return at != objects_.end() && at->index == index ? &*at : nullptr;
}

}  // namespace headrace::hdf5
