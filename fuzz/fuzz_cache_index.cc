// Any bytes as the index of a disk cache, with the checksums of its entries set where the first byte asks for
// it: an element is what was put, or missing.
#include <cstdlib>
#include <cstring>

#include "headrace/codecs/crc32c.h"
#include "headrace/core/pool.h"
#include "headrace/io/testing/temporary_folder.h"
#include "headrace/run/element_cache/disk_cache.h"

using namespace headrace;

namespace {

constexpr size_t kEntry = 40, kSelf = 32;  // bytes of an entry; where its own checksum is

const TemporaryFolder& folder() {
  static const TemporaryFolder made;
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const bool mends = data[0] % 2 == 1;
  const size_t data_size = std::min<size_t>(data[1] * 8, size - 2);
  const std::string elements(reinterpret_cast<const char*>(data + 2), data_size);
  std::string index(reinterpret_cast<const char*>(data + 2 + data_size), size - 2 - data_size);
  for (size_t at = 0; mends && at + kEntry <= index.size(); at += kEntry) {
    uint64_t offset = 0;
    uint32_t length = 0;
    std::memcpy(&offset, index.data() + at + 16, 8), std::memcpy(&length, index.data() + at + 24, 4);
    if (offset <= elements.size() && length <= elements.size() - offset) {
      const uint32_t of_element = crc32c(std::as_bytes(std::span(elements)).subspan(offset, length));
      std::memcpy(index.data() + at + 28, &of_element, 4);
    }
    const uint32_t self = crc32c(std::as_bytes(std::span(index)).subspan(at, kSelf));
    std::memcpy(index.data() + at + kSelf, &self, 4);
  }
  folder().write("k-1-1.data", elements);
  folder().write("k-1-1.index", index);
  const auto cache = disk_cache(folder().path(), "k");
  if (!cache.ok()) return 0;
  for (size_t at = 0; at + kEntry <= index.size(); at += kEntry) {
    CacheKey key;
    std::memcpy(&key, index.data() + at, sizeof key);
    std::vector<Tensor> fields;
    const auto found = (*cache)->get(key, fields);
    if (!found.ok() || !*found) continue;
    for (const Tensor& field : fields)
      if (!field.is_ragged()) (void)make_tensor(field.view());
  }
  return 0;
}
