// Any bytes as an Arrow file or stream: rows whose fields are as the schema says, or a reason. Once with
// nulls as errors, once as zeros.
#include <algorithm>
#include <cstdlib>

#include "headrace/formats/open.h"
#include "headrace/io/testing/memory_store.h"

namespace {

using namespace headrace;

uint64_t looked_at = 0;  // so that every byte of every field is read

void read_all(Store& store, const Source& source) {
  constexpr uint64_t kMostRows = 64;
  for (uint64_t i = 0; i < std::min(source.size(), kMostRows); ++i) {
    const auto fields = read_sample(source, i, store);
    if (!fields.ok()) {
      if (fields.status().text().empty()) std::abort();
      continue;
    }
    if (fields->size() != source.schema().size()) std::abort();
    for (size_t f = 0; f < fields->size(); ++f) {
      const View view = (*fields)[f].view();
      if (!source.schema().specs[f].admits(view.spec())) {
        const bool is_text_field = is_text(view.dtype) && view.dtype == source.schema().specs[f].dtype;
        if (!is_text_field) std::abort();
      }
      for (const std::byte byte : view.bytes()) looked_at += std::to_integer<uint64_t>(byte);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  store.add("table", std::string(reinterpret_cast<const char*>(data), size));
  for (const char* nulls : {"error", "zero"}) {
    const auto source = open_source(store, "table", "arrow", Value(Value::Object{{"nulls", nulls}}));
    if (source.ok())
      read_all(store, **source);
    else if (source.status().text().empty())
      std::abort();
  }
  return 0;
}
