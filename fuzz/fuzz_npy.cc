// Any bytes as an .npy file: a header whose array is everything that follows it, or an error; and its rows
// are those of the whole array.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fuzz/read_rows.h"
#include "headrace/codecs/npy.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

namespace {

void compare_rows(Store& store, const Source& source, std::span<const std::byte> whole) {
  constexpr uint64_t kMostRows = 64;
  const uint64_t count = std::min(source.size(), kMostRows);
  if (count == 0) return;
  const size_t each = whole.size() / source.size();
  for (uint64_t i = 0; i < count; ++i) {
    const auto fields = read_sample(source, i, store);
    if (!fields.ok()) std::abort();
    const auto row = (*fields)[0].view().bytes();
    if (row.size() != each || std::memcmp(row.data(), whole.data() + i * each, each) != 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  store.add("x.npy", std::string(reinterpret_cast<const char*>(data), size));
  const auto source = open_source(store, "x.npy", "npy");
  if (source.ok())
    read_rows(store, **source);
  else if (source.status().text().empty())
    std::abort();
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = read_npy_header(file);
  if (!header.ok()) return header.status().text().empty() || source.ok() ? std::abort(), 0 : 0;
  const size_t wanted = header->shape.size_bytes(header->dtype);
  if (header->data > size) std::abort();
  if (wanted != size - header->data) return source.ok() ? std::abort(), 0 : 0;
  std::vector<std::byte> out(wanted);
  if (!read_npy_data(file, *header, out.data()).ok()) std::abort();
  if (source.ok()) compare_rows(store, **source, out);
  return 0;
}
