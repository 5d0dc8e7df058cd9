// The structures of a squashfs 4.0 image: superblock, tables of metadata blocks, inodes, directories. Every
// number is checked against the image. Pure functions; any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headrace/core/status.h"

namespace headrace::squashfs {

inline constexpr uint64_t kSuperblock = 96;  // bytes
inline constexpr uint32_t kMetadata = 8192;  // bytes of an unpacked metadata block
inline constexpr uint32_t kNoFragment = ~uint32_t{0};
inline constexpr uint32_t kPlain = 1 << 24;  // in the size of a data block: it is not compressed

enum class Packing : uint16_t { gzip = 1, lzma = 2, lzo = 3, xz = 4, lz4 = 5, zstd = 6 };

struct Superblock {
  uint32_t inodes = 0, block_size = 0, fragments = 0;
  Packing packing = Packing::gzip;
  uint64_t root = 0;  // reference of an inode
  uint64_t bytes = 0;
  uint64_t inode_table = 0, directory_table = 0, fragment_table = 0;
  uint64_t next_table = 0;  // where eight bytes state the position of what follows the directories
};
// An unsupported compression is refused by name.
Result<Superblock> read_superblock(std::span<const std::byte> head, uint64_t file_size);

// Decompresses a block to the front of `out`; returns the number of bytes.
Result<size_t> unpack(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out);

// A table of metadata blocks, unpacked: bytes are addressed by where their block begins, and their offset in
// it.
class Table {
 public:
  // `bytes`: from the first block on, and nothing that is not a block. At most `most` bytes unpacked.
  static Result<Table> unpack(Packing packing, std::span<const std::byte> bytes, uint64_t most);
  // The bytes from there on. An error when no block begins there.
  Result<std::span<const std::byte>> from(uint64_t block, uint32_t offset) const;
  size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
  std::unordered_map<uint64_t, uint64_t> begins_;  // of each block, by its compressed position
};

enum class Kind : uint16_t { folder = 1, file = 2, link = 3, other = 4 };

struct Inode {
  Kind kind = Kind::other;
  uint32_t links = 1;  // names of the file or link, as stated by the inode
  // A file:
  uint64_t start = 0, size = 0;
  uint32_t fragment = kNoFragment, fragment_offset = 0;
  std::span<const std::byte> blocks;  // sizes of its blocks, four bytes each; inside the table
  // A folder: where its entries are, and their size in bytes.
  uint32_t entries_block = 0, entries_offset = 0, entries_bytes = 0;
  std::string_view target;  // a link; inside the table
};
Result<Inode> read_inode(const Table& inodes, uint64_t reference, const Superblock& super);

struct Entry {
  uint64_t inode = 0;  // reference
  Kind kind = Kind::other;
  std::string_view name;
};
// `bytes`: those of a folder. Names are in the order of their bytes, without duplicates.
Status walk_entries(std::span<const std::byte> bytes, const std::function<Status(const Entry& entry)>& take);

struct Fragment {
  uint64_t start = 0;
  uint32_t size = 0;  // with kPlain
};

}  // namespace headrace::squashfs
