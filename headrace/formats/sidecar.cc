#include "headrace/formats/sidecar.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace headrace {
namespace {

static_assert(std::endian::native == std::endian::little, "sidecars are written as they lie in memory");

constexpr std::string_view kMagic = "HRSIDE\r\n";
constexpr uint32_t kVersion = 1;
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
constexpr size_t kChecked = offsetof(Header, fingerprint);  // the header's checksum covers all from here
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

Result<std::vector<std::byte>> serialise_sidecar(const Sidecar& sidecar) {
  Header header{};
  std::copy(kMagic.begin(), kMagic.end(), header.magic);
  header.version = kVersion;
  header.sections = static_cast<uint32_t>(sidecar.sections.size());
  if (sidecar.sections.size() > kMaxSections || !put_text(sidecar.fingerprint, header.fingerprint))
    return invalid("sidecar: wants at most 64 sections and a fingerprint of at most 32 bytes");

  std::vector<Entry> table;
  size_t end = sizeof(Header) + sidecar.sections.size() * sizeof(Entry);
  for (const Section& section : sidecar.sections) {
    end = (end + kAlign - 1) / kAlign * kAlign;
    Entry entry{{}, end, section.bytes.size(), checksum(section.bytes)};
    if (section.name.empty() || !put_text(section.name, entry.name))
      return invalid("sidecar: wants section names of 1 to 32 bytes, got '" + section.name + "'");
    table.push_back(entry);
    end += section.bytes.size();
  }
  std::vector<std::byte> out(end);
  const size_t table_bytes = table.size() * sizeof(Entry);
  if (!table.empty()) std::memcpy(out.data() + sizeof(Header), table.data(), table_bytes);
  for (size_t i = 0; i < table.size(); ++i) {
    const std::span<const std::byte> bytes = sidecar.sections[i].bytes;
    if (!bytes.empty()) std::memcpy(out.data() + table[i].offset, bytes.data(), bytes.size());
  }
  std::memcpy(out.data(), &header, sizeof(Header));
  header.checksum = checksum(std::span(out).subspan(kChecked, sizeof(Header) - kChecked + table_bytes));
  std::memcpy(out.data(), &header, sizeof(Header));
  return out;
}

Result<SidecarTable> parse_sidecar_table(std::span<const std::byte> head, uint64_t file_size) {
  Header header;
  if (head.size() < sizeof(Header)) return damaged("shorter than its header");
  std::memcpy(&header, head.data(), sizeof(Header));
  if (std::string_view(header.magic, sizeof header.magic) != kMagic) return damaged("not one");
  if (header.version != kVersion) return damaged("of another version");
  if (header.sections > kMaxSections || head.size() < sizeof(Header) + header.sections * sizeof(Entry))
    return damaged("shorter than its table");
  const size_t checked = sizeof(Header) - kChecked + header.sections * sizeof(Entry);
  if (checksum(head.subspan(kChecked, checked)) != header.checksum)
    return damaged("header and checksum differ");

  SidecarTable out{get_text(header.fingerprint), {}};
  for (uint32_t i = 0; i < header.sections; ++i) {
    Entry entry;
    std::memcpy(&entry, head.data() + sizeof(Header) + i * sizeof(Entry), sizeof(Entry));
    if (entry.offset > file_size || entry.length > file_size - entry.offset || entry.offset % kAlign != 0)
      return damaged("a section lies outside the file");
    out.sections.push_back({get_text(entry.name), entry.offset, entry.length, entry.checksum});
  }
  return out;
}

Result<Sidecar> parse_sidecar(BufferPtr bytes) {
  HEADRACE_ASSIGN(const SidecarTable table, parse_sidecar_table(bytes->bytes(), bytes->size()));
  Sidecar out;
  out.fingerprint = table.fingerprint;
  for (const SidecarTable::Place& place : table.sections) {
    const auto section = bytes->bytes().subspan(place.offset, place.length);
    if (checksum(section) != place.checksum) return damaged("a section and its checksum differ");
    out.sections.push_back({place.name, section});
  }
  out.owner = std::move(bytes);
  return out;
}

Result<BufferPtr> SidecarFile::section(std::string_view name) {
  const SidecarTable::Place* place = find(name);
  if (!place) return damaged("no section " + std::string(name));
  HEADRACE_ASSIGN(BufferPtr bytes, read_bytes(*file_, place->offset, place->length));
  if (checksum(bytes->bytes()) != place->checksum) return damaged("a section and its checksum differ");
  return bytes;
}

Status SidecarFile::read(std::string_view name, uint64_t offset, std::span<std::byte> out) {
  const SidecarTable::Place* place = find(name);
  if (!place || offset > place->length || out.size() > place->length - offset)
    return damaged("a section is shorter than what is wanted of it");
  return read_exactly(*file_, place->offset + offset, out);
}

const SidecarTable::Place* SidecarFile::find(std::string_view name) const {
  for (const SidecarTable::Place& place : table_.sections)
    if (place.name == name) return &place;
  return nullptr;
}

}  // namespace headrace
