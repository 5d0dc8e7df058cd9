// Any bytes as a file of records of some length, plain or deflated: each is read and has this length, or
// there is an error. The first bytes are the sizes.
#include "fuzz/read_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kSizes = 3;
  if (size < kSizes) return 0;
  MemoryStore store;
  store.add("x", std::string(reinterpret_cast<const char*>(data + kSizes), size - kSizes));
  for (const char* compression : {"none", "gzip"}) {
    Value options;
    options.set("record_bytes", data[0] + 1), options.set("header_bytes", int{data[1]});
    options.set("footer_bytes", int{data[2]}), options.set("compression", compression);
    const auto source = open_source(store, "x", "fixed", options);
    if (!source.ok()) continue;
    read_rows(store, **source);
    if ((*source)->size() == 0) continue;
    const auto fields = read_sample(**source, 0, store);
    if (fields.ok() && (*fields)[0].view().size_bytes() != data[0] + 1u) std::abort();
  }
  return 0;
}
