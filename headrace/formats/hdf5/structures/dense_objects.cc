// Links of a large group, or attributes of an object that has many: messages in a fractal heap, found through
// a B-tree of their names.
//
// The heap's objects are in blocks, and blocks in rows: each row has the same number of blocks, whose sizes
// double from the second row on. An object's position is an offset into the concatenation of all blocks.
#include "headrace/formats/hdf5/structures/dense_objects.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/structures/checksum.h"
#include "headrace/formats/hdf5/structures/tree2.h"

namespace headrace::hdf5 {
namespace {

constexpr int kMostHeapRows = 64;
constexpr int kMostHeapDepth = 32;

struct HeapBlock {
  uint64_t offset = 0, size = 0;  // in the heap
  uint64_t address = 0;
};

struct DenseObjects : std::enable_shared_from_this<DenseObjects> {
  DenseObjects(Fetches& all, Fetches::Owner whose, Place where, uint64_t names, Dense what,
               WithObject then_do)
      : fetches(all), owner(whose), place(where), tree(names), kind(what), then(std::move(then_do)) {}

  Fetches& fetches;
  Fetches::Owner owner;
  Place place;
  uint64_t tree;
  Dense kind;
  WithObject then;

  uint64_t start_size = 0, most_direct = 0, width = 0;
  int offset_bytes = 0, length_bytes = 0;
  bool has_checksums = false;
  std::vector<HeapBlock> blocks;
  size_t waiting = 0;

  Result<uint64_t> header(std::span<const std::byte> bytes) {
    Cursor cursor(bytes, place.sizes);
    if (!cursor.signature("FRHP")) return corrupt({.expected = "a fractal heap", .got = "other bytes"});
    cursor.skip(1 + 2);
    const uint16_t filters = cursor.u16();
    has_checksums = (cursor.u8() & 2) != 0;
    const uint64_t most_object = cursor.u32();
    (void)cursor.length(), (void)cursor.address();      // large objects
    (void)cursor.length(), (void)cursor.address();      // free space
    for (int i = 0; i < 8; ++i) (void)cursor.length();  // numbers and sizes of objects
    width = cursor.u16(), start_size = cursor.length(), most_direct = cursor.length();
    const uint16_t bits = cursor.u16();
    cursor.skip(2);
    const uint64_t root = cursor.address();
    const uint16_t rows = cursor.u16();
    HEADRACE_TRY(cursor.check("a fractal heap"));
    if (filters != 0)
      return Status(Code::unavailable, is_of_links() ? "cannot read groups whose links are compressed"
                                                     : "cannot read attributes that are compressed");
    if (width == 0 || !std::has_single_bit(start_size) || !std::has_single_bit(most_direct) ||
        most_direct < start_size || bits == 0 || bits > 64 || rows > kMostHeapRows)
      return corrupt("expected a fractal heap whose block sizes are powers of two");
    offset_bytes = (bits + 7) / 8;
    length_bytes =
        std::max(1, (static_cast<int>(std::bit_width(std::min(most_direct, most_object))) + 7) / 8);
    if (root == kNowhere) return uint64_t{0};
    if (rows == 0) {
      blocks.push_back({0, start_size, root});
      return read_names();
    }
    ask(root, 0, rows, kMostHeapDepth);
    return uint64_t{0};
  }

  bool is_of_links() const { return kind == Dense::links; }
  uint64_t row_size(int row) const { return row == 0 ? start_size : start_size << (row - 1); }

  void ask(uint64_t address, uint64_t offset, int rows, int depth) {
    ++waiting;
    const uint64_t length = 5 + static_cast<uint64_t>(place.sizes.address + offset_bytes) +
                            static_cast<uint64_t>(rows) * width * static_cast<uint64_t>(place.sizes.address) +
                            4;
    fetches.ask_all(owner, saturating_add(place.base, address), length,
                    [self = shared_from_this(), offset, rows, depth](std::span<const std::byte> bytes) {
                      return self->indirect(bytes, offset, rows, depth);
                    });
  }

  Status indirect(std::span<const std::byte> bytes, uint64_t offset, int rows, int depth) {
    Cursor cursor(bytes, place.sizes);
    if (!cursor.signature("FHIB")) return corrupt({.expected = "a fractal heap block", .got = "other bytes"});
    HEADRACE_TRY(check_checksum(bytes, "a fractal heap block"));
    cursor.skip(1 + static_cast<size_t>(place.sizes.address + offset_bytes));
    const int direct_rows = std::countr_zero(most_direct) - std::countr_zero(start_size) + 2;
    for (int row = 0; row < rows; ++row)
      for (uint64_t i = 0; i < width; ++i, offset += row_size(row)) {
        const uint64_t address = cursor.address();
        if (address == kNowhere) continue;
        if (row < direct_rows) {
          blocks.push_back({offset, row_size(row), address});
          continue;
        }
        const auto below = static_cast<int>(std::bit_width(row_size(row) / start_size / width));
        if (depth == 0 || below < 1) return corrupt("expected a fractal heap that is not nested that deeply");
        ask(address, offset, std::min(below, kMostHeapRows), depth - 1);
      }
    HEADRACE_TRY(cursor.check("a fractal heap block"));
    return --waiting == 0 ? read_names().status() : Status();
  }

  Result<uint64_t> read_names() {
    std::ranges::sort(blocks, {}, &HeapBlock::offset);
    read_tree2(
        fetches, owner, place, tree, {[self = shared_from_this()](const Tree2& about, Cursor record) {
          if (about.type != static_cast<uint8_t>(self->kind))
            return corrupt({.expected = "a B-tree of names", .got = "type " + std::to_string(about.type)});
          if (self->is_of_links()) record.skip(4);  // the name's hash
          return self->read_object(record);
        }});
    return uint64_t{0};
  }

  Status read_object(Cursor id) {
    const uint8_t flags = id.u8();
    const uint64_t offset = id.number(offset_bytes), length = id.number(length_bytes);
    HEADRACE_TRY(id.check("a fractal heap ID"));
    if ((flags & 0x30) != 0) {
      if (!is_of_links()) return {};  // more than is read of an attribute
      return {Code::unavailable, "cannot read links that are larger than their heap's blocks"};
    }
    const auto after = std::ranges::upper_bound(blocks, offset, {}, &HeapBlock::offset);
    if (after == blocks.begin() || offset - after[-1].offset >= after[-1].size ||
        length > after[-1].size - (offset - after[-1].offset))
      return corrupt(std::string(is_of_links() ? "expected a link" : "expected an attribute") +
                     " inside its heap, got one at byte " + std::to_string(offset) + " of it");
    fetches.ask_all(owner, saturating_add(place.base, after[-1].address + (offset - after[-1].offset)),
                    length, [self = shared_from_this()](std::span<const std::byte> bytes) {
                      return self->then(Cursor(bytes, self->place.sizes));
                    });
    return {};
  }
};

}  // namespace

void read_dense_objects(Fetches& fetches, Fetches::Owner owner, Place place, uint64_t heap, uint64_t names,
                        Dense kind, WithObject then) {
  auto objects = std::make_shared<DenseObjects>(fetches, owner, place, names, kind, std::move(then));
  const uint64_t length = 26 + static_cast<uint64_t>(12 * place.sizes.length + 3 * place.sizes.address);
  fetches.ask(owner, saturating_add(place.base, heap), length,
              [objects](std::span<const std::byte> bytes) { return objects->header(bytes); });
}

}  // namespace headrace::hdf5
