// Any bytes as an MDS shard, plain or compressed, with columns of every encoding; any bytes as its
// index.json.
#include "fuzz/read_rows.h"
#include "headrace/formats/mds/testing.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  MemoryStore store;
  store.add("d/s.mds", bytes);
  const auto read = [&](const std::string& index) {
    store.add("d/index.json", index);
    const auto source = open_source(store, "d", "mds");
    if (source.ok()) read_rows(store, **source);
  };
  read(bytes);
  const std::vector<MdsTestColumn> all[] = {
      {{"a", "ndarray"}, {"b", "str_int"}}, {{"a", "ndarray:int16"}, {"b", "ndarray:float32:2", 8}},
      {{"a", "pil"}, {"b", "int", 8}},      {{"a", "jpeg_array"}, {"b", "str_float"}},
      {{"a", "list[jpeg]"}, {"b", "json"}},
  };
  MdsTestShard shard{"s.mds", bytes, data[0]};
  read(mds_index(all[data[1] % 5], {shard}));
  shard.bytes.assign(size_t{data[1]} * 16, '\0');
  shard.name = "t.mds", shard.packed_name = "s.mds", shard.packed = bytes;
  shard.compression = data[1] % 2 ? "gz" : "zstd";
  read(mds_index(all[data[1] % 5], {shard}));
  return 0;
}
