// Any bytes as a Parquet file: rows whose fields match the schema, or an error. With nulls as errors, as
// zeros and with masks, each column alone where not all of them can be read, and with a condition on the
// first.
#include <cstdlib>

#include "fuzz/read_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

namespace {

void read_with(Store& store, Value options) {
  const auto source = open_source(store, "table", "parquet", options);
  if (source.ok())
    read_rows(store, **source);
  else if (source.status().text().empty())
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  store.add("table", std::string(reinterpret_cast<const char*>(data), size));
  for (const char* nulls : {"error", "zero", "nan", "mask"})
    read_with(store, Value(Value::Object{{"nulls", nulls}}));
  const auto source = open_source(store, "table", "parquet", Value(Value::Object{{"nulls", "zero"}}));
  if (!source.ok()) return 0;
  const std::string first = (*source)->schema().names[0];
  for (const Value& value : {Value(3), Value("n1")})
    read_with(store, Value(Value::Object{{"where", Value::List{Value::List{first, "<=", value}}}}));
  return 0;
}
