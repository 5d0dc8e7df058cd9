#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/lmdb/index.h"
#include "headrace/formats/lmdb/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;
using Pairs = LmdbMaker::Pairs;

std::string text_of(const Tensor& field) {
  const auto bytes = field.view().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string sample_of(const Source& source, uint64_t index, Store& store) {
  const auto fields = read_sample(source, index, store);
  if (!fields.ok()) return std::string(fields.status().text());
  return text_of((*fields)[0]) + "=" + text_of((*fields)[1]);
}

std::string failure(const std::string& bytes) {
  MemoryStore store;
  store.add("x", bytes);
  const auto source = open_source(store, "x", "lmdb");
  return source.ok() ? "opened" : std::string(source.status().text());
}

std::string key(size_t i) {
  std::string out = std::to_string(i);
  return std::string(6 - out.size(), '0') + out;
}

Pairs numbered(size_t count) {
  Pairs out;
  for (size_t i = 0; i < count; ++i)
    out.emplace_back(key(i),
                     std::string(i % 7 == 3 ? 300 * (i % 5) : i % 50, static_cast<char>('a' + i % 26)));
  return out;
}

void expect_reads(const Source& source, Store& store, const Pairs& pairs) {
  ASSERT_EQ(source.size(), pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i)
    ASSERT_EQ(sample_of(source, i, store), pairs[i].first + "=" + pairs[i].second) << i;
}

TEST(Lmdb, ReadsTreesOfEveryDepthInTheOrderOfTheKeys) {
  for (const size_t count : {1, 3, 40, 2000, 20'000}) {
    const Pairs pairs = numbered(count);
    MemoryStore store;
    store.add("x", LmdbMaker().make(pairs));
    const auto source = open_source(store, "x");
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ((*source)->schema().text(), "key: bytes, value: bytes");
    expect_reads(**source, store, pairs);
  }
}

TEST(Lmdb, ReadsPagesOfOtherSizes) {
  for (const size_t size : {4096, 16384, 32768}) {
    const Pairs pairs = numbered(300);
    MemoryStore store;
    store.add("x", LmdbMaker(size).make(pairs));
    const auto source = open_source(store, "x");
    ASSERT_TRUE(source.ok()) << source.status().text();
    expect_reads(**source, store, pairs);
  }
}

TEST(Lmdb, AnEmptyDatabaseHasNoSamples) {
  MemoryStore store;
  store.add("x", LmdbMaker().make({}));
  const auto source = open_source(store, "x");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->size(), 0u);
}

TEST(Lmdb, AFolderIsItsDataFileAndSeveralAreOneSource) {
  MemoryStore store;
  store.add("d/data.mdb", LmdbMaker().make({{"a", "1"}, {"b", "2"}})), store.add("d/lock.mdb", "lock");
  store.add("d/meta_info.txt", "text");
  store.add("e/data.mdb", LmdbMaker().make({{"a", "3"}}));
  const auto folder = open_source(store, "d"), named = open_source(store, "d", "lmdb"),
             file = open_source(store, "d/data.mdb"), both = open_source(store, "{d,e}/data.mdb");
  for (const auto* source : {&folder, &named, &file}) {
    ASSERT_TRUE(source->ok()) << source->status().text();
    expect_reads(***source, store, {{"a", "1"}, {"b", "2"}});
    EXPECT_EQ((**source)->fingerprint(), (*folder)->fingerprint());
  }
  ASSERT_TRUE(both.ok()) << both.status().text();
  expect_reads(**both, store, {{"a", "1"}, {"b", "2"}, {"a", "3"}});
  EXPECT_EQ((*both)->where(2).text(), "e/data.mdb, record 0 in page 2 at byte 1024");
}

TEST(Lmdb, TheLaterTransactionCounts) {
  std::string bytes = LmdbMaker().make({{"a", "1"}});
  EXPECT_EQ(failure(bytes), "opened");
  LmdbMaker::put(bytes, 144, uint64_t{2});  // of page 0, which has an empty tree
  MemoryStore store;
  store.add("x", bytes);
  EXPECT_EQ((*open_source(store, "x"))->size(), 0u);
}

// Damage in a file of three leaves below a root: metas 0 and 1, the big value 2, leaves 3 to 5, the root 6.
class HostileLmdb : public ::testing::Test {
 protected:
  static std::string make() {
    Pairs pairs = {{"a", std::string(300, 'x')}};
    for (size_t i = 0; i < 12; ++i) pairs.emplace_back("k" + key(i), std::string(100, 'y'));
    return LmdbMaker().make(pairs);
  }
  // The error of opening it or of reading a record.
  template <class T> std::string with(size_t at, T value) const {
    std::string out = bytes_;
    LmdbMaker::put(out, at, value);
    MemoryStore store;
    store.add("x", out);
    const auto source = open_source(store, "x", "lmdb");
    if (!source.ok()) return std::string(source.status().text());
    for (uint64_t i = 0; i < (*source)->size(); ++i)
      if (const auto fields = read_sample(**source, i, store); !fields.ok())
        return std::string(fields.status().text());
    return "all are read";
  }
  static constexpr size_t kMeta = 512, kBig = 2 * 512, kLeaf = 3 * 512;
  std::string bytes_ = make();
  size_t root_ = bytes_.size() - 512;
};

TEST_F(HostileLmdb, OpensUndamaged) { EXPECT_EQ(failure(bytes_), "opened"); }

TEST_F(HostileLmdb, Metas) {
  EXPECT_THAT(with(kMeta + 16, uint32_t{1}),
              HasSubstr("lmdb: 'x': expected a meta page with its magic word (page 1 at byte 512)"));
  EXPECT_THAT(with(kMeta + 20, uint32_t{999}), HasSubstr("expected LMDB data version 1, got 999"));
  for (const uint32_t size : {0u, 511u, 1000u, 1u << 17})
    EXPECT_THAT(with(40, size), HasSubstr("expected pages of 512 to 65536 bytes"));
  EXPECT_THAT(with(kMeta + 94, uint16_t{33}), HasSubstr("at most 32 levels, got 33"));
  EXPECT_THAT(with(kMeta + 94, uint16_t{0}), HasSubstr("expected a tree depth that fits its root, got 0"));
  EXPECT_THAT(with(kMeta + 120, uint64_t{14}), HasSubstr("expected 14 records, got 13"));
  EXPECT_THAT(failure(bytes_.substr(0, 100)), HasSubstr("expected two meta pages"));
  EXPECT_THAT(failure(bytes_.substr(0, 600)), HasSubstr("expected a second meta page"));
}

TEST_F(HostileLmdb, PageNumbers) {
  for (const uint64_t page : {uint64_t{1} << 20, ~uint64_t{1}, uint64_t{1} << 55})
    EXPECT_THAT(with(kMeta + 128, page), HasSubstr("expected 512 bytes in a page up to"));
  EXPECT_THAT(with(kMeta + 136, uint64_t{3}), HasSubstr("in a page up to 3 and inside the file"));
  EXPECT_THAT(failure(bytes_.substr(0, bytes_.size() - 1)),
              HasSubstr("expected 512 bytes of page " + std::to_string(root_ / 512) +
                        ", but the file is too short: it has " + std::to_string(bytes_.size() - 1) +
                        " bytes for " + std::to_string(bytes_.size() / 512) + " pages of 512"));
  EXPECT_THAT(with(kMeta + 128, uint64_t{0}), HasSubstr("expected each page of the tree once"));
  EXPECT_THAT(with(kLeaf, uint64_t{4}), HasSubstr("expected the page number 3, got 4"));
}

TEST_F(HostileLmdb, PagesThatAreMetTwice) {
  uint16_t first = 0, second = 0;
  std::memcpy(&first, bytes_.data() + root_ + 16, 2), std::memcpy(&second, bytes_.data() + root_ + 18, 2);
  EXPECT_THAT(with(root_ + second, uint16_t{3}),
              HasSubstr("expected each page of the tree once, got one again (page 3"));
  EXPECT_THAT(with(root_ + first, static_cast<uint16_t>(root_ / 512)),
              HasSubstr("each page of the tree once"));
  EXPECT_THAT(with(kMeta + 94, uint16_t{3}), HasSubstr("expected the flags of a branch page"));
  EXPECT_THAT(with(kMeta + 94, uint16_t{1}), HasSubstr("expected the flags of a leaf page"));
}

TEST_F(HostileLmdb, Nodes) {
  for (const uint16_t lower : {0, 15, 17, 514})
    EXPECT_THAT(with(kLeaf + 12, lower), HasSubstr("expected pointers to nodes that end inside the page"));
  for (const uint16_t pointer : {0, 16, 505, 512, 65535})
    EXPECT_THAT(with(kLeaf + 16, pointer), HasSubstr("expected a node inside the page"));
  uint16_t node = 0;
  std::memcpy(&node, bytes_.data() + kLeaf + 18, 2);  // the second, a value inside the page
  EXPECT_THAT(with(kLeaf + node, uint32_t{0xffffffff}), HasSubstr("expected a node of"));
  EXPECT_THAT(with(kLeaf + node + 6, uint16_t{0xffff}), HasSubstr("expected a node of"));
}

TEST_F(HostileLmdb, BigValues) {
  uint16_t node = 0;
  std::memcpy(&node, bytes_.data() + kLeaf + 16, 2);
  const size_t page = kLeaf + node + 8 + 1;
  for (const uint64_t number : {uint64_t{1} << 40, ~uint64_t{0}})
    EXPECT_THAT(with(page, number), HasSubstr("expected 316 bytes in a page up to"));
  EXPECT_THAT(with(kLeaf + node, uint32_t{0xffffffff}),
              HasSubstr("expected 4294967311 bytes in a page up to"));
  // Damage of one value costs that value only.
  for (const size_t at : {kBig, kBig + 10, kBig + 12}) {
    std::string damaged = bytes_;
    damaged[at] = '\0';
    MemoryStore store;
    store.add("x", damaged);
    const auto source = open_source(store, "x");
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_THAT(sample_of(**source, 0, store), HasSubstr("x, record 0 in page 2 at byte 1024")) << at;
    EXPECT_EQ(sample_of(**source, 1, store), "k000000=" + std::string(100, 'y'));
  }
}

TEST_F(HostileLmdb, WhatIsNotReadIsRefusedByName) {
  EXPECT_THAT(with(kMeta + 92, uint16_t{4}), HasSubstr("MDB_DUPSORT"));
  uint16_t node = 0;
  std::memcpy(&node, bytes_.data() + kLeaf + 18, 2);
  EXPECT_THAT(with(kLeaf + node + 4, uint16_t{4}), HasSubstr("expected one value per key"));
  EXPECT_THAT(with(kLeaf + node + 4, uint16_t{2}),
              HasSubstr("expected a value, got a database of 100 bytes"));
  LmdbMaker::put(bytes_, kLeaf + node, uint32_t{48});
  EXPECT_THAT(with(kLeaf + node + 4, uint16_t{2}), HasSubstr("got the named database 'k000000' (node 1)"));
}

// The keys of a file, "?" for records that cannot be read.
std::vector<std::string> keys_of(const Source& source, Store& store) {
  std::vector<std::string> out;
  for (uint64_t i = 0; i < source.size(); ++i) {
    const auto fields = read_sample(source, i, store);
    out.push_back(fields.ok() ? text_of((*fields)[0]) : "?");
  }
  return out;
}

TEST_F(HostileLmdb, ADamagedPageCostsItsOwnRecords) {
  MemoryStore store;
  store.add("x", bytes_);
  const std::vector<std::string> whole = keys_of(**open_source(store, "x"), store);
  for (const size_t page : {3, 4, 5}) {
    std::string damaged = bytes_;
    LmdbMaker::put(damaged, page * 512 + 10, uint16_t{0});
    store.add("x", damaged);
    const auto source = open_source(store, "x");
    ASSERT_TRUE(source.ok()) << source.status().text();
    const std::vector<std::string> keys = keys_of(**source, store);
    const auto lost = static_cast<size_t>(std::ranges::find(keys, "?") - keys.begin());
    ASSERT_LT(lost, keys.size());
    EXPECT_EQ(sample_of(**source, lost, store),
              "expected the flags of a leaf page, got 0: x, record " + std::to_string(lost) + " in page " +
                  std::to_string(page) + " at byte " + std::to_string(page * 512));
    EXPECT_EQ((*source)->metadata().find("damaged")->list()->size(), 1u);
    Extent extent;
    ASSERT_TRUE((*source)->extents({&lost, 1}, {&extent, 1}));
    EXPECT_EQ(extent.length, kToEnd);
    // The others are there, in their order and once.
    std::vector<std::string> left = whole;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(lost),
               left.begin() + static_cast<std::ptrdiff_t>(lost + whole.size() + 1 - keys.size()));
    left.insert(left.begin() + static_cast<std::ptrdiff_t>(lost), "?");
    EXPECT_EQ(keys, left) << page;
  }
}

