#include "headrace/formats/lmdb/put_mapped.h"

#include <algorithm>
#include <array>
#include <optional>

#include "headrace/core/consecutive.h"

namespace headrace {
namespace {

// The number of indices at the front that are neighbours in the current page.
size_t in_one_page(std::span<const uint64_t> indices, const LmdbNeighbours& near) {
  return num_consecutive(indices.first(std::min<uint64_t>(near.end - indices[0], indices.size())));
}

// The page after this one if it is probably next: it is prefetched little by little, otherwise its loads
// would only start when it is used.
Text next_page(const LmdbNeighbours& near, Text page) {
  const std::vector<RecordExtent>& extents = near.lmdb.files[near.file].extents;
  const bool is_behind = near.block + 1 < extents.size() &&
                         extents[near.block + 1].offset == extents[near.block].offset + page.size();
  return is_behind ? Text(page.data() + page.size(), page.size()) : Text();
}

// Puts `count` neighbours as rows n, n + 1 … of a batch; returns how many were put.
size_t put_page(const LmdbNeighbours& near, uint64_t index, size_t count, MappedBytes& mapped, size_t n,
                std::span<const FieldPlace> to) {
  const LmdbFile& file = near.lmdb.files[near.file];
  const RecordExtent& extent = file.extents[near.block];
  const Text bytes = mapped.at({near.file, extent.offset, extent.length});
  if (bytes.empty()) return 0;
  const auto page = LmdbPage::parse(bytes, file.page_of(near.block), LmdbPage::Kind::leaf);
  if (!page.ok()) return 0;
  const Text next = next_page(near, bytes);
  const uint64_t first = near.node + (index - near.first);
  constexpr size_t kLine = 64;
  for (size_t i = 0, expected = 0; i < count; ++i) {
    for (; expected * count < next.size() * (i + 1); expected += kLine)  // from its end: nodes begin there
      __builtin_prefetch(next.data() + (next.size() - 1 - expected));
    const auto node = page->small_node(first + i);
    const auto kept = node ? mapped.keep(node->bytes) : std::nullopt;
    if (!kept) return i;
    share_lmdb_pair(kept->buffer, kept->bytes, node->key, n + i, to);
  }
  return count;
}

// A node of a mapped page, or a big value. Three places in memory lead to a record, and the processor waits
// for each of them unless they are prefetched for many records at once.
constexpr size_t kNodesAtOnce = 16;
struct MappedNode {
  const LmdbFile* file = nullptr;
  uint64_t block = 0, node = 0;
  std::span<const std::byte> bytes;  // of the block
  std::optional<LmdbPage> page;      // of a node, if it could be parsed
  bool is_big() const { return file->is_big(block); }
  uint64_t number() const { return file->page_of(block); }
};

size_t find_nodes(std::span<const uint64_t> indices, LmdbNeighbours& near, MappedBytes& mapped,
                  std::array<MappedNode, kNodesAtOnce>& out) {
  size_t count = std::min(indices.size(), kNodesAtOnce);
  for (size_t i = 0; i < count; ++i) {
    MappedNode& here = out[i];
    const bool is_new = near.find(indices[i]) || i == 0;
    here.file = &near.lmdb.files[near.file];
    here.block = near.block, here.node = near.node + (indices[i] - near.first);
    const RecordExtent& extent = here.file->extents[near.block];
    here.bytes = is_new ? mapped.at({near.file, extent.offset, extent.length}) : out[i - 1].bytes;
    if (here.bytes.empty()) {
      count = i;
      break;
    }
    __builtin_prefetch(here.bytes.data());
    __builtin_prefetch(here.bytes.data() + std::min(kLmdbPageHeader + 2 * here.node, here.bytes.size()));
  }
  for (size_t i = 0; i < count; ++i) {
    MappedNode& here = out[i];
    here.page.reset();
    if (here.is_big()) continue;
    if (i > 0 && here.bytes.data() == out[i - 1].bytes.data())
      here.page = out[i - 1].page;
    else if (auto parsed = LmdbPage::parse(here.bytes, here.number(), LmdbPage::Kind::leaf); parsed.ok())
      here.page = *parsed;
    if (here.page) here.page->expect(here.node);
  }
  return count;
}

bool put_node(const MappedNode& from, MappedBytes& mapped, size_t n, std::span<const FieldPlace> to) {
  if (from.is_big()) {
    const auto value = lmdb_big_value(from.bytes, from.number(), from.file->page_size);
    const auto kept = value.ok() ? mapped.keep_value(*value) : std::nullopt;
    if (kept) share_big_lmdb_value(*from.file, from.block, kept->buffer, kept->bytes, n, to);
    return kept.has_value();
  }
  const auto node = from.page ? from.page->small_node(from.node) : std::nullopt;
  const auto kept = node ? mapped.keep(node->bytes) : std::nullopt;
  if (kept) share_lmdb_pair(kept->buffer, kept->bytes, node->key, n, to);
  return kept.has_value();
}

}  // namespace

size_t put_lmdb_pairs(const Lmdb& lmdb, std::span<const uint64_t> indices, MappedBytes& mapped,
                      std::span<const FieldPlace> to) {
  constexpr size_t kFew = 4;  // with that many in one page, prefetching others is not needed
  LmdbNeighbours near(lmdb);
  std::array<MappedNode, kNodesAtOnce> some;
  for (size_t n = 0; n < indices.size();) {
    const auto rest = indices.subspan(n);
    near.find(rest[0]);
    if (const size_t wanted = in_one_page(rest, near); wanted >= kFew) {
      const size_t put = put_page(near, rest[0], wanted, mapped, n, to);
      n += put;
      if (put < wanted) return n;
      continue;
    }
    const size_t found = find_nodes(rest, near, mapped, some);
    for (size_t i = 0; i < found; ++i, ++n)
      if (!put_node(some[i], mapped, n, to)) return n;
    if (found == 0) return n;
  }
  return indices.size();
}

}  // namespace headrace
