// Any bytes as the data of a Riegeli chunk, as a chunk with its header, and as snappy data; hashes are
// recomputed to match.
#include <vector>

#include "fuzz/read_rows.h"
#include "headrace/codecs/packed/unpack.h"
#include "headrace/formats/array_record/testing.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 4096) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  std::vector<std::byte> out(size_t{data[1]} * 4);
  (void)unpack_snappy(text_bytes(bytes), out);
  const std::string chunk = riegeli_chunk_bytes('r', data[0], data[1], bytes);
  for (const std::string& file :
       {array_record_file({{chunk, data[0]}}), array_record_file({{bytes, data[0]}})}) {
    MemoryStore store;
    store.add("x", file);
    const auto source = open_source(store, "x", "array_record");
    if (source.ok()) read_rows(store, **source);
  }
  return 0;
}