TEST_F(HostileLmdb, ADamagedNodeCostsItsOwnRecord) {
  MemoryStore store;
  store.add("x", bytes_);
  std::vector<std::string> whole = keys_of(**open_source(store, "x"), store);
  LmdbMaker::put(bytes_, kLeaf + 16 + 2, uint16_t{511});
  store.add("x", bytes_);
  whole[1] = "?";
  EXPECT_EQ(keys_of(**open_source(store, "x"), store), whole);
  // Nodes that overlap are not records.
  uint16_t node = 0;
  std::memcpy(&node, bytes_.data() + kLeaf + 16 + 4, 2);
  for (size_t i = 1; i < 4; ++i) LmdbMaker::put(bytes_, kLeaf + 16 + 2 * i, node);
  LmdbMaker::put(bytes_, kLeaf + 12, uint16_t{16 + 2 * 7});
  for (size_t i = 4; i < 7; ++i) LmdbMaker::put(bytes_, kLeaf + 16 + 2 * i, node);
  store.add("x", bytes_);
  EXPECT_THAT(sample_of(**open_source(store, "x"), 0, store),
              HasSubstr("expected nodes that do not overlap"));
}

TEST(Lmdb, ADamagedBranchCostsWhatHangsOnIt) {
  const Pairs pairs = numbered(2000);
  const std::string bytes = LmdbMaker().make(pairs);
  size_t branches = 0;
  for (size_t page = 2; page + 1 < bytes.size() / 512; ++page) {  // the last is the root
    uint64_t number = 0;
    uint16_t flags = 0;
    std::memcpy(&number, bytes.data() + page * 512, 8),
        std::memcpy(&flags, bytes.data() + page * 512 + 10, 2);
    if (number != page || flags != 1 || ++branches % 3 != 1) continue;
    std::string damaged = bytes;
    LmdbMaker::put(damaged, page * 512, uint64_t{0});
    MemoryStore store;
    store.add("x", damaged);
    const auto source = open_source(store, "x");
    ASSERT_TRUE(source.ok()) << source.status().text();
    const std::vector<std::string> keys = keys_of(**source, store);
    ASSERT_EQ(std::ranges::count(keys, "?"), 1) << page;
    const auto lost = static_cast<size_t>(std::ranges::find(keys, "?") - keys.begin());
    for (size_t i = 0; i < keys.size(); ++i) {
      const size_t in_whole = i < lost ? i : pairs.size() - keys.size() + i;
      if (i != lost) {
        ASSERT_EQ(keys[i], pairs[in_whole].first) << i;
      }
    }
  }
  EXPECT_GT(branches, 3u);
}

