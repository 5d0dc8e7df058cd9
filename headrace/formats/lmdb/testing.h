// Makes LMDB files in memory, for tests and fuzz seeds: as LMDB leaves them after one transaction.
#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "headrace/formats/lmdb/page.h"

namespace headrace {

class LmdbMaker {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;  // sorted by key

  explicit LmdbMaker(size_t page_size = 512) : page_size_(page_size), bytes_(2 * page_size, '\0') {}

  std::string make(const Pairs& pairs) {
    std::vector<Node> level;
    for (const auto& [key, value] : pairs) level.push_back(leaf_node(key, value));
    uint64_t root = kNoLmdbPage;
    uint16_t depth = 0;
    for (uint16_t flags = 2; !level.empty() && (depth == 0 || level.size() > 1); flags = 1, ++depth)
      level = write_level(level, flags);
    if (!level.empty()) root = level[0].child;
    write_meta(0, {}, 0), write_meta(1, {depth, pairs.size(), root}, 1);
    return bytes_;
  }

  template <class T> static void put(std::string& bytes, size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }

 private:
  struct Node {
    std::string key, bytes;
    uint64_t child = 0;
  };
  struct Tree {
    uint16_t depth = 0;
    uint64_t entries = 0, root = kNoLmdbPage;
  };

  uint64_t add_pages(uint16_t flags, size_t count) {
    const uint64_t number = bytes_.size() / page_size_;
    bytes_.resize(bytes_.size() + count * page_size_);
    put(bytes_, number * page_size_, number), put(bytes_, number * page_size_ + 10, flags);
    return number;
  }

  static std::string node(uint32_t low, uint16_t flags, const std::string& key, const std::string& data) {
    std::string out(8, '\0');
    put(out, 0, low), put(out, 4, flags), put(out, 6, static_cast<uint16_t>(key.size()));
    out += key + data;
    return out + std::string(out.size() % 2, '\0');
  }

  Node leaf_node(const std::string& key, const std::string& value) {
    const auto size = static_cast<uint32_t>(value.size());
    if (value.size() <= page_size_ / 4) return {key, node(size, 0, key, value)};
    const size_t count = (kLmdbPageHeader + value.size() + page_size_ - 1) / page_size_;
    const uint64_t page = add_pages(4, count);
    put(bytes_, page * page_size_ + 12, static_cast<uint32_t>(count));
    bytes_.replace(page * page_size_ + kLmdbPageHeader, value.size(), value);
    return {key, node(size, 1, key, std::string(reinterpret_cast<const char*>(&page), 8))};
  }

  // Writes pages of these nodes; returns a branch node for each.
  std::vector<Node> write_level(const std::vector<Node>& nodes, uint16_t flags) {
    std::vector<Node> out;
    size_t lower = 0, upper = 0;
    for (const Node& each : nodes) {
      if (out.empty() || upper - lower < each.bytes.size() + 2) {
        out.push_back({each.key, {}, add_pages(flags, 1)});
        lower = kLmdbPageHeader, upper = page_size_;
      }
      const size_t page = out.back().child * page_size_;
      upper -= each.bytes.size();
      bytes_.replace(page + upper, each.bytes.size(), each.bytes);
      put(bytes_, page + lower, static_cast<uint16_t>(upper));
      lower += 2;
      put(bytes_, page + 12, static_cast<uint16_t>(lower)),
          put(bytes_, page + 14, static_cast<uint16_t>(upper));
    }
    for (Node& each : out)
      each.bytes =
          node(static_cast<uint32_t>(each.child), static_cast<uint16_t>(each.child >> 32), each.key, "");
    return out;
  }

  void write_meta(uint64_t number, Tree tree, uint64_t transaction) {
    const size_t at = number * page_size_;
    put(bytes_, at, number), put(bytes_, at + 10, uint16_t{8});
    put(bytes_, at + 16, uint32_t{0xbeefc0de}), put(bytes_, at + 20, uint32_t{1});
    put(bytes_, at + 40, static_cast<uint32_t>(page_size_)), put(bytes_, at + 80, kNoLmdbPage);
    put(bytes_, at + 94, tree.depth), put(bytes_, at + 120, tree.entries), put(bytes_, at + 128, tree.root);
    put(bytes_, at + 136, uint64_t{bytes_.size() / page_size_ - 1}), put(bytes_, at + 144, transaction);
  }

  size_t page_size_;
  std::string bytes_;
};

// A Datum as Caffe writes it. Sides of 0 are left out.
inline std::string datum_bytes(int64_t channels, int64_t height, int64_t width, const std::string& data,
                               int64_t label, bool encoded) {
  const auto varint = [](uint64_t value) {
    std::string out;
    for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
    return out + static_cast<char>(value);
  };
  std::string out;
  const int64_t sides[] = {channels, height, width};
  for (uint64_t field = 1; field <= 3; ++field)
    if (sides[field - 1] != 0) out += varint(field << 3) + varint(static_cast<uint64_t>(sides[field - 1]));
  out +=
      varint(4 << 3 | 2) + varint(data.size()) + data + varint(5 << 3) + varint(static_cast<uint64_t>(label));
  return encoded ? out + varint(7 << 3) + varint(1) : out;
}

}  // namespace headrace
