// Any bytes as an Arrow file or stream: rows whose fields match the schema, or an error. With nulls as
// errors, as zeros, as NaNs and with masks; then the last columns alone. Rows from maps equal those that are
// read.
#include <cstdlib>

#include "fuzz/read_rows.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

namespace {

bool shows_what_is_read(Store& store, const Source& source, uint64_t step) {
  constexpr uint64_t kMostRows = 64;
  const auto read = [&](uint64_t i) { return read_sample(source, i, store); };
  return maps_show_what_is_read(store, source, kMostRows, step, read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  store.add("table", std::string(reinterpret_cast<const char*>(data), size));
  for (const char* nulls : {"error", "zero", "nan"}) {
    const auto source = open_source(store, "table", "arrow", Value(Value::Object{{"nulls", nulls}}));
    if (source.ok())
      read_rows(store, **source);
    else if (source.status().text().empty())
      std::abort();
    if (!source.ok()) return 0;
    if (!shows_what_is_read(store, **source, 3)) std::abort();
    const std::vector<std::string>& names = (*source)->schema().names;
    for (size_t i = names.size(), n = 0; i-- > 0 && n < 3; ++n) {
      const auto alone =
          open_source(store, "table", "arrow", Value(Value::Object{{"columns", Value::List{names[i]}}}));
      if (alone.ok()) read_rows(store, **alone);
      if (alone.ok() && !shows_what_is_read(store, **alone, 1)) std::abort();
    }
  }
  const auto masked = open_source(store, "table", "arrow", Value(Value::Object{{"nulls", "mask"}}));
  if (masked.ok()) read_rows(store, **masked);
  return 0;
}