TEST(LmdbIndex, ComesBackAsItWasAndIsChecked) {
  LmdbIndex index{
      4096, 5, {DatumKind::raw, 3}, {{0, 0, 2, 0, 0}, {4, 0, 0, 3, 1}}, "key", {{DType::u8, {kAny}}}};
  const auto back = unpack_lmdb(pack_lmdb(index), 2);
  ASSERT_TRUE(back);
  EXPECT_EQ(pack_lmdb(*back), pack_lmdb(index));
  EXPECT_FALSE(unpack_lmdb(pack_lmdb(index), 1));
  EXPECT_FALSE(unpack_lmdb(pack_lmdb(index).substr(0, 60), 2));
  index.blocks[1].key_size = 4;
  EXPECT_FALSE(unpack_lmdb(pack_lmdb(index), 2));
  index.blocks[1].key_size = 3, index.blocks[1].first = 5;
  EXPECT_FALSE(unpack_lmdb(pack_lmdb(index), 2));
}

Result<SourcePtr> open_datum(Store& store) {
  Value options;
  options.set("values", "datum");
  return open_source(store, "x", "", options);
}

TEST(LmdbDatum, EncodedImagesAreSharedAndLabelsSigned) {
  MemoryStore store;
  store.add("x", LmdbMaker().make({{"0", datum_bytes(3, 9, 9, "jpeg", -5, true)},
                                   {"1", datum_bytes(0, 0, 0, std::string(900, 'j'), 1 << 20, true)}}));
  const auto source = open_datum(store);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "image: bytes, label: int64 ()");
  const auto first = read_sample(**source, 0, store), second = read_sample(**source, 1, store);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(text_of((*first)[0]), "jpeg");
  EXPECT_EQ(*(*first)[1].view().as<int64_t>(), -5);
  EXPECT_EQ(text_of((*second)[0]), std::string(900, 'j'));
  EXPECT_EQ(*(*second)[1].view().as<int64_t>(), 1 << 20);
}

