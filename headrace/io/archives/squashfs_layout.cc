#include "headrace/io/archives/squashfs_layout.h"

#include <algorithm>
#include <bit>

#include "headrace/codecs/deflate/whole.h"
#include "headrace/codecs/packed/within.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"

namespace headrace::squashfs {
namespace {

constexpr uint32_t kMagic = 0x73717368;
constexpr uint64_t kNoTable = ~uint64_t{0};
constexpr uint32_t kLeastBlock = 4096, kMostBlock = 1 << 20;
constexpr uint32_t kPlainMetadata = 1 << 15;  // in a block's header: it is not compressed
constexpr size_t kInodeHead = 16, kEntryHead = 8, kRunHead = 12;
constexpr uint32_t kMostRun = 256, kLongestName = 256, kLongestTarget = 65535;

std::string packing_name(Packing packing) {
  constexpr std::string_view names[] = {"gzip", "lzma", "lzo", "xz", "lz4", "zstd"};
  const auto number = static_cast<size_t>(packing);
  return number >= 1 && number <= 6 ? std::string(names[number - 1]) : "packing " + std::to_string(number);
}

Status cut(std::string_view what) { return corrupt(std::string(what) + " is cut off"); }

}  // namespace

Result<Superblock> read_superblock(std::span<const std::byte> head, uint64_t file_size) {
  if (head.size() < kSuperblock || load<uint32_t>(head) != kMagic) return corrupt("not a squashfs image");
  const uint32_t major = load<uint16_t>(head, 28), minor = load<uint16_t>(head, 30);
  if (major != 4 || minor != 0)
    return Status(Code::unavailable,
                  {.expected = "squashfs 4.0", .got = std::to_string(major) + "." + std::to_string(minor)});
  Superblock out;
  out.inodes = load<uint32_t>(head, 4), out.block_size = load<uint32_t>(head, 12);
  out.fragments = load<uint32_t>(head, 16), out.packing = static_cast<Packing>(load<uint16_t>(head, 20));
  out.root = load<uint64_t>(head, 32), out.bytes = load<uint64_t>(head, 40);
  out.inode_table = load<uint64_t>(head, 64), out.directory_table = load<uint64_t>(head, 72);
  out.fragment_table = load<uint64_t>(head, 80);
  if (!std::has_single_bit(out.block_size) || out.block_size < kLeastBlock || out.block_size > kMostBlock)
    return corrupt("the block size must be a power of two from 4096 to 1048576 bytes, got " +
                   std::to_string(out.block_size));
  if (out.bytes > file_size)
    return corrupt({.expected = "an image of " + std::to_string(out.bytes) + " bytes",
                    .got = std::to_string(file_size) + ": it is cut off"});
  if (out.inode_table < kSuperblock || out.directory_table < out.inode_table ||
      out.directory_table > out.bytes)
    return corrupt("tables must be inside the image, got those of inodes and directories at bytes " +
                   std::to_string(out.inode_table) + " and " + std::to_string(out.directory_table));
  if (out.packing != Packing::gzip && out.packing != Packing::lz4 && out.packing != Packing::zstd)
    return Status(Code::unavailable, {.expected = "a squashfs image compressed with gzip, lz4 or zstd",
                                      .got = std::string(packing_name(out.packing)),
                                      .fix = "`mksquashfs -comp zstd` makes one"});
  // Fragments follow the directories, then exports, then ids; each is blocks, followed by their positions.
  const uint64_t exports = load<uint64_t>(head, 88), ids = load<uint64_t>(head, 48);
  out.next_table = out.fragments > 0 ? out.fragment_table : exports != kNoTable ? exports : ids;
  if (out.next_table < out.directory_table || out.next_table > out.bytes || out.bytes - out.next_table < 8)
    return corrupt(
        {.expected = "a table after the directories", .got = "byte " + std::to_string(out.next_table)});
  return out;
}

Result<size_t> unpack(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out) {
  if (packing == Packing::gzip) return inflate_whole(DeflateFrame::zlib, packed, out);
  return packing == Packing::zstd ? unpack_zstd_within(packed, out) : unpack_lz4_within(packed, out);
}

Result<Table> Table::unpack(Packing packing, std::span<const std::byte> bytes, uint64_t most) {
  Table out;
  for (size_t at = 0; at < bytes.size();) {
    if (bytes.size() - at < 2) return cut("a metadata block");
    const uint32_t head = load<uint16_t>(bytes, at);
    uint32_t size = head & ~kPlainMetadata;
    if (size == 0) size = kPlainMetadata;
    if (size > bytes.size() - at - 2) return cut("a metadata block");
    const std::span<const std::byte> block = bytes.subspan(at + 2, size);
    const size_t before = out.bytes_.size();
    if (before > most)
      return Status(Code::exhausted,
                    {.expected = "tables of at most " + std::to_string(most) + " bytes", .got = "more"});
    out.begins_.emplace(at, before);
    if (head & kPlainMetadata) {
      if (size > kMetadata)
        return corrupt({.expected = "metadata blocks of at most 8192 bytes", .got = std::to_string(size)});
      out.bytes_.insert(out.bytes_.end(), block.begin(), block.end());
    } else {
      out.bytes_.resize(before + kMetadata);
      HEADRACE_ASSIGN(const size_t made,
                      squashfs::unpack(packing, block, std::span(out.bytes_).subspan(before)));
      out.bytes_.resize(before + made);
    }
    at += 2 + size;
  }
  return out;
}

Result<std::span<const std::byte>> Table::from(uint64_t block, uint32_t offset) const {
  const auto it = begins_.find(block);
  if (it == begins_.end() || offset > bytes_.size() - it->second)
    return corrupt("expected a metadata block at byte " + std::to_string(block) +
                   " of its table, but there is none");
  return std::span(bytes_).subspan(it->second + offset);
}

Result<Inode> read_inode(const Table& inodes, uint64_t reference, const Superblock& super) {
  HEADRACE_ASSIGN(const std::span<const std::byte> bytes,
                  inodes.from(reference >> 16, static_cast<uint32_t>(reference & 0xffff)));
  if (bytes.size() < kInodeHead) return cut("an inode");
  const uint32_t type = load<uint16_t>(bytes);
  const std::span<const std::byte> rest = bytes.subspan(kInodeHead);
  Inode out;
  const auto take_blocks = [&](size_t at) -> Status {
    const bool has_tail = out.fragment != kNoFragment;
    const uint64_t whole = out.size / super.block_size, tail = out.size % super.block_size;
    const uint64_t count = whole + (!has_tail && tail > 0 ? 1 : 0);
    if (rest.size() < at || count > (rest.size() - at) / 4) return cut("the list of a file's blocks");
    if (has_tail && (out.fragment >= super.fragments || out.fragment_offset > super.block_size ||
                     tail > super.block_size - out.fragment_offset))
      return corrupt("the end of a file must be inside a fragment, got fragment " +
                     std::to_string(out.fragment) + " at byte " + std::to_string(out.fragment_offset));
    out.blocks = rest.subspan(at, count * 4);
    return {};
  };
  switch (type) {
    case 1:
      if (rest.size() < 16) return cut("an inode");
      out.kind = Kind::folder, out.entries_block = load<uint32_t>(rest);
      out.entries_bytes = load<uint16_t>(rest, 8), out.entries_offset = load<uint16_t>(rest, 10);
      return out;
    case 8:
      if (rest.size() < 24) return cut("an inode");
      out.kind = Kind::folder, out.entries_bytes = load<uint32_t>(rest, 4);
      out.entries_block = load<uint32_t>(rest, 8), out.entries_offset = load<uint16_t>(rest, 18);
      return out;
    case 2:
      if (rest.size() < 16) return cut("an inode");
      out.kind = Kind::file, out.start = load<uint32_t>(rest), out.fragment = load<uint32_t>(rest, 4);
      out.fragment_offset = load<uint32_t>(rest, 8), out.size = load<uint32_t>(rest, 12);
      HEADRACE_TRY(take_blocks(16));
      return out;
    case 9:
      if (rest.size() < 40) return cut("an inode");
      out.kind = Kind::file, out.start = load<uint64_t>(rest), out.size = load<uint64_t>(rest, 8);
      out.links = load<uint32_t>(rest, 24);
      out.fragment = load<uint32_t>(rest, 28), out.fragment_offset = load<uint32_t>(rest, 32);
      HEADRACE_TRY(take_blocks(40));
      return out;
    case 3:
    case 10: {
      if (rest.size() < 8) return cut("an inode");
      out.kind = Kind::link, out.links = load<uint32_t>(rest);
      const uint32_t length = load<uint32_t>(rest, 4);
      if (length > kLongestTarget || length > rest.size() - 8) return cut("a link's target");
      out.target = {reinterpret_cast<const char*>(rest.data() + 8), length};
      return out;
    }
    default: return out;
  }
}

Status walk_entries(std::span<const std::byte> bytes, const std::function<Status(const Entry& entry)>& take) {
  std::string_view last;
  while (!bytes.empty()) {
    if (bytes.size() < kRunHead) return cut("a folder's entries");
    const uint32_t count = load<uint32_t>(bytes);
    const uint64_t block = load<uint32_t>(bytes, 4);
    if (count >= kMostRun)
      return corrupt(
          {.expected = "at most 256 entries in a run", .got = std::to_string(uint64_t{count} + 1)});
    bytes = bytes.subspan(kRunHead);
    for (uint32_t i = 0; i <= count; ++i) {
      if (bytes.size() < kEntryHead) return cut("a folder's entries");
      const size_t length = size_t{load<uint16_t>(bytes, 6)} + 1;
      if (length > bytes.size() - kEntryHead) return cut("a folder's entries");
      if (length > kLongestName)
        return corrupt({.expected = "names of at most 256 bytes", .got = std::to_string(length)});
      const std::string_view name{reinterpret_cast<const char*>(bytes.data() + kEntryHead), length};
      if (name <= last)
        return corrupt({.expected = "the names of a folder in order without duplicates",
                        .got = in_quotes(name) + " after " + in_quotes(last)});
      last = name;
      const uint32_t type = load<uint16_t>(bytes, 4);
      const Kind kind = type >= 1 && type <= 3 ? static_cast<Kind>(type) : Kind::other;
      HEADRACE_TRY(take({block << 16 | load<uint16_t>(bytes), kind, name}));
      bytes = bytes.subspan(kEntryHead + length);
    }
  }
  return {};
}

}  // namespace headrace::squashfs
