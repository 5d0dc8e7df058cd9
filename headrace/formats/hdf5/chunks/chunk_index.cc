#include "headrace/formats/hdf5/chunks/chunk_index.h"

#include <algorithm>

#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/chunks/found_chunks.h"
#include "headrace/formats/hdf5/structures/tree2.h"

namespace headrace::hdf5 {

FoundChunks::FoundChunks(Fetches& all, Fetches::Owner whose, Place where, Dataset* into,
                         std::function<Status()> then_do)
    : fetches(all), owner(whose), place(where), dataset(into), then_(std::move(then_do)) {
  for (size_t i = 0; i < rank(); ++i) {
    const auto chunks = [&](uint64_t dim) {
      return dim == kNowhere ? kNowhere : dim / dataset->chunk[i] + (dim % dataset->chunk[i] != 0);
    };
    counts.push_back(chunks(dataset->dims[i]));
    most.push_back(chunks(dataset->max_dims[i]));
  }
}

void FoundChunks::add(std::span<const uint64_t> at, uint64_t address, uint64_t size, uint32_t mask) {
  uint64_t index = 0;
  for (size_t i = 0; i < rank(); ++i) {
    if (at[i] >= counts[i]) return;
    index = index * counts[i] + at[i];
  }
  dataset->chunks.push_back({index, saturating_add(place.base, address), size, mask});
}

void FoundChunks::add_nth(uint64_t i, size_t first, uint64_t address, uint64_t size, uint32_t mask) {
  std::vector<uint64_t> at(rank());
  for (size_t k = rank(); k-- > 0;) {
    if (k == first) continue;
    at[k] = most[k] == 0 ? 0 : i % most[k];
    i = most[k] == 0 ? i : i / most[k];
  }
  at[first] = i;
  add(at, address, size, mask);
}

Status FoundChunks::add_entry(Cursor& cursor, uint64_t i, size_t first, uint64_t entry) {
  const uint64_t address = cursor.address(), plain = static_cast<uint64_t>(place.sizes.address);
  uint64_t size = dataset->chunk_bytes();
  uint32_t mask = 0;
  if (entry > plain) {
    size = cursor.number(static_cast<int>(entry - plain - 4));
    mask = cursor.u32();
  }
  HEADRACE_TRY(cursor.check("an array of chunks"));
  if (address != kNowhere) add_nth(i, first, address, size, mask);
  return {};
}

void FoundChunks::read(uint64_t address, uint64_t length,
                       std::function<Status(std::span<const std::byte>)> then) {
  ++waiting_;
  fetches.ask_all(owner, saturating_add(place.base, address), length,
                  [this, then = std::move(then)](std::span<const std::byte> bytes) -> Status {
                    HEADRACE_TRY(then(bytes));  // holds the owner of this
                    --waiting_;
                    return end_if_done();
                  });
}

Status FoundChunks::end_if_done() {
  if (waiting_ > 0) return {};
  std::ranges::sort(dataset->chunks, {}, &Chunk::index);
  return then_();
}

namespace {

// The B-tree of version 1: keys with sizes and element offsets, alternating with child addresses.
class OldTree {
 public:
  explicit OldTree(FoundChunksPtr found) : found_(std::move(found)) {}

  void read(uint64_t address, int level) const {
    found_->fetches.ask(
        found_->owner, saturating_add(found_->place.base, address), kGuess,
        [self = *this, level](std::span<const std::byte> bytes) { return self.node(bytes, level); });
  }

 private:
  static constexpr uint64_t kGuess = 4096;
  static constexpr int kAnyLevel = -1;

  Result<uint64_t> node(std::span<const std::byte> bytes, int level) const {
    Cursor cursor(bytes, found_->place.sizes);
    const bool is_tree = cursor.signature("TREE");
    const uint8_t type = cursor.u8(), stated = cursor.u8();
    const uint64_t entries = cursor.u16();
    (void)cursor.address(), (void)cursor.address();  // siblings
    HEADRACE_TRY(cursor.check("a B-tree of chunks"));
    if (!is_tree || type != 1) return corrupt({.expected = "a B-tree of chunks", .got = "other bytes"});
    if (level != kAnyLevel && stated != level)
      return corrupt(
          {.expected = "a B-tree node of level " + std::to_string(level), .got = std::to_string(stated)});
    const uint64_t key = 8 + 8 * (found_->rank() + 1);
    const uint64_t needs =
        cursor.position() + entries * (key + static_cast<uint64_t>(found_->place.sizes.address));
    if (needs > bytes.size()) return needs;
    std::vector<uint64_t> at(found_->rank());
    for (uint64_t i = 0; i < entries; ++i) {
      const uint32_t size = cursor.u32(), mask = cursor.u32();
      for (size_t k = 0; k < at.size(); ++k) at[k] = cursor.u64() / found_->dataset->chunk[k];
      cursor.skip(8);  // the offset inside an element
      const uint64_t address = cursor.address();
      if (stated == 0) {
        found_->add(at, address, size, mask);
      } else {
        ++*waiting_;
        read(address, stated - 1);
      }
    }
    HEADRACE_TRY(cursor.check("a B-tree of chunks"));
    if (--*waiting_ == 0) HEADRACE_TRY(found_->end_if_done());
    return uint64_t{0};
  }

