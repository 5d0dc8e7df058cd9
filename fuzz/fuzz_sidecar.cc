// Any bytes as a sidecar, with checksums fixed so that the parsers after them are reached: sections are
// inside the input, and what is read can be written and reads back equal; also the index of a list. The first
// byte selects whether checksums are fixed.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "headrace/formats/index/list_index.h"
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

// What is written of an index that was read is read as the same.
void check_list_index(const headrace::Sidecar& sidecar) {
  const auto read = [](const headrace::Sidecar& from) {
    return headrace::list_index_from([&](std::string_view name) -> headrace::BufferPtr {
      const auto bytes = from.find(name);
      return bytes ? std::make_shared<const headrace::BorrowedBuffer>(*bytes, from.owner) : nullptr;
    });
  };
  const auto index = read(sidecar);
  if (!index) return;
  for (const auto& [key, records] : index->records) (void)headrace::unpack_index(records);
  headrace::Sidecar again;
  const auto sections = headrace::list_index_sections(*index);
  std::vector<std::string> texts(sections.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    (void)sections[i].make([&](std::span<const std::byte> bytes) {
      texts[i].append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return headrace::Status();
    });
    again.sections.push_back({sections[i].name, std::as_bytes(std::span(texts[i]))});
  }
  const auto same = read(again);
  if (!same || same->names != index->names || same->records.size() != index->records.size()) std::abort();
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
  check_list_index(*sidecar);
  const auto written = headrace::serialise_sidecar(*sidecar);
  if (!written.ok()) return 0;
  const auto copy = HeapBuffer::make(written->size());
  std::memcpy(copy->mutable_data(), written->data(), written->size());
  const auto again = headrace::parse_sidecar(copy);
  if (!again.ok() || again->sections.size() != sidecar->sections.size()) std::abort();
  return 0;
}
