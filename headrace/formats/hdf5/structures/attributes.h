// The attributes of a dataset or a group: numbers and strings, in messages of its header or in a fractal
// heap.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "headrace/formats/hdf5/structures/global_heap.h"
#include "headrace/formats/hdf5/structures/object_header.h"
#include "headrace/formats/meaning/attributes.h"

namespace headrace::hdf5 {

struct AttributeMessage {
  Attribute attribute;
  std::vector<Reference> strings = {};  // of variable length: where they are; `attribute` has none then
};
// Nothing for values of other types (references, compounds …). Pure; accepts any bytes.
std::optional<AttributeMessage> read_attribute(Cursor cursor);

using WithAttribute = std::function<void(Attribute)>;
struct AttributeReads {
  Fetches& fetches;
  Fetches::Owner owner;  // fails if some attributes cannot be read
  Place place;
  uint64_t* bytes_left;  // of heaps that may be read for strings of variable length
};
// Calls `then` with each attribute. One of another type is left out.
void read_attributes(AttributeReads reads, const std::vector<Message>& messages, const WithAttribute& then);
// Whether read_attributes() would read anything.
bool has_attributes(const std::vector<Message>& messages);

}  // namespace headrace::hdf5
