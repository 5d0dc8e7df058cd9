// Any bytes as an IDX file, plain or gzip, alone and as images with themselves as labels: rows whose fields
// match the schema, or an error.
#include <cstdlib>

#include "fuzz/read_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  store.add("x", std::string(reinterpret_cast<const char*>(data), size));
  for (const bool labelled : {false, true}) {
    Value options{Value::Object()};
    if (labelled) options.set("labels", "x");
    const auto source = open_source(store, "x", "idx", options);
    if (source.ok())
      read_rows(store, **source);
    else if (source.status().text().empty())
      std::abort();
  }
  return 0;
}
