// Any bytes as a text file, plain or deflated: a plain one has as many lines as line ends, and one more where
// the last has none. Each is read, or refused with an error.
#include <algorithm>

#include "fuzz/read_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  MemoryStore store;
  store.add("x", bytes);
  for (const char* encoding : {"utf-8", "bytes"})
    for (const char* compression : {"none", "gzip"}) {
      Value options;
      options.set("encoding", encoding), options.set("compression", compression);
      const auto source = open_source(store, "x", "text", options);
      if (!source.ok()) continue;
      read_rows(store, **source);
      if (options.find("encoding")->text()->front() == 'u' || *options.find("compression")->text() == "gzip")
        continue;
      const auto ends = static_cast<uint64_t>(std::ranges::count(bytes, '\n'));
      if ((*source)->size() != ends + (!bytes.empty() && bytes.back() != '\n' ? 1 : 0)) std::abort();
    }
  return 0;
}
