// Squashfs images: see README.md in this folder.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"
#include "headrace/io/archives/archive.h"
#include "headrace/io/archives/reused_bytes.h"
#include "headrace/io/archives/squashfs_layout.h"
#include "headrace/io/archives/unpacked_cache.h"

namespace headrace {
namespace {

using namespace squashfs;

constexpr int kMostDepth = 128;                     // nested folders: each is a recursion
constexpr uint64_t kMostTable = uint64_t{1} << 30;  // bytes, unpacked
constexpr uint64_t kKnownInode = 48;                // bytes of an entry in a set or map, about
constexpr uint64_t kPerFragmentBlock = kMetadata / 16;
constexpr uint64_t kFewBlocks = 4;  // too few to share among links to one file

class SquashfsArchive final : public Archive {
 public:
  SquashfsArchive(std::shared_ptr<OpenFile> file, const Superblock& super)
      : file_(std::move(file)), super_(super), id_(next_archive_id()) {}

  Status read();

  const ArchiveNames& names() const override { return names_; }
  uint64_t size_of(uint32_t number) const override { return files_[number].size; }
  Result<std::unique_ptr<OpenFile>> open(uint32_t number, std::shared_ptr<const Archive> self) const override;
  size_t held_bytes() const override {
    return names_.held_bytes() + files_.size() * sizeof(Kept) + blocks_.size() * sizeof(uint32_t) +
           fragments_.size() * sizeof(Fragment);
  }

  struct Kept {
    uint64_t start = 0, size = 0, first_block = 0;  // of blocks_
    uint32_t fragment = kNoFragment, fragment_offset = 0;
  };
  const Kept& kept(uint32_t number) const { return files_[number]; }
  uint64_t blocks_of(const Kept& kept) const {
    const uint64_t whole = kept.size / super_.block_size;
    return whole + (kept.fragment == kNoFragment && kept.size % super_.block_size > 0 ? 1 : 0);
  }
  uint32_t stored_size(const Kept& kept, uint64_t block) const { return blocks_[kept.first_block + block]; }
  uint32_t block_size() const { return super_.block_size; }

  // Fills `out` from an offset in a block that starts at `start` and unpacks to `size` bytes; a block with
  // the ends of several files unpacks to at least that.
  Status read_block(uint64_t start, uint32_t stored, uint32_t size, bool is_shared, uint32_t offset,
                    std::span<std::byte> out) const;
  Status read_fragment(const Kept& kept, uint32_t offset, std::span<std::byte> out) const;

 private:
  struct Reading {
    Table inodes, entries;
    ArchiveContents contents;
    std::unordered_set<uint64_t> folders = {};               // that were entered
    std::unordered_map<uint64_t, uint32_t> long_files = {};  // by inode
    std::unordered_map<uint64_t, uint32_t> linked = {};      // by inode with several names: names seen so far
    uint64_t listed = 0;                                     // bytes of entries
    uint64_t named = 1;                                      // inodes, each counted once: the root
  };
  Result<Table> table(uint64_t begin, uint64_t end) const;
  Status read_fragments();
  Status enter(Reading& reading, uint64_t inode, std::string& path, int depth);
  Status take(Reading& reading, const Entry& entry, std::string& path, int depth);
  Status take_inode(Reading& reading, const Entry& entry, const std::string& path);
  Status count_name(Reading& reading, const Entry& entry, uint32_t links) const;
  Status check_held(const Reading& reading, uint64_t more) const;
  uint32_t keep(Reading& reading, uint64_t reference, const Inode& inode);
  Result<size_t> unpack_block(uint64_t start, uint32_t stored, std::span<std::byte> out) const;

