// Any bytes as an .npz file: rows whose fields match the schema, or an error.
#include <cstdlib>

#include "fuzz/read_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  store.add("x.npz", std::string(reinterpret_cast<const char*>(data), size));
  const auto source = open_source(store, "x.npz", "npz");
  if (source.ok())
    read_rows(store, **source);
  else if (source.status().text().empty())
    std::abort();
  return 0;
}
