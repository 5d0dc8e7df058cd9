// Any bytes as a sidecar, with checksums fixed so that the parser after them is reached: sections are inside
// the input, and what is read can be written and reads back equal. The first byte selects whether checksums
// are fixed.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "headrace/formats/opening/remembered_listing.h"

using headrace::HeapBuffer;

namespace {

// Offsets as in sidecar.h: header 56 bytes with its checksum at 16, table entries of 56 bytes.
void mend(std::byte* bytes, size_t size) {
  if (size < 56) return;
  std::memcpy(bytes, "HRSIDE\r\n\1\0\0\0", 12);
  uint32_t sections = 0;
  std::memcpy(&sections, bytes + 12, 4);
  sections = std::min<uint32_t>({sections % 8, 64, static_cast<uint32_t>((size - 56) / 56)});
  std::memcpy(bytes + 12, &sections, 4);
  for (uint32_t i = 0; i < sections; ++i) {
    std::byte* entry = bytes + 56 + i * 56;
    uint64_t offset = 0, length = 0;
    std::memcpy(&offset, entry + 32, 8), std::memcpy(&length, entry + 40, 8);
    if (offset > size || length > size - offset) continue;
    const uint64_t checksum = XXH3_64bits(bytes + offset, length);
    std::memcpy(entry + 48, &checksum, 8);
  }
  const uint64_t checksum = XXH3_64bits(bytes + 24, 32 + sections * 56);
  std::memcpy(bytes + 16, &checksum, 8);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto buffer = HeapBuffer::make(size - 1);
  if (size > 1) std::memcpy(buffer->mutable_data(), data + 1, size - 1);
  if (data[0] % 2 == 1) mend(buffer->mutable_data(), size - 1);
  const auto sidecar = headrace::parse_sidecar(buffer);
  if (!sidecar.ok()) return 0;
  for (const headrace::Section& section : sidecar->sections)
    if (section.bytes.data() < buffer->data() ||
        section.bytes.data() + section.bytes.size() > buffer->data() + buffer->size())
      std::abort();
  (void)headrace::listing_from_sidecar(*sidecar);
  const auto written = headrace::serialise_sidecar(*sidecar);
  if (!written.ok()) return 0;
  const auto copy = HeapBuffer::make(written->size());
  std::memcpy(copy->mutable_data(), written->data(), written->size());
  const auto again = headrace::parse_sidecar(copy);
  if (!again.ok() || again->sections.size() != sidecar->sections.size()) std::abort();
  return 0;
}
