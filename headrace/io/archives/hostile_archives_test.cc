// Archives of a few kilobytes that claim to hold millions of files, and the errors they give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/io/archives/archive.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

template <class T> std::string number(uint64_t value) {
  const auto out = static_cast<T>(value);
  return std::string(reinterpret_cast<const char*>(&out), sizeof out);
}
const auto u16 = number<uint16_t>;
const auto u32 = number<uint32_t>;
const auto u64 = number<uint64_t>;

// ---- Squashfs, not compressed

constexpr int kFile = 2, kLink = 3;
constexpr size_t kRootInode = 40;  // bytes; the next inode follows

std::string inode_head(int type) { return u16(type) + u16(0755) + u16(0) + u16(0) + u32(0) + u32(1); }
std::string empty_file() { return inode_head(2) + u32(0) + u32(~0u) + u32(0) + u32(0); }
std::string empty_file_of(uint32_t links) {
  return inode_head(9) + u64(0) + u64(0) + u64(0) + u32(links) + u32(~0u) + u32(0) + u32(~0u);
}
std::string link_to(const std::string& target, uint32_t links) {
  return inode_head(3) + u32(links) + u32(target.size()) + target;
}

struct Named {
  std::string name;
  int kind = kFile;
  uint64_t inode = kRootInode;  // its byte in the table
};

std::string blocks_of(const std::string& bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 8192) {
    const std::string block = bytes.substr(at, 8192);
    out += u16(0x8000 | block.size()) + block;
  }
  return out;
}

// A root with these entries; `inodes`: those after it.
std::string squashfs_image(uint32_t count, const std::string& inodes, const std::vector<Named>& entries) {
  std::string listed;
  for (const Named& entry : entries)
    listed += u32(0) + u32(entry.inode / 8192 * 8194) + u32(1) + u16(entry.inode % 8192) + u16(0) +
              u16(static_cast<uint64_t>(entry.kind)) + u16(entry.name.size() - 1) + entry.name;
  const std::string root =
      inode_head(8) + u32(1) + u32(listed.size() + 3) + u32(0) + u32(1) + u16(0) + u16(0) + u32(~0u);
  const std::string inode_table = blocks_of(root + inodes), entry_table = blocks_of(listed);
  const uint64_t directory = 96 + inode_table.size(), ids = directory + entry_table.size();
  const std::string id_block = blocks_of(u32(0));
  const uint64_t id_table = ids + id_block.size(), end = id_table + 8;
  return u32(0x73717368) + u32(count) + u32(0) + u32(131072) + u32(0) + u16(1) + u16(17) + u16(0) + u16(1) +
         u16(4) + u16(0) + u64(0) + u64(end) + u64(id_table) + u64(~0ull) + u64(96) + u64(directory) +
         u64(~0ull) + u64(~0ull) + inode_table + entry_table + id_block + u64(ids);
}

Result<std::shared_ptr<const Archive>> opened(const std::string& bytes) {
  MemoryStore store;
  store.add("x", bytes);
  HEADRACE_ASSIGN(auto file, store.open("x"));
  return open_archive(std::move(file));
}

std::string refused(const std::string& bytes) { return std::string(opened(bytes).status().text()); }

TEST(Squashfs, NamesOfAFolderAreInOrderAndComeOnce) {
  const std::string two = empty_file() + empty_file();
  const auto image = [&](const std::string& first, const std::string& second) {
    return squashfs_image(3, two, {{first}, {second, kFile, kRootInode + empty_file().size()}});
  };
  const auto archive = opened(image("a", "b"));
  ASSERT_TRUE(archive.ok()) << archive.status().text();
  EXPECT_EQ((*archive)->names().size(), 2u);
  EXPECT_THAT(refused(image("a", "a")), HasSubstr("in order without duplicates, got 'a' after 'a'"));
  EXPECT_THAT(refused(image("b", "a")), HasSubstr("in order without duplicates, got 'a' after 'b'"));
  EXPECT_TRUE(opened(image("a", "\xff")).ok());
  EXPECT_THAT(refused(image("a", std::string(257, 'b'))), HasSubstr("names of at most 256 bytes, got 257"));
}

