// Any bytes as an HDF5 file, a collection of a global heap, and a filtered chunk: rows whose fields match the
// schema, objects inside their collection, a chunk of the right size, or an error.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "fuzz/read_rows.h"
#include "headrace/formats/hdf5/chunks/filters.h"
#include "headrace/formats/hdf5/structures/global_heap.h"
#include "headrace/io/testing/memory_store.h"

namespace {

using namespace headrace;

void read_file(std::span<const std::byte> bytes) {
  MemoryStore store;
  store.add("file", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  for (const char* field : {"image", "thumb", "class", ""}) {
    Value options{Value::Object()};
    if (*field) options.set("fields", Value::List{field});
    const auto source = open_source(store, "file", "hdf5", options);
    if (source.ok())
      read_rows(store, **source);
    else if (source.status().text().empty())
      std::abort();
  }
}

void read_heap(std::span<const std::byte> bytes) {
  const auto heap = hdf5::HeapCollection::read(bytes, {8, 8});
  if (!heap.ok()) return;
  for (uint32_t i = 0; i < 1000; ++i)
    if (const hdf5::HeapObject* object = heap->find(i))
      if (object->offset > bytes.size() || object->length > bytes.size() - object->offset) std::abort();
}

// The first bytes select the filters, the chunk's size and the skipped filters.
void read_chunk(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return;
  const auto at = [&](size_t i) { return std::to_integer<uint32_t>(bytes[i]); };
  constexpr uint16_t kIds[] = {1, 2, 3, 32000};
  hdf5::Dataset dataset;
  dataset.element = at(0) % 8 + 1, dataset.chunk = dataset.dims = {at(1) * 16};
  for (uint32_t code = at(2), i = 0; i < 4 && code > 0; ++i, code /= 4)
    dataset.filters.push_back({kIds[code % 4], {static_cast<uint32_t>(dataset.element)}});
  hdf5::Chunk chunk;
  chunk.mask = at(3) % 16;
  const auto stored = std::make_shared<BorrowedBuffer>(bytes.subspan(4), nullptr);
  const auto plain = hdf5::unfilter(dataset, chunk, stored);
  if (plain.ok() && (*plain)->size() != dataset.chunk_bytes()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  read_file(bytes);
  read_heap(bytes);
  read_chunk(bytes);
  return 0;
}
