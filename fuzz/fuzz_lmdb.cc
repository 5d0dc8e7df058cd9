// Any bytes as an LMDB file, its values as bytes and as Caffe's Datum: records are read or refused with an
// error, and each is in the block that lists it. Page numbers are fixed so that the code after their check is
// reached; the first byte selects whether. Any bytes as the stored index of such a file.
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "headrace/formats/lmdb/index.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

namespace {

constexpr size_t kPage = 512;

// Two metas, and pages with their own page numbers.
void mend(std::string& bytes) {
  const auto put = [&](size_t at, auto value) {
    if (at + sizeof value <= bytes.size()) std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  for (size_t page = 0; page * kPage < bytes.size(); ++page) put(page * kPage, uint64_t{page});
  for (const size_t meta : {size_t{0}, kPage}) {
    put(meta + 10, uint16_t{8});
    put(meta + 16, uint32_t{0xbeefc0de}), put(meta + 20, uint32_t{1});
  }
  put(40, static_cast<uint32_t>(kPage));
}

// Records that are in leaves, from a map, of a file that may have changed since it was indexed.
void put_all(MemoryStore& store, std::string bytes, uint8_t change) {
  const auto source = open_source(store, "x", "lmdb");
  if (!source.ok()) return;
  std::vector<uint64_t> indices((*source)->size());
  std::iota(indices.begin(), indices.end(), uint64_t{0});
  std::vector<Extent> extents(indices.size());
  (*source)->extents(indices, extents);
  const bool changes = change >= 4;
  for (size_t at = 2 * kPage; changes && at < bytes.size(); at += change) bytes[at] ^= static_cast<char>(at);
  if (changes) store.add("x", std::move(bytes));
  for (size_t first = 0; first < indices.size(); ++first) {
    const auto rows = put_mapped_rows(store, **source, std::span(indices).subspan(first));
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto fields = read_sample(**source, first + i, store);
      if (!fields.ok() || !are_equal(*fields, rows[i])) std::abort();
    }
    first += rows.size();
  }
}

void read_all(MemoryStore& store, const char* values) {
  Value options;
  options.set("values", values);
  const auto source = open_source(store, "x", "lmdb", options);
  if (!source.ok()) return source.status().text().empty() ? std::abort() : void();
  uint64_t before = 0;
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const Place place = (*source)->place(i);
    if (place.block < before || place.row > i) std::abort();
    before = place.block;
    const auto fields = read_sample(**source, i, store);
    if (!fields.ok()) continue;
    for (const Tensor& field : *fields) (void)make_tensor(field.view());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (const auto index = unpack_lmdb(bytes, data[0] % 4); index && pack_lmdb(*index) != bytes) std::abort();
  if (data[0] % 2 == 1) mend(bytes);
  MemoryStore store;
  store.add("x", bytes);
  read_all(store, "bytes");
  read_all(store, "datum");
  read_all(store, "tensor_protos");
  put_all(store, std::move(bytes), data[0]);
  return 0;
}