TEST(Squashfs, AnInodeHasAsManyNamesAsItSays) {
  EXPECT_TRUE(opened(squashfs_image(2, empty_file(), {{"a"}})).ok());
  EXPECT_THAT(refused(squashfs_image(2, empty_file(), {{"a"}, {"b"}})),
              HasSubstr("expected 2 files and folders as in the superblock, got more at 'b'"));
  EXPECT_THAT(refused(squashfs_image(1, empty_file(), {{"a"}})),
              HasSubstr("expected 1 files and folders as in the superblock, got more at 'a'"));
  EXPECT_TRUE(opened(squashfs_image(2, empty_file_of(2), {{"a"}, {"b"}})).ok());
  EXPECT_THAT(refused(squashfs_image(9, empty_file_of(2), {{"a"}, {"b"}, {"c"}})),
              HasSubstr("expected a file with 2 names, got another name 'c'"));
}

std::vector<Named> many(int count, int kind) {
  std::vector<Named> out;
  for (int i = 10000; i < 10000 + count; ++i) out.push_back({std::to_string(i), kind});
  return out;
}

// 60 kB and 3000 names of 25 bytes used to take 180 MB.
TEST(Squashfs, OneLongLinkUnderManyNamesIsRefused) {
  const std::string image = squashfs_image(2, link_to(std::string(60000, 'x'), ~0u), many(3000, kLink));
  ASSERT_LT(image.size(), 150'000u);
  EXPECT_EQ(opened(image).status().code(), Code::exhausted) << refused(image);
  EXPECT_THAT(refused(image), HasSubstr("need more memory than an image of"));
}

// Inodes inside each other's lists of blocks: each of 900 has a list of 100,000.
TEST(Squashfs, ListsOfBlocksThatShareBytesAreRefused) {
  constexpr uint64_t kBlocks = 100'000;
  const std::string file = inode_head(2) + u32(0) + u32(~0u) + u32(0) + u32(kBlocks * 4096);
  std::string inodes;
  std::vector<Named> entries;
  for (int i = 1000; i < 1900; ++i) {
    entries.push_back({std::to_string(i), kFile, kRootInode + inodes.size()});
    inodes += file;
  }
  std::string image = squashfs_image(901, inodes + std::string(4 * kBlocks, '\1'), entries);
  image.replace(12, 4, u32(4096)), image.replace(22, 2, u16(12));
  ASSERT_LT(image.size(), 500'000u);
  EXPECT_EQ(opened(image).status().code(), Code::exhausted) << refused(image);
}

// ---- Zip

// Links without bytes of their own: each entry of the directory refers to the only member.
std::string zip_of_links(int count, const std::string& target) {
  std::string out = u32(0x04034b50) + std::string(22, '\0') + u16(0) + u16(0) + target, directory;
  const uint64_t begin = out.size();
  for (int i = 10000; i < 10000 + count; ++i)
    directory += u32(0x02014b50) + u16(3 << 8) + std::string(10, '\0') + u32(0) + u32(target.size()) +
                 u32(target.size()) + u16(5) + std::string(8, '\0') + u32(0120777ull << 16) + u32(0) +
                 std::to_string(i);
  return out + directory + u32(0x06054b50) + u32(0) + u16(count) + u16(count) + u32(directory.size()) +
         u32(begin) + u16(0);
}

TEST(Zip, LinksLieApart) {
  EXPECT_TRUE(opened(zip_of_links(1, "x")).ok());
  EXPECT_THAT(
      refused(zip_of_links(3, std::string(4000, 'x'))),
      HasSubstr("expected links that do not overlap in the file, got overlapping ones up to '10001'"));
}

}  // namespace
}  // namespace headrace
