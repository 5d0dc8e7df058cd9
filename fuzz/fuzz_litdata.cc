// Any bytes as a LitData chunk, with leaves of every format; any bytes as its index.json.
#include "fuzz/read_rows.h"
#include "headrace/formats/litdata/testing.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  MemoryStore store;
  store.add("d/c.bin", bytes);
  const auto read = [&](const std::string& index) {
    store.add("d/index.json", index);
    const auto source = open_source(store, "d", "litdata");
    if (source.ok()) read_rows(store, **source);
  };
  read(bytes);
  constexpr const char* kFormats[] = {"tensor", "numpy", "pil", "no_header_tensor:2", "str", "int", "bool"};
  read(litdata_index({{"c.bin", data[0]}}, {kFormats[data[1] % 7], "bytes"}, litdata_dict({"a", "b"})));
  return 0;
}
