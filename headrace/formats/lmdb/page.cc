#include "headrace/formats/lmdb/page.h"

#include <algorithm>
#include <string>

#include "headrace/core/little_endian.h"

namespace headrace {
namespace {

constexpr uint32_t kMagic = 0xbeefc0de, kVersion = 1;
enum PageFlag : uint16_t { kBranch = 1, kLeaf = 2, kOverflow = 4, kMeta = 8, kLeaf2 = 0x20 };
enum NodeFlag : uint16_t { kBigData = 1, kSubData = 2, kDupData = 4 };
constexpr uint64_t kNamedDatabase = 48;  // bytes of the value that describes one

Status expected(const std::string& what, uint64_t got) {
  return corrupt({.expected = what, .got = std::to_string(got)});
}

Status check_number(std::span<const std::byte> page, uint64_t number) {
  const auto got = load<uint64_t>(page, 0);
  return got == number ? Status() : expected("the page number " + std::to_string(number), got);
}

}  // namespace

bool is_lmdb(std::span<const std::byte> head) {
  return head.size() >= kLmdbMetaBytes && load<uint64_t>(head, 0) == 0 &&
         (load<uint16_t>(head, 10) & kMeta) != 0 && load<uint32_t>(head, 16) == kMagic;
}

Result<LmdbMeta> lmdb_meta(std::span<const std::byte> page, uint64_t number) {
  if (page.size() < kLmdbMetaBytes) return expected("a meta page of at least 152 bytes", page.size());
  HEADRACE_TRY(check_number(page, number));
  if ((load<uint16_t>(page, 10) & kMeta) == 0 || load<uint32_t>(page, 16) != kMagic)
    return corrupt("expected a meta page with its magic word");
  if (const auto version = load<uint32_t>(page, 20); version != kVersion)
    return expected("LMDB data version 1", version);
  LmdbMeta out;
  out.page_size = load<uint32_t>(page, 40);
  out.flags = load<uint16_t>(page, 92);
  out.depth = load<uint16_t>(page, 94);
  out.entries = load<uint64_t>(page, 120);
  out.root = load<uint64_t>(page, 128);
  out.last_page = load<uint64_t>(page, 136);
  out.transaction = load<uint64_t>(page, 144);
  if (number == 0 && (out.page_size < 512 || out.page_size > 65536 || (out.page_size & (out.page_size - 1))))
    return expected("pages of 512 to 65536 bytes", out.page_size);
  if (out.depth > kMostLmdbDepth) return expected("a tree of at most 32 levels", out.depth);
  return out;
}

Result<LmdbPage> LmdbPage::parse(std::span<const std::byte> bytes, uint64_t number, Kind kind) {
  if (bytes.size() < kLmdbPageHeader) return expected("a page of at least 16 bytes", bytes.size());
  HEADRACE_TRY(check_number(bytes, number));
  const auto flags = load<uint16_t>(bytes, 10);
  const uint16_t tree = flags & (kBranch | kLeaf | kOverflow | kMeta | kLeaf2);
  if (tree != (kind == Kind::branch ? kBranch : kLeaf))
    return expected(kind == Kind::branch ? "the flags of a branch page" : "the flags of a leaf page", flags);
  const auto lower = load_once<uint16_t>(bytes, 12);
  if (lower < kLmdbPageHeader || lower > bytes.size() || lower % 2 != 0)
    return expected("pointers to nodes that end inside the page", lower);
  // Nodes follow their pointers, and every page has one.
  const auto upper = load_once<uint16_t>(bytes, 14);
  if (lower == kLmdbPageHeader || lower > upper || upper > bytes.size())
    return expected("nodes after their pointers, which end at " + std::to_string(lower), upper);
  return LmdbPage(bytes, (lower - kLmdbPageHeader) / 2);
}

bool LmdbPage::has_all_nodes() const {
  uint16_t lowest = 0xffff;
  for (size_t i = 0; i < nodes_; ++i)
    lowest = std::min(lowest, load<uint16_t>(bytes_, kLmdbPageHeader + 2 * i));
  return lowest == load<uint16_t>(bytes_, 14);
}

Result<std::span<const std::byte>> LmdbPage::node_bytes(size_t i) const {
  if (i >= nodes_) return expected("a node below " + std::to_string(nodes_), i);
  const auto begin = load<uint16_t>(bytes_, kLmdbPageHeader + 2 * i);
  if (begin < kLmdbPageHeader + 2 * nodes_ || bytes_.size() < begin + kNodeHeader)
    return expected("a node inside the page", begin);
  return bytes_.subspan(begin);
}

Result<uint64_t> LmdbPage::child(size_t i) const {
  HEADRACE_ASSIGN(const auto node, node_bytes(i));
  return uint64_t{load<uint16_t>(node, 0)} | uint64_t{load<uint16_t>(node, 2)} << 16 |
         uint64_t{load<uint16_t>(node, 4)} << 32;
}

Result<LmdbNode> LmdbPage::node(size_t i) const {
  HEADRACE_ASSIGN(const auto node, node_bytes(i));
  const auto flags = load<uint16_t>(node, 4), key = load<uint16_t>(node, 6);
  LmdbNode out;
  out.size = load<uint32_t>(node, 0);
  out.is_big = flags & kBigData;
  const uint64_t room = node.size() - kNodeHeader, value = out.is_big ? sizeof(uint64_t) : out.size;
  if (key > room || value > room - key)
    return expected("a node of at most " + std::to_string(room) + " bytes", key + value);
  out.key = node.subspan(kNodeHeader, key);
  if (flags & kDupData)
    return corrupt({.expected = "one value per key, as the meta page states", .got = "several"});
  if (flags == kSubData && out.size == kNamedDatabase)
    return Status(Code::unavailable,
                  {.expected = "records in the main database",
                   .got = "the named database '" +
                          std::string(reinterpret_cast<const char*>(out.key.data()), key) + "'"});
  if (flags & kSubData)
    return corrupt({.expected = "a value", .got = "a database of " + std::to_string(out.size) + " bytes"});
  if (out.is_big)
    out.page = load<uint64_t>(node, kNodeHeader + key);
  else
    out.value = node.subspan(kNodeHeader + key, value);
  return out;
}

void LmdbPage::expect(size_t i) const {
  if (i >= nodes_) return;
  const auto begin = load_once<uint16_t>(bytes_, kLmdbPageHeader + 2 * i);
  if (begin + kNodeHeader <= bytes_.size()) __builtin_prefetch(bytes_.data() + begin);
}

Result<std::span<const std::byte>> lmdb_big_value(std::span<const std::byte> bytes, uint64_t number,
                                                  uint64_t page_size) {
  if (bytes.size() < kLmdbPageHeader) return expected("a page of at least 16 bytes", bytes.size());
  HEADRACE_TRY(check_number(bytes, number));
  if (const auto flags = load<uint16_t>(bytes, 10); (flags & kOverflow) == 0)
    return expected("the flags of an overflow page", flags);
  if (const auto pages = load_once<uint32_t>(bytes, 12); pages * page_size < bytes.size())
    return expected("overflow pages for " + std::to_string(bytes.size() - kLmdbPageHeader) + " bytes", pages);
  return bytes.subspan(kLmdbPageHeader);
}

}  // namespace headrace
