// Fixed and extensible arrays: chunks by number, for datasets with no or one growing dimension.
#include <algorithm>
#include <bit>

#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/chunks/found_chunks.h"
#include "headrace/formats/hdf5/structures/checksum.h"

namespace headrace::hdf5 {
namespace {

// A bit of a page bitmap, most significant bit first.
bool has_bit(std::span<const std::byte> map, uint64_t i) {
  return i / 8 < map.size() && (std::to_integer<uint32_t>(map[i / 8]) & (0x80u >> (i % 8))) != 0;
}

Status check_entry(const FoundChunks& found, uint64_t entry) {
  const auto plain = static_cast<uint64_t>(found.place.sizes.address);
  if (entry == plain || (entry >= plain + 5 && entry <= plain + 12)) return {};
  return corrupt({.expected = "entries of " + std::to_string(plain) + " bytes, or 5 to 12 bytes more",
                  .got = std::to_string(entry)});
}

Status add_entries(FoundChunks& found, Cursor& cursor, uint64_t begin, uint64_t end, size_t first,
                   uint64_t entry) {
  for (uint64_t i = begin; i < end; ++i) HEADRACE_TRY(found.add_entry(cursor, i, first, entry));
  return {};
}

// Pages of a block: entries and a checksum each; pages that were never written are skipped.
struct Pages {
  uint64_t address = 0, each = 0, entry = 0;  // entries per page
  uint64_t begin = 0, end = 0;                // entries of all pages
  size_t first = 0;

  void read(const FoundChunksPtr& found, std::span<const std::byte> map, uint64_t map_from) const {
    for (uint64_t at = begin, page = 0; at < end; at += each, ++page) {
      if (!has_bit(map, map_from + page)) continue;
      const uint64_t last = std::min(at + each, end);
      const uint64_t length = (last - at) * entry + kChecksum;
      found->read(address + page * (each * entry + kChecksum), length,
                  [found, at, last, *this](std::span<const std::byte> bytes) {
                    Cursor cursor(bytes, found->place.sizes);
                    return add_entries(*found, cursor, at, last, first, entry);
                  });
    }
  }
};

struct FixedArray {
  FoundChunksPtr found;
  uint64_t entry = 0, count = 0, page = 0;

  Status header(std::span<const std::byte> bytes) {
    Cursor cursor(bytes, found->place.sizes);
    if (!cursor.signature("FAHD")) return corrupt({.expected = "FAHD", .got = "other bytes"});
    HEADRACE_TRY(check_checksum(bytes, "a fixed array"));
    cursor.skip(2);
    entry = cursor.u8();
    const uint8_t page_bits = cursor.u8();
    count = cursor.length();
    const uint64_t address = cursor.address();
    HEADRACE_TRY(check_entry(*found, entry));
    if (page_bits > 32) return corrupt("expected pages of at most 2^32 entries");
    page = uint64_t{1} << page_bits;
    if (address == kNowhere) return {};
    const auto head = 6 + static_cast<uint64_t>(found->place.sizes.address);
    if (count <= page) {
      found->read(address, saturating_add(head + kChecksum, saturating_mul(count, entry)),
                  [self = *this, head](std::span<const std::byte> block) { return self.whole(block, head); });
    } else {
      const uint64_t map = (count / page + (count % page != 0) + 7) / 8;
      found->read(address, head + map + kChecksum,
                  [self = *this, head, map, address](std::span<const std::byte> block) {
                    return self.paged(block, head, map, address);
                  });
    }
    return {};
  }

  Status whole(std::span<const std::byte> bytes, uint64_t head) const {
    Cursor cursor(bytes, found->place.sizes);
    if (!cursor.signature("FADB")) return corrupt({.expected = "FADB", .got = "other bytes"});
    HEADRACE_TRY(check_checksum(bytes, "a fixed array block"));
    cursor.skip(head - 4);
    return add_entries(*found, cursor, 0, count, 0, entry);
  }

  Status paged(std::span<const std::byte> bytes, uint64_t head, uint64_t map, uint64_t address) const {
    if (!Cursor(bytes).signature("FADB")) return corrupt({.expected = "FADB", .got = "other bytes"});
    HEADRACE_TRY(check_checksum(bytes, "a fixed array block"));
    Pages{address + bytes.size(), page, entry, 0, count, 0}.read(found, bytes.subspan(head, map), 0);
    return {};
  }
};

// Entries in the index block, then data blocks of increasing sizes, then blocks of data blocks.
struct ExtensibleArray {
  FoundChunksPtr found;
  size_t first = 0;  // the dimension that grows
  uint64_t entry = 0, count = 0, inside = 0, least = 0, pointers = 0, page = 0;
  int offset_bytes = 0, levels = 0;

  // Number of data blocks of level u, and of entries in each.
  static uint64_t blocks_of(int u) { return uint64_t{1} << (u / 2); }
  uint64_t entries_of(int u) const { return (uint64_t{1} << ((u + 1) / 2)) * least; }
  uint64_t block_head() const { return 6 + static_cast<uint64_t>(found->place.sizes.address + offset_bytes); }

