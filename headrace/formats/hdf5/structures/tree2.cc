#include "headrace/formats/hdf5/structures/tree2.h"

#include <bit>
#include <memory>

#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/structures/checksum.h"

namespace headrace::hdf5 {
namespace {

constexpr int kMostDepth = 32;
constexpr uint64_t kNodeHead = 6;

int bytes_for(uint64_t number) { return std::max(1, (static_cast<int>(std::bit_width(number)) + 7) / 8); }

struct Tree2Walk : std::enable_shared_from_this<Tree2Walk> {
  Tree2Walk(Fetches& all, Fetches::Owner whose, Place where, Tree2Visit what)
      : fetches(all), owner(whose), place(where), visit(std::move(what)) {}

  Fetches& fetches;
  Fetches::Owner owner;
  Place place;
  Tree2Visit visit;
  Tree2 tree;
  uint64_t node_bytes = 0, seen = 0;
  size_t waiting = 0;
  // By depth of a node, leaves first: sizes of the counts of its children.
  int count_bytes = 1;
  int total_bytes[kMostDepth + 1] = {};

  Status header(std::span<const std::byte> bytes) {
    Cursor cursor(bytes, place.sizes);
    if (!cursor.signature("BTHD")) return corrupt({.expected = "BTHD", .got = "other bytes"});
    HEADRACE_TRY(check_checksum(bytes, "a B-tree"));
    const uint8_t version = cursor.u8();
    tree.type = cursor.u8(), node_bytes = cursor.u32(), tree.record_bytes = cursor.u16();
    const uint16_t depth = cursor.u16();
    cursor.skip(2);  // when nodes are split and merged
    const uint64_t root = cursor.address(), count = cursor.u16();
    tree.records = cursor.length();
    if (version != 0 || tree.record_bytes == 0 || depth > kMostDepth ||
        node_bytes < kNodeHead + kChecksum + tree.record_bytes)
      return corrupt("expected a B-tree of version 0 with records in its nodes");
    measure(depth);
    if (root == kNowhere || tree.records == 0) return visit.end();
    ask(root, count, depth);
    return {};
  }

  void measure(int depth) {
    uint64_t most = (node_bytes - kNodeHead - kChecksum) / tree.record_bytes, all = most;
    count_bytes = bytes_for(most);
    total_bytes[0] = 0;
    for (int d = 1; d <= depth; ++d) {
      const uint64_t pointer = pointer_bytes(d);
      most = (node_bytes - kNodeHead - kChecksum) / (tree.record_bytes + pointer);
      all = saturating_add(saturating_mul(most + 1, all), most);
      total_bytes[d] = bytes_for(all);
    }
  }
  uint64_t pointer_bytes(int depth) const {
    return static_cast<uint64_t>(place.sizes.address + count_bytes +
                                 (depth > 1 ? total_bytes[depth - 1] : 0));
  }

  void ask(uint64_t address, uint64_t count, int depth) {
    ++waiting;
    const uint64_t length = kNodeHead + count * tree.record_bytes +
                            (depth > 0 ? (count + 1) * pointer_bytes(depth) : 0) + kChecksum;
    fetches.ask_all(owner, place.base + address, length,
                    [self = shared_from_this(), count, depth](std::span<const std::byte> bytes) {
                      return self->node(bytes, count, depth);
                    });
  }

  Status node(std::span<const std::byte> bytes, uint64_t count, int depth) {
    Cursor cursor(bytes, place.sizes);
    if (!cursor.signature(depth > 0 ? "BTIN" : "BTLF"))
      return corrupt({.expected = "a B-tree node", .got = "other bytes"});
    HEADRACE_TRY(check_checksum(bytes, "a B-tree node"));
    cursor.skip(2);
    seen += count;
    if (seen > tree.records)
      return corrupt({.expected = std::to_string(tree.records) + " records", .got = "more"});
    for (uint64_t i = 0; i < count; ++i)
      HEADRACE_TRY(visit.record(tree, Cursor(cursor.take(tree.record_bytes), place.sizes)));
    for (uint64_t i = 0; depth > 0 && i <= count; ++i) {
      const uint64_t address = cursor.address(), below = cursor.number(count_bytes);
      if (depth > 1) cursor.skip(static_cast<size_t>(total_bytes[depth - 1]));
      ask(address, below, depth - 1);
    }
    HEADRACE_TRY(cursor.check("a B-tree node"));
    return --waiting == 0 ? visit.end() : Status();
  }
};

}  // namespace

void read_tree2(Fetches& fetches, Fetches::Owner owner, Place place, uint64_t address, Tree2Visit visit) {
  auto walk = std::make_shared<Tree2Walk>(fetches, owner, place, std::move(visit));
  const uint64_t length =
      4 + 2 + 4 + 2 + 2 + 2 + 2 + kChecksum + static_cast<uint64_t>(place.sizes.address + place.sizes.length);
  fetches.ask_all(owner, place.base + address, length,
                  [walk](std::span<const std::byte> bytes) { return walk->header(bytes); });
}

}  // namespace headrace::hdf5