  std::shared_ptr<OpenFile> file_;
  Superblock super_;
  uint64_t id_;
  ArchiveNames names_;
  std::vector<Kept> files_;
  std::vector<uint32_t> blocks_;  // stored sizes, of all files
  std::vector<Fragment> fragments_;
};

class SquashfsFile final : public OpenFile {
 public:
  SquashfsFile(std::shared_ptr<const Archive> archive, const SquashfsArchive& image, uint32_t number)
      : archive_(std::move(archive)), image_(image), kept_(image.kept(number)) {}
  Result<uint64_t> size() override { return kept_.size; }

  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    if (offset >= kept_.size || out.empty()) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), kept_.size - offset));
    const uint64_t blocks = image_.blocks_of(kept_), block_size = image_.block_size();
    for (size_t done = 0; done < out.size();) {
      const uint64_t at = offset + done, block = at / block_size, begin = at % block_size;
      const uint64_t size = std::min(block_size, kept_.size - block * block_size);
      const auto part = out.subspan(done, std::min<uint64_t>(out.size() - done, size - begin));
      if (block < blocks) {
        HEADRACE_TRY(image_.read_block(place_of(block), image_.stored_size(kept_, block),
                                       static_cast<uint32_t>(size), false, static_cast<uint32_t>(begin),
                                       part));
      } else {
        HEADRACE_TRY(image_.read_fragment(kept_, static_cast<uint32_t>(begin), part));
      }
      done += part.size();
    }
    return out.size();
  }

 private:
  static constexpr uint64_t kStride = 64;

  // Blocks follow each other. The position of every 64th is kept.
  uint64_t place_of(uint64_t block) {
    uint64_t out = kept_.start, from = 0;
    if (block >= kStride) {
      std::call_once(is_counted_, [this] {
        uint64_t place = kept_.start;
        for (uint64_t i = 0; i < image_.blocks_of(kept_); ++i) {
          if (i % kStride == 0) places_.push_back(place);
          place += image_.stored_size(kept_, i) & (kPlain - 1);
        }
      });
      out = places_[block / kStride], from = block / kStride * kStride;
    }
    for (uint64_t i = from; i < block; ++i) out += image_.stored_size(kept_, i) & (kPlain - 1);
    return out;
  }

  std::shared_ptr<const Archive> archive_;  // is image_
  const SquashfsArchive& image_;
  const SquashfsArchive::Kept& kept_;
  std::once_flag is_counted_;
  std::vector<uint64_t> places_;
};

Result<Table> SquashfsArchive::table(uint64_t begin, uint64_t end) const {
  HEADRACE_ASSIGN(const BufferPtr bytes, read_bytes(*file_, begin, end - begin));
  return Table::unpack(super_.packing, bytes->bytes(), std::min(kMostTable, most_held(super_.bytes)));
}

// The positions of blocks of 512 fragments each follow these blocks.
Status SquashfsArchive::read_fragments() {
  if (super_.fragments == 0) return {};
  const uint64_t blocks = (super_.fragments + kPerFragmentBlock - 1) / kPerFragmentBlock;
  if (blocks > (super_.bytes - super_.fragment_table) / 8)
    return corrupt("expected a table of " + std::to_string(super_.fragments) +
                   " fragments, but it is cut off");
  HEADRACE_ASSIGN(const BufferPtr places, read_bytes(*file_, super_.fragment_table, blocks * 8));
  const auto first = load<uint64_t>(places->bytes());
  if (first < super_.directory_table || first > super_.fragment_table)
    return corrupt({.expected = "fragments before their table", .got = "byte " + std::to_string(first)});
  HEADRACE_ASSIGN(const Table entries, table(first, super_.fragment_table));
  if (super_.fragments > entries.size() / 16)
    return corrupt("expected a table of " + std::to_string(super_.fragments) +
                   " fragments, but it is cut off");
  fragments_.reserve(super_.fragments);
  for (uint32_t i = 0; i < super_.fragments; ++i) {
    const auto place = load<uint64_t>(places->bytes(), i / kPerFragmentBlock * 8);
    const auto offset = static_cast<uint32_t>(i % kPerFragmentBlock * 16);
    HEADRACE_ASSIGN(const std::span<const std::byte> bytes, entries.from(place - first, offset));
    if (bytes.size() < 16) return corrupt("expected fragments in their table, but it is cut off");
    fragments_.push_back({load<uint64_t>(bytes), load<uint32_t>(bytes, 8)});
  }
  return {};
}

Status SquashfsArchive::read() {
  HEADRACE_TRY(read_fragments());
  HEADRACE_ASSIGN(const BufferPtr next, read_bytes(*file_, super_.next_table, 8));
  const auto entries_end = load<uint64_t>(next->bytes());
  if (entries_end < super_.directory_table || entries_end > super_.bytes)
    return corrupt("folders must end inside the image, got byte " + std::to_string(entries_end));
  Reading reading;
  HEADRACE_ASSIGN(reading.inodes, table(super_.inode_table, super_.directory_table));
  HEADRACE_ASSIGN(reading.entries, table(super_.directory_table, entries_end));
  std::string path;
  HEADRACE_TRY(enter(reading, super_.root, path, 0));
  files_.shrink_to_fit(), blocks_.shrink_to_fit();
  HEADRACE_ASSIGN(names_, reading.contents.finish());
  return {};
}