  Status header(std::span<const std::byte> bytes) {
    Cursor cursor(bytes, found->place.sizes);
    if (!cursor.signature("EAHD")) return corrupt({.expected = "EAHD", .got = "other bytes"});
    HEADRACE_TRY(check_checksum(bytes, "an extensible array"));
    cursor.skip(2);
    entry = cursor.u8();
    const uint8_t bits = cursor.u8();
    inside = cursor.u8(), least = cursor.u8(), pointers = cursor.u8();
    const uint8_t page_bits = cursor.u8();
    for (int i = 0; i < 4; ++i) (void)cursor.length();  // numbers of blocks, and their bytes
    count = cursor.length();
    (void)cursor.length();
    const uint64_t address = cursor.address();
    HEADRACE_TRY(check_entry(*found, entry));
    if (bits > 64 || page_bits > 32 || !std::has_single_bit(least) || !std::has_single_bit(pointers))
      return corrupt("expected an extensible array whose block sizes are powers of two");
    page = uint64_t{1} << page_bits;
    offset_bytes = (bits + 7) / 8;
    levels = 1 + bits - std::countr_zero(least);
    if (address == kNowhere || levels < inner_levels()) return {};
    const uint64_t addresses = 2 * (pointers - 1) + static_cast<uint64_t>(levels - inner_levels());
    const auto address_bytes = static_cast<uint64_t>(found->place.sizes.address);
    found->read(address, 6 + address_bytes + inside * entry + addresses * address_bytes + kChecksum,
                [self = *this](std::span<const std::byte> block) { return self.index(block); });
    return {};
  }

  Status index(std::span<const std::byte> bytes) const {
    Cursor cursor(bytes, found->place.sizes);
    if (!cursor.signature("EAIB")) return corrupt({.expected = "EAIB", .got = "other bytes"});
    HEADRACE_TRY(check_checksum(bytes, "an extensible array index"));
    cursor.skip(2 + static_cast<size_t>(found->place.sizes.address));
    const uint64_t here = std::min(inside, count);
    HEADRACE_TRY(add_entries(*found, cursor, 0, here, first, entry));
    cursor.skip((inside - here) * entry);
    uint64_t at = inside;
    for (int u = 0; u < levels && at < count; ++u) {
      if (u < inner_levels()) {
        for (uint64_t i = 0; i < blocks_of(u); ++i, at += entries_of(u))
          data_block(cursor.address(), at, u, {}, 0);
      } else {
        super_block(cursor.address(), at, u);
        at = saturating_add(at, saturating_mul(blocks_of(u), entries_of(u)));
      }
    }
    return cursor.check("an extensible array index");
  }

  void super_block(uint64_t address, uint64_t at, int u) const {
    if (address == kNowhere) return;
    const uint64_t map = entries_of(u) > page ? blocks_of(u) * ((entries_of(u) / page + 7) / 8) : 0;
    const uint64_t length =
        block_head() + map + blocks_of(u) * static_cast<uint64_t>(found->place.sizes.address);
    found->read(address, length + kChecksum, [self = *this, at, u, map](std::span<const std::byte> bytes) {
      Cursor cursor(bytes, self.found->place.sizes);
      if (!cursor.signature("EASB")) return corrupt({.expected = "EASB", .got = "other bytes"});
      HEADRACE_TRY(check_checksum(bytes, "an extensible array block"));
      cursor.skip(self.block_head() - 4);
      const auto pages = cursor.take(map);
      for (uint64_t i = 0; i < blocks_of(u); ++i)
        self.data_block(cursor.address(), at + i * self.entries_of(u), u, pages, i);
      return cursor.check("an extensible array block");
    });
  }

  void data_block(uint64_t address, uint64_t at, int u, std::span<const std::byte> map, uint64_t i) const {
    if (address == kNowhere || at >= count) return;
    const uint64_t entries = entries_of(u), end = std::min(at + entries, count);
    if (entries > page)
      return Pages{address + block_head() + kChecksum, page, entry, at, end, first}.read(
          found, map, i * (entries / page));
    found->read(address, block_head() + entries * entry + kChecksum,
                [self = *this, at, end](std::span<const std::byte> bytes) {
                  Cursor cursor(bytes, self.found->place.sizes);
                  if (!cursor.signature("EADB")) return corrupt({.expected = "EADB", .got = "other bytes"});
                  HEADRACE_TRY(check_checksum(bytes, "an extensible array block"));
                  cursor.skip(self.block_head() - 4);
                  return add_entries(*self.found, cursor, at, end, self.first, self.entry);
                });
  }

  // Levels whose data blocks are listed in the index block itself.
  int inner_levels() const { return 2 * std::countr_zero(pointers); }
};

}  // namespace

void read_fixed_array(const FoundChunksPtr& found, uint64_t address) {
  const uint64_t length = 8 + static_cast<uint64_t>(found->place.sizes.length + found->place.sizes.address);
  found->read(address, length + kChecksum,
              [found](std::span<const std::byte> bytes) { return FixedArray{found}.header(bytes); });
}

void read_extensible_array(const FoundChunksPtr& found, uint64_t address) {
  const uint64_t length =
      12 + static_cast<uint64_t>(6 * found->place.sizes.length + found->place.sizes.address);
  const auto grows = std::ranges::find(found->dataset->max_dims, kNowhere);
  const auto first = grows == found->dataset->max_dims.end()
                         ? size_t{0}
                         : static_cast<size_t>(grows - found->dataset->max_dims.begin());
  found->read(address, length + kChecksum, [found, first](std::span<const std::byte> bytes) {
    return ExtensibleArray{found, first}.header(bytes);
  });
}

}  // namespace headrace::hdf5