TEST(LmdbDatum, RawPlanesOfBgrBecomeRgb) {
  MemoryStore store;
  store.add("x", LmdbMaker().make({{"0", datum_bytes(3, 1, 2, "bBgGrR", 7, false)}}));
  const auto source = open_datum(store);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "image: uint8 (?, ?, 3), label: int64 ()");
  const auto fields = read_sample(**source, 0, store);
  ASSERT_TRUE(fields.ok()) << fields.status().text();
  EXPECT_EQ((*fields)[0].view().shape, (Shape{1, 2, 3}));
  EXPECT_EQ(text_of((*fields)[0]), "rgbRGB");
  MemoryStore gray;
  gray.add("x", LmdbMaker().make({{"0", datum_bytes(1, 2, 1, "ab", 7, false)}}));
  EXPECT_EQ(text_of((*read_sample(**open_datum(gray), 0, gray))[0]), "ab");
}

TEST(LmdbDatum, OneKindASource) {
  const std::string raw = datum_bytes(3, 1, 2, "bBgGrR", 7, false);
  MemoryStore store;
  store.add("x", LmdbMaker().make({{"0", raw},
                                   {"1", datum_bytes(3, 1, 2, "jpeg", 7, true)},
                                   {"2", datum_bytes(1, 1, 2, "gG", 7, false)},
                                   {"3", datum_bytes(3, 1, 3, "bBgGrR", 7, false)},
                                   {"4", datum_bytes(3, int64_t{1} << 62, 4, "bBgGrR", 7, false)},
                                   {"5", datum_bytes(-3, -1, -2, "bBgGrR", 7, false)},
                                   {"6", "\x22\x7f"},
                                   {"7", std::string(1, '\x28') + std::string(10, '\xff') + "\x01"}}));
  const auto source = open_datum(store);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(sample_of(**source, 1, store), HasSubstr("expected raw pixels as in the first value"));
  EXPECT_THAT(sample_of(**source, 2, store), HasSubstr("expected 3 channels as in the first value, got 1"));
  for (const uint64_t i : {3, 4, 5})
    EXPECT_THAT(sample_of(**source, i, store), HasSubstr("expected the bytes of a Datum of")) << i;
  EXPECT_THAT(sample_of(**source, 6, store),
              HasSubstr("at byte 2 there is not a field that ends inside the message"));
  EXPECT_THAT(sample_of(**source, 7, store),
              HasSubstr("at byte 11 there is not a number of at most ten bytes"));
  MemoryStore none;
  none.add("x", LmdbMaker().make({{"0", "no datum"}}));
  EXPECT_THAT(std::string(open_datum(none).status().text()), HasSubstr("but the first is not"));
}

