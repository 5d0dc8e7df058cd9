// Any bytes as the manifest next to data, for one file and for a folder: the data is read all the same, with
// the same number of samples as without it. Whatever can be read of it can be written, and reads back equal.
#include <cstdlib>

#include "headrace/formats/dataset/manifest.h"
#include "headrace/formats/dataset/written_shards.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

namespace {

constexpr uint64_t kRecords = 3;

std::string file_of_records() {
  std::string out;
  for (uint64_t i = 0; i < kRecords; ++i)
    out += std::string("\x0a\x23\xd7\xce\x28\0\0\0", 8) + std::string(40, static_cast<char>('a' + i));
  return out;
}

void open_beside(const std::string& path, uint64_t records, Store& store) {
  const auto source = open_source(store, path, "recordio");
  if (!source.ok() || (*source)->size() != records) std::abort();
  for (uint64_t i = 0; i < records; ++i)
    if (!read_sample(**source, i, store).ok()) std::abort();
  (void)(*source)->metadata().dump();
  for (const auto& shard : written_shards(store, **source))
    if (shard.samples > records) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto first = Manifest::parse(text);
  if (first.ok()) {
    const auto second = Manifest::parse(first->text());
    if (!second.ok() || second->text() != first->text()) std::abort();
  }
  MemoryStore store;
  store.add("out.rec", file_of_records());
  store.add("out.rec.headrace.json", text);
  open_beside("out.rec", kRecords, store);
  for (const char* name : {"set/set-00000-of-00002.rec", "set/set-00001-of-00002.rec"})
    store.add(name, file_of_records());
  store.add("set/headrace.json", text);
  open_beside("set", 2 * kRecords, store);
  return 0;
}
