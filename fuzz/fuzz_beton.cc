// Any bytes as a .beton: fields match the schema, or there is an error.
#include "fuzz/read_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  store.add("x", std::string(reinterpret_cast<const char*>(data), size));
  const auto source = open_source(store, "x", "beton");
  if (source.ok()) read_rows(store, **source);
  return 0;
}
