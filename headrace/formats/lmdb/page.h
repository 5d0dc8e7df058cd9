// The pages of an LMDB file, checked against their own bytes. Pure functions; any thread.
//
// A page begins with u64 its number, u16, u16 flags, u16 lower, u16 upper; u16 pointers to its nodes follow
// up to `lower`. Pages 0 and 1 are the two metas, each the root of one transaction. All little-endian, as a
// 64-bit machine writes them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "headrace/core/little_endian.h"
#include "headrace/core/status.h"

namespace headrace {

inline constexpr uint64_t kLmdbPageHeader = 16, kLmdbMetaBytes = 152;
inline constexpr uint64_t kNoLmdbPage = ~uint64_t{0};
inline constexpr uint16_t kMostLmdbDepth = 32;  // as in LMDB's own cursor

struct LmdbMeta {
  uint32_t page_size = 0;         // of page 0 only
  uint16_t flags = 0, depth = 0;  // of the main database
  uint64_t entries = 0, root = kNoLmdbPage, last_page = 0, transaction = 0;
};

// Whether the bytes begin like page 0 of an LMDB file.
bool is_lmdb(std::span<const std::byte> head);
// The meta of page `number`, 0 or 1. `page`: its first kLmdbMetaBytes.
Result<LmdbMeta> lmdb_meta(std::span<const std::byte> page, uint64_t number);

struct LmdbNode {
  std::span<const std::byte> key;
  std::span<const std::byte> value;  // if it is inside the page, else empty
  bool is_big = false;               // the value begins kLmdbPageHeader bytes into another page
  uint64_t page = 0;                 // that page
  uint64_t size = 0;                 // of the value
};

class LmdbPage {
 public:
  enum class Kind : uint8_t { branch, leaf };
  // `bytes`: all of page `number`.
  static Result<LmdbPage> parse(std::span<const std::byte> bytes, uint64_t number, Kind kind);

  size_t nodes() const { return nodes_; }
  // Whether these are all nodes: the lowest is at the offset in the page's header. REQUIRES: each can be
  // read.
  bool has_all_nodes() const;
  Result<uint64_t> child(size_t i) const;  // of a branch
  Result<LmdbNode> node(size_t i) const;   // of a leaf
  // A leaf's node with its value inside, the value right after the key; nothing: node() handles it or gives
  // the error. Reads each byte once.
  struct SmallNode {
    std::span<const std::byte> bytes;
    size_t key = 0;  // size of the key
  };
  std::optional<SmallNode> small_node(size_t i) const {
    if (i >= nodes_) return std::nullopt;
    const auto begin = load_once<uint16_t>(bytes_, kLmdbPageHeader + 2 * i);
    if (begin < kLmdbPageHeader + 2 * nodes_ || bytes_.size() < begin + kNodeHeader) return std::nullopt;
    const auto node = bytes_.subspan(begin);
    const size_t size = load_once<uint32_t>(node, 0), key = load_once<uint16_t>(node, 6);
    if (load<uint16_t>(node, 4) != 0 || key + size > node.size() - kNodeHeader) return std::nullopt;
    return SmallNode{node.subspan(kNodeHeader, key + size), key};
  }
  void expect(size_t i) const;  // prefetch: small_node(i) comes soon

 private:
  static constexpr uint64_t kNodeHeader = 8;
  LmdbPage(std::span<const std::byte> bytes, size_t nodes) : bytes_(bytes), nodes_(nodes) {}
  Result<std::span<const std::byte>> node_bytes(size_t i) const;  // from its first byte to the page's end

  std::span<const std::byte> bytes_;
  size_t nodes_;
};

// The value that begins in page `number`; `bytes`: the page's header and the value.
Result<std::span<const std::byte>> lmdb_big_value(std::span<const std::byte> bytes, uint64_t number,
                                                  uint64_t page_size);

}  // namespace headrace