Status SquashfsArchive::enter(Reading& reading, uint64_t reference, std::string& path, int depth) {
  if (depth > kMostDepth)
    return {Code::exhausted,
            Mismatch{.expected = "at most 128 nested folders", .got = "more at " + in_quotes(path)}};
  HEADRACE_TRY(check_held(reading, path.size()));
  if (!reading.folders.insert(reference).second)
    return corrupt({.expected = "each folder once", .got = "one again at " + in_quotes(path)});
  HEADRACE_ASSIGN(const Inode inode, read_inode(reading.inodes, reference, super_));
  if (inode.kind != Kind::folder)
    return corrupt({.expected = "a folder at " + in_quotes(path), .got = "another inode"});
  if (depth > 0) reading.contents.add_folder(path);
  constexpr uint32_t kNothing = 3;  // "." and "..", which are not stored
  if (inode.entries_bytes <= kNothing) return {};
  const uint64_t count = inode.entries_bytes - kNothing;
  // Folders do not overlap, so together they fit the table.
  reading.listed += count;
  HEADRACE_ASSIGN(const std::span<const std::byte> bytes,
                  reading.entries.from(inode.entries_block, inode.entries_offset));
  if (count > bytes.size() || reading.listed > reading.entries.size())
    return corrupt({.expected = "entries of " + in_quotes(path) + " that do not overlap in their table",
                    .got = std::to_string(count) + " bytes"});
  return walk_entries(bytes.first(count),
                      [&](const Entry& entry) { return take(reading, entry, path, depth); });
}

Status SquashfsArchive::take(Reading& reading, const Entry& entry, std::string& path, int depth) {
  const size_t length = path.size();
  if (!path.empty()) path += '/';
  path += entry.name;
  Status out;
  if (entry.name == "." || entry.name == ".." ||
      entry.name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos) {
    reading.contents.add_problem(path.substr(0, path.find('\0')), "a name that is a path");
  } else if (entry.kind == Kind::folder) {
    out = count_name(reading, entry, 1);
    if (out.ok()) out = enter(reading, entry.inode, path, depth + 1);
  } else if (entry.kind == Kind::other) {
    reading.contents.add_problem(path, "neither a file nor a folder");
  } else {
    out = take_inode(reading, entry, path);
  }
  path.resize(length);
  return out;
}

Status SquashfsArchive::take_inode(Reading& reading, const Entry& entry, const std::string& path) {
  const auto inode = read_inode(reading.inodes, entry.inode, super_);
  if (!inode.ok()) return inode.status().in_file(path);
  if (inode->kind != entry.kind)
    return corrupt(
        {.expected = in_quotes(path) + " to have the kind that its folder states", .got = "another"});
  HEADRACE_TRY(count_name(reading, entry, inode->links));
  HEADRACE_TRY(check_held(reading, path.size() + inode->target.size() + inode->blocks.size()));
  if (entry.kind == Kind::link)
    reading.contents.add_link(path, std::string(inode->target));
  else
    reading.contents.add_file(path, keep(reading, entry.inode, *inode));
  return {};
}

// Each inode has the number of names that it states. Otherwise one inode could be millions of files.
Status SquashfsArchive::count_name(Reading& reading, const Entry& entry, uint32_t links) const {
  if (links > 1) {
    uint32_t& met = reading.linked[entry.inode];
    if (met == links)
      return corrupt({.expected = "a file with " + std::to_string(links) + " names",
                      .got = "another name " + in_quotes(entry.name)});
    if (met++ > 0) return {};
  }
  if (++reading.named <= super_.inodes) return {};
  return corrupt({.expected = std::to_string(super_.inodes) + " files and folders as in the superblock",
                  .got = "more at " + in_quotes(entry.name)});
}

// `more`: bytes that are about to be added.
Status SquashfsArchive::check_held(const Reading& reading, uint64_t more) const {
  const uint64_t known = reading.folders.size() + reading.long_files.size() + reading.linked.size();
  const uint64_t held = reading.contents.held_bytes() + files_.size() * sizeof(Kept) +
                        blocks_.size() * sizeof(uint32_t) + known * kKnownInode;
  if (more <= most_held(super_.bytes) && held <= most_held(super_.bytes) - more) return {};
  return {Code::exhausted, "names and positions of the files need more memory than an image of " +
                               std::to_string(super_.bytes) + " bytes may take: more than " +
                               std::to_string(held) + " bytes"};
}