std::string wire(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string number(int field, char value) { return {static_cast<char>(field << 3), value}; }

TEST(LmdbTensorProtos, ImageLabelAndBoxAreFields) {
  const std::string raw =
      wire(1, number(1, 1) + number(1, 2) + number(1, 3) + number(2, 3) + wire(5, "rgbRGB"));
  const std::string label = wire(1, number(2, 2) + wire(4, "\x07"));
  const std::string box =
      wire(1, number(1, 2) + number(2, 1) + wire(3, std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
  MemoryStore store;
  store.add("x", LmdbMaker().make({{"0", raw + label + box},
                                   {"1", raw + label},
                                   {"2", label + label + box},
                                   {"3", wire(1, number(1, 9) + number(1, 9) + number(1, 9) + number(2, 3) +
                                                     wire(5, "x")) +
                                             label + box}}));
  Value options;
  options.set("values", "tensor_protos");
  const auto source = open_source(store, "x", "", options);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "image: uint8 (?, ?, ?), label: int32 (), box: float32 (?)");
  const auto fields = read_sample(**source, 0, store);
  ASSERT_TRUE(fields.ok()) << fields.status().text();
  EXPECT_EQ((*fields)[0].shape, (Shape{1, 2, 3}));
  EXPECT_EQ(text_of((*fields)[0]), "rgbRGB");
  EXPECT_EQ(*(*fields)[1].view().as<int32_t>(), 7);
  EXPECT_EQ((*fields)[2].view().as<float>()[1], 2);
  EXPECT_THAT(sample_of(**source, 1, store), HasSubstr("expected 3 tensors as in the first value, got 2"));
  EXPECT_THAT(sample_of(**source, 2, store),
              HasSubstr("image: expected uint8 (?, ?, ?) as in the first value, got int32 ()"));
  EXPECT_THAT(sample_of(**source, 3, store),
              HasSubstr("image: expected 729 bytes for shape (9, 9, 9), got 1"));
  EXPECT_NE((*source)->fingerprint(), (*open_source(store, "x"))->fingerprint());
}

TEST(LmdbTensorProtos, EncodedImagesAreBytes) {
  MemoryStore store;
  store.add("x", LmdbMaker().make({{"0", wire(1, number(2, 4) + wire(6, "jpeg")) +
                                             wire(1, number(2, 2) + number(1, 1) + number(4, 9))}}));
  Value options;
  options.set("values", "tensor_protos");
  const auto source = open_source(store, "x", "", options);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "image: bytes, label: int32 ()");
  EXPECT_EQ(text_of((*read_sample(**source, 0, store))[0]), "jpeg");
  MemoryStore none;
  none.add("x", LmdbMaker().make({{"0", "no tensors"}}));
  EXPECT_THAT(std::string(open_source(none, "x", "", options).status().text()),
              HasSubstr("but the first is not"));
}

}  // namespace
}  // namespace headrace
