#include "headrace/formats/index/sidecar.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace headrace {
namespace {

static_assert(std::endian::native == std::endian::little, "sidecars are stored in native byte order");

constexpr std::string_view kMagic = "HRSIDE\r\n";
constexpr uint32_t kSidecarVersion = 1;
constexpr uint32_t kMaxSections = 64;
constexpr size_t kAlign = 64;
constexpr size_t kText = 32;

struct Header {
  char magic[8];
  uint32_t version, sections;
  uint64_t checksum;
  char fingerprint[kText];
};
struct Entry {
  char name[kText];
  uint64_t offset, length, checksum;
};
constexpr size_t kChecked = offsetof(Header, fingerprint);  // where the checksummed part begins
static_assert(sizeof(Header) == 56 && sizeof(Entry) == 56);

uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

bool put_text(std::string_view text, char (&out)[kText]) {
  if (text.size() > kText || text.find('\0') != std::string_view::npos) return false;
  std::memset(out, 0, kText);
  std::copy(text.begin(), text.end(), out);
  return true;
}

std::string get_text(const char (&in)[kText]) {
  return {in, static_cast<size_t>(std::find(in, in + kText, '\0') - in)};
}

Status damaged(std::string_view what) { return corrupt("sidecar: " + std::string(what)); }

}  // namespace

std::optional<std::span<const std::byte>> Sidecar::find(std::string_view name) const {
  for (const Section& section : sections)
    if (section.name == name) return section.bytes;
  return std::nullopt;
}

Result<std::vector<std::byte>> serialise_sidecar_table(const SidecarTable& table) {
  Header header{};
  std::copy(kMagic.begin(), kMagic.end(), header.magic);
  header.version = kSidecarVersion;
  header.sections = static_cast<uint32_t>(table.sections.size());
  if (table.sections.size() > kMaxSections || !put_text(table.fingerprint, header.fingerprint))
    return invalid("sidecar: expected at most 64 sections and a fingerprint of at most 32 bytes");
  std::vector<std::byte> out(sizeof(Header) + table.sections.size() * sizeof(Entry));
  std::byte* to = out.data() + sizeof(Header);
  for (const SidecarTable::Place& place : table.sections) {
    Entry entry{{}, place.offset, place.length, place.checksum};
    if (place.name.empty() || !put_text(place.name, entry.name))
      return invalid({.expected = "section names of 1 to 32 bytes", .got = "'" + place.name + "'"})
          .in_option("sidecar");
    std::memcpy(to, &entry, sizeof(Entry));
    to += sizeof(Entry);
  }
  std::memcpy(out.data(), &header, sizeof(Header));
  header.checksum = checksum(std::span(out).subspan(kChecked));
  std::memcpy(out.data(), &header, sizeof(Header));
  return out;
}

uint64_t sidecar_section_offset(uint64_t end) { return (end + kAlign - 1) / kAlign * kAlign; }
uint64_t sidecar_table_size(size_t sections) { return sizeof(Header) + sections * sizeof(Entry); }

Result<std::vector<std::byte>> serialise_sidecar(const Sidecar& sidecar) {
  SidecarTable table{sidecar.fingerprint, {}};
  uint64_t end = sidecar_table_size(sidecar.sections.size());
  for (const Section& section : sidecar.sections) {
    const uint64_t offset = sidecar_section_offset(end);
    table.sections.push_back({section.name, offset, section.bytes.size(), checksum(section.bytes)});
    end = offset + section.bytes.size();
  }
  HEADRACE_ASSIGN(std::vector<std::byte> out, serialise_sidecar_table(table));
  out.resize(end);
  for (size_t i = 0; i < table.sections.size(); ++i) {
    const std::span<const std::byte> bytes = sidecar.sections[i].bytes;
    if (!bytes.empty()) std::memcpy(out.data() + table.sections[i].offset, bytes.data(), bytes.size());
  }
  return out;
}

Result<SidecarTable> parse_sidecar_table(std::span<const std::byte> head, uint64_t file_size) {
  Header header;
  if (head.size() < sizeof(Header)) return damaged("shorter than its header");
  std::memcpy(&header, head.data(), sizeof(Header));
  if (std::string_view(header.magic, sizeof header.magic) != kMagic) return damaged("not a sidecar");
  if (header.version != kSidecarVersion) return damaged("unsupported version");
  if (header.sections > kMaxSections || head.size() < sizeof(Header) + header.sections * sizeof(Entry))
    return damaged("shorter than its table");
  const size_t checked = sizeof(Header) - kChecked + header.sections * sizeof(Entry);
  if (checksum(head.subspan(kChecked, checked)) != header.checksum)
    return damaged("checksum of the header does not match");

  SidecarTable out{get_text(header.fingerprint), {}};
  for (uint32_t i = 0; i < header.sections; ++i) {
    Entry entry;
    std::memcpy(&entry, head.data() + sizeof(Header) + i * sizeof(Entry), sizeof(Entry));
    // An empty section at the end begins where the file would be padded to.
    const bool lies_inside = entry.length == 0
                                 ? entry.offset <= file_size + kAlign
                                 : entry.offset <= file_size && entry.length <= file_size - entry.offset;
    if (!lies_inside || entry.offset % kAlign != 0) return damaged("a section is outside the file");
    out.sections.push_back({get_text(entry.name), entry.offset, entry.length, entry.checksum});
  }
  return out;
}

Result<Sidecar> parse_sidecar(BufferPtr bytes) {
  HEADRACE_ASSIGN(const SidecarTable table, parse_sidecar_table(bytes->bytes(), bytes->size()));
  Sidecar out;
  out.fingerprint = table.fingerprint;
  for (const SidecarTable::Place& place : table.sections) {
    const auto section = bytes->bytes().subspan(place.length == 0 ? 0 : place.offset, place.length);
    if (checksum(section) != place.checksum) return damaged("checksum of a section does not match");
    out.sections.push_back({place.name, section});
  }
  out.owner = std::move(bytes);
  return out;
}

Result<BufferPtr> SidecarFile::section(std::string_view name) {
  const SidecarTable::Place* place = find(name);
  if (!place) return damaged("no section " + std::string(name));
  if (place->length > kReadLimit) return damaged("a section is too large to be read in one piece");
  const MutableBufferPtr bytes = HeapBuffer::make(place->length);  // it lies in the file, as the table does
  HEADRACE_TRY(read_exactly(*file_, place->offset, {bytes->mutable_data(), bytes->size()}));
  if (checksum(bytes->bytes()) != place->checksum) return damaged("checksum of a section does not match");
  return BufferPtr(bytes);
}

Status SidecarFile::read(std::string_view name, uint64_t offset, std::span<std::byte> out) {
  const SidecarTable::Place* place = find(name);
  if (!place || offset > place->length || out.size() > place->length - offset)
    return damaged("a section is shorter than the requested range");
  return read_exactly(*file_, place->offset + offset, out);
}

const SidecarTable::Place* SidecarFile::find(std::string_view name) const {
  for (const SidecarTable::Place& place : table_.sections)
    if (place.name == name) return &place;
  return nullptr;
}

}  // namespace headrace