uint32_t SquashfsArchive::keep(Reading& reading, uint64_t reference, const Inode& inode) {
  const uint64_t count = inode.blocks.size() / sizeof(uint32_t);
  const auto number = static_cast<uint32_t>(files_.size());
  if (count > kFewBlocks) {
    const auto [it, is_new] = reading.long_files.emplace(reference, number);
    if (!is_new) return it->second;
  }
  files_.push_back({inode.start, inode.size, blocks_.size(), inode.fragment, inode.fragment_offset});
  for (uint64_t i = 0; i < count; ++i) blocks_.push_back(load<uint32_t>(inode.blocks, i * sizeof(uint32_t)));
  return number;
}

Result<std::unique_ptr<OpenFile>> SquashfsArchive::open(uint32_t number,
                                                        std::shared_ptr<const Archive> self) const {
  return std::unique_ptr<OpenFile>(std::make_unique<SquashfsFile>(std::move(self), *this, number));
}

// Returns the number of bytes; `stored` is the compressed size.
Result<size_t> SquashfsArchive::unpack_block(uint64_t start, uint32_t stored,
                                             std::span<std::byte> out) const {
  ReusedBytes packed(stored);
  HEADRACE_TRY(read_exactly(*file_, start, packed.bytes()));
  return squashfs::unpack(super_.packing, packed.bytes(), out);
}

Status SquashfsArchive::read_block(uint64_t start, uint32_t stored, uint32_t size, bool is_shared,
                                   uint32_t offset, std::span<std::byte> out) const {
  const uint32_t bytes = stored & (kPlain - 1);
  const auto fits = [&](uint64_t got) { return is_shared ? got >= size : got == size; };
  const auto wrong = [&](uint64_t got) {
    return corrupt({.expected = "a block of " + std::to_string(size) + " bytes at byte " +
                                std::to_string(start) + " of the image",
                    .got = std::to_string(got)});
  };
  if (stored == 0) {  // a hole
    std::ranges::fill(out, std::byte{0});
    return {};
  }
  if (bytes > super_.block_size || start > super_.bytes || bytes > super_.bytes - start) return wrong(bytes);
  if (stored & kPlain) {
    if (!fits(bytes)) return wrong(bytes);
    return read_exactly(*file_, start + offset, out);
  }
  if (!is_shared && out.size() == size) {
    HEADRACE_ASSIGN(const size_t made, unpack_block(start, bytes, out));
    return made == size ? Status() : wrong(made);
  }
  HEADRACE_ASSIGN(const BufferPtr whole,
                  unpacked_cache().get({id_, start, stored}, super_.block_size, [&]() -> Result<BufferPtr> {
                    const MutableBufferPtr made = HeapBuffer::make(super_.block_size);
                    HEADRACE_ASSIGN(const size_t count,
                                    unpack_block(start, bytes, {made->mutable_data(), made->size()}));
                    return BufferPtr(std::make_shared<BorrowedBuffer>(made->bytes().first(count), made));
                  }));
  if (!fits(whole->size())) return wrong(whole->size());
  std::memcpy(out.data(), whole->data() + offset, out.size());
  return {};
}

// REQUIRES: the fragment is one of the image, as checked by read_inode.
Status SquashfsArchive::read_fragment(const Kept& kept, uint32_t offset, std::span<std::byte> out) const {
  const Fragment& fragment = fragments_[kept.fragment];
  const auto end = static_cast<uint32_t>(kept.fragment_offset + kept.size % super_.block_size);
  if (fragment.size == 0) return corrupt({.expected = "a fragment", .got = "a hole"});
  return read_block(fragment.start, fragment.size, end, true, kept.fragment_offset + offset, out);
}

}  // namespace

Result<std::shared_ptr<const Archive>> open_squashfs(std::shared_ptr<OpenFile> file) {
  HEADRACE_ASSIGN(const uint64_t size, file->size());
  HEADRACE_ASSIGN(const BufferPtr head, read_bytes(*file, 0, std::min(size, kSuperblock)));
  HEADRACE_ASSIGN(const Superblock super, read_superblock(head->bytes(), size));
  const auto out = std::make_shared<SquashfsArchive>(std::move(file), super);
  HEADRACE_TRY(out->read());
  return std::shared_ptr<const Archive>(out);
}

}  // namespace headrace
