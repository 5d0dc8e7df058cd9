// Any bytes as a store of one array: its metadata up to a NUL, then a chunk that is stored under several
// keys. Rows match the schema, or there is an error.
#include <cstdlib>
#include <string_view>

#include "fuzz/read_rows.h"
#include "headrace/core/saturate.h"
#include "headrace/io/testing/memory_store.h"

namespace {

using namespace headrace;

// Bytes of a block: rows that were never written are cheap to request.
uint64_t block_bytes(const Source& source) {
  uint64_t begin = 0, end = source.size();
  while (begin < end) {  // the first row that is in another block
    const uint64_t middle = begin + (end - begin) / 2;
    if (source.place(middle).block == 0)
      begin = middle + 1;
    else
      end = middle;
  }
  const TensorSpec& spec = source.schema().specs[0];
  return saturating_mul(begin, is_text(spec.dtype) ? 64 : spec.size_bytes());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kMostBytes = 1 << 20;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view json = all.substr(0, all.find('\0'));
  const std::string chunk(all.substr(std::min(all.size(), json.size() + 1)));
  MemoryStore store;
  const bool is_new = json.find("node_type") != std::string_view::npos;
  store.add(is_new                                                ? "x/zarr.json"
            : json.find("\"metadata\"") != std::string_view::npos ? "x/.zmetadata"
                                                                  : "x/.zarray",
            std::string(json));
  for (const char* key :
       {"0", "1", "0.0", "0/0", "0.1", "c/0", "c/1", "c/0/0", "c/0/0/0", "a/0", "a/0.0", "a/c/0"})
    store.add("x/" + std::string(key), chunk);
  const auto source = open_source(store, "x", "zarr");
  if (!source.ok()) {
    if (source.status().text().empty()) std::abort();
    return 0;
  }
  if (block_bytes(**source) <= kMostBytes) read_rows(store, **source);
  return 0;
}
