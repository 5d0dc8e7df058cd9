// Any bytes as a list of shards (WebDataset's wids) and as MXNet's .lst and .idx beside a RecordIO file:
// names without NUL that do not leave the list's folder upwards by accident, or an error; what is opened can
// be read.
#include <cstdlib>

#include "fuzz/read_rows.h"
#include "headrace/formats/opening/shard_list.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  MemoryStore store;
  store.add("d/list.json", bytes);
  store.add("d/a.tar", std::string(1024, '\0'));
  const auto listed = listed_shards(store, "d/list.json");
  if (listed.ok() && *listed)
    for (const std::string& name : **listed)
      if (name.empty() || name.find('\0') != std::string::npos) std::abort();
  if (const auto source = open_source(store, "d/list.json"); source.ok()) read_rows(store, **source);
  // One record of four bytes, framed.
  const std::string record(
      "\x0a\x23\xd7\xce\x04\x00\x00\x00"
      "abcd",
      12);
  store.add("m/x.rec", record + record);
  store.add("m/x.idx", bytes);
  store.add("m/x.lst", bytes);
  if (const auto source = open_source(store, "m/x.rec", "recordio"); source.ok()) read_rows(store, **source);
  if (const auto source = open_source(store, "m/x.lst", "file_list"); source.ok()) read_rows(store, **source);
  return 0;
}
