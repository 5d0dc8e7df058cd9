// Any bytes as a RecordIO file, as they are and with a header of images: records follow each other inside the
// input, and those found by the walk can be read.
#include <cstdlib>

#include "headrace/formats/opening/open.h"
#include "headrace/formats/recordio/index.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

namespace {

void read_all(MemoryStore& store, bool header) {
  Value options;
  options.set("header", header);
  const auto source = open_source(store, "x.rec", "recordio", options);
  if (!source.ok()) return;
  const bool is_whole = !(*source)->metadata().find("damaged");
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const auto fields = read_sample(**source, i, store);
    if (!header && is_whole && !fields.ok()) std::abort();
    if (!fields.ok()) continue;
    for (const Tensor& field : *fields) (void)make_tensor(field.view());
  }
  const auto [block, rows] = read_together(store, **source, 16);
  if (block && !puts_what_it_gets(*block, (*source)->schema(), rows)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  MemoryStore store;
  store.add("x.rec", bytes);
  read_all(store, false);
  read_all(store, true);
  // The same bytes as the index of a file of some size.
  const uint64_t file = uint64_t{data[0]} * 64;
  const auto records = parse_recordio_idx(bytes, file);
  if (records && !is_in_order({*records, {}}, file)) std::abort();
  return 0;
}