  FoundChunksPtr found_;
  std::shared_ptr<uint64_t> waiting_ = std::make_shared<uint64_t>(1);
  friend void read_old_tree(const FoundChunksPtr& found, uint64_t address);
};

void read_old_tree(const FoundChunksPtr& found, uint64_t address) {
  OldTree(found).read(address, OldTree::kAnyLevel);
}

Status tree2_record(FoundChunks& found, const Tree2& tree, Cursor record) {
  constexpr uint8_t kPlain = 10, kFiltered = 11;
  const auto address_bytes = static_cast<size_t>(found.place.sizes.address);
  const size_t size_bytes =
      tree.record_bytes - std::min(tree.record_bytes, address_bytes + 4 + 8 * found.rank());
  if (tree.type != kPlain && (tree.type != kFiltered || size_bytes < 1 || size_bytes > 8))
    return corrupt({.expected = "chunk records", .got = "records of type " + std::to_string(tree.type)});
  const uint64_t address = record.address();
  uint64_t size = found.dataset->chunk_bytes();
  uint32_t mask = 0;
  if (tree.type == kFiltered) {
    size = record.number(static_cast<int>(size_bytes));
    mask = record.u32();
  }
  std::vector<uint64_t> at(found.rank());
  for (uint64_t& one : at) one = record.u64();
  HEADRACE_TRY(record.check("a chunk record"));
  found.add(at, address, size, mask);
  return {};
}

constexpr uint64_t kMostImplicit = uint64_t{1} << 24;

// All chunks exist and are contiguous.
Status add_implicit(FoundChunks& found, uint64_t address) {
  const uint64_t each = found.dataset->chunk_bytes();
  uint64_t count = 1;
  for (const uint64_t most : found.most) count = saturating_mul(count, most);
  if (saturating_mul(count, each) > found.fetches.file_size())
    return corrupt("expected chunks that fit in the file");
  if (count > kMostImplicit)
    return {Code::exhausted,
            "expected at most " + std::to_string(kMostImplicit) + " chunks without an index"};
  for (uint64_t i = 0; i < count; ++i) found.add_nth(i, 0, address + i * each, each, 0);
  return found.end_if_done();
}

}  // namespace

void find_chunks(Fetches& fetches, Fetches::Owner owner, Place place, const ChunkPlace& index,
                 Dataset* dataset, std::function<Status()> then) {
  const auto found = std::make_shared<FoundChunks>(fetches, owner, place, dataset, std::move(then));
  const auto now = [&](const std::function<Status()>& work) {
    fetches.ask_all(owner, 0, 1, [found, work](std::span<const std::byte>) { return work(); });
  };
  if (index.address == kNowhere) return now([found] { return found->end_if_done(); });
  switch (index.kind) {
    case ChunkIndex::none: return now([found] { return found->end_if_done(); });
    case ChunkIndex::tree: return read_old_tree(found, index.address);
    case ChunkIndex::single: {
      const uint64_t size = index.single_size != 0 ? index.single_size : dataset->chunk_bytes();
      found->add(std::vector<uint64_t>(found->rank()), index.address, size, index.single_mask);
      return now([found] { return found->end_if_done(); });
    }
    case ChunkIndex::implicit: return now([found, at = index.address] { return add_implicit(*found, at); });
    case ChunkIndex::fixed_array: return read_fixed_array(found, index.address);
    case ChunkIndex::extensible_array: return read_extensible_array(found, index.address);
    case ChunkIndex::tree2:
      return read_tree2(
          fetches, owner, place, index.address,
          {[found](const Tree2& tree, Cursor record) { return tree2_record(*found, tree, record); },
           [found] { return found->end_if_done(); }});
  }
}

}  // namespace headrace::hdf5
