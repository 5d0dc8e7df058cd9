#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cmath>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/mds/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

using Columns = std::vector<MdsTestColumn>;

std::string text_of(const Tensor& field) {
  const auto bytes = field.view().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string zstd_of(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

// One plain shard of one sample.
MemoryStore one_sample(const Columns& columns, const std::vector<std::string>& values) {
  MemoryStore store;
  const MdsTestShard shard{"shard.00000.mds", mds_shard({mds_sample(columns, values)}), 1};
  store.add("d/shard.00000.mds", shard.bytes), store.add("d/index.json", mds_index(columns, {shard}));
  return store;
}

std::string failure(MemoryStore store, const std::string& path = "d", const Value& options = {}) {
  const auto source = open_source(store, path, "", options);
  if (!source.ok()) return std::string(source.status().text());
  const auto fields = read_sample(**source, 0, store);
  return fields.ok() ? "read" : std::string(fields.status().text());
}

std::string failure(const Columns& columns, const std::vector<std::string>& values) {
  return failure(one_sample(columns, values));
}

TEST(Mds, EveryEncodingIsRead) {
  const std::string pixels =
      mds_bytes(uint32_t{2}) + mds_bytes(uint32_t{1}) + mds_bytes(uint32_t{3}) + "RGBabcdef";
  const std::string files = mds_bytes(uint32_t{2}) + mds_bytes(uint32_t{3}) + mds_bytes(uint32_t{1}) + "abcd";
  const Columns columns = {{"a", "ndarray"},
                           {"b", "ndarray:uint16"},
                           {"c", "ndarray:int8:3", 3},
                           {"d", "str_int"},
                           {"e", "str_float"},
                           {"f", "str_decimal"},
                           {"g", "json"},
                           {"h", "pil"},
                           {"i", "jpeg_array"},
                           {"j", "list[png]"},
                           {"k", "float16", 2},
                           {"l", "uint8", 1},
                           {"m", "jpeg:90"},
                           {"n", "str"},
                           {"o", "float64", 8}};
  MemoryStore store =
      one_sample(columns, {std::string("\x22\x05\x01\x00", 4) + mds_bytes(2.5f),
                           "\x08\x01\x02" + mds_bytes(uint16_t{7}) + mds_bytes(uint16_t{8}), "xyz", "-12",
                           "1e3", "0.10", "{\"x\":1}", pixels, files, std::string(4, '\0') + files,
                           mds_bytes(uint16_t{0x3c00}), "\x07", "jpeg", "text", mds_bytes(0.5)});
  const auto source = open_source(store, "d");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ(
      (*source)->schema().text(),
      "a: float32 (?), b: uint16 (?, ?), c: int8 (3), d: int64 (), e: float64 (), f: str, g: str, "
      "h: uint8 (?, ?, 3), i/values: bytes, i/lengths: int64 (?), j/values: bytes, j/lengths: int64 (?), "
      "k: float16 (), l: uint8 (), m: bytes, n: str, o: float64 ()");
  EXPECT_THAT((*source)->schema().structure, HasSubstr(R"("i":{"values":8,"lengths":9},"j")"));
  const auto fields = read_sample(**source, 0, store);
  ASSERT_TRUE(fields.ok()) << fields.status().text();
  const auto& f = *fields;
  EXPECT_EQ(*f[0].view().as<float>(), 2.5f);
  EXPECT_EQ(f[1].shape, (Shape{1, 2}));
  EXPECT_EQ(f[1].view().as<uint16_t>()[1], 8);
  EXPECT_EQ(*f[3].view().as<int64_t>(), -12);
  EXPECT_EQ(*f[4].view().as<double>(), 1000);
  EXPECT_EQ(text_of(f[5]), "0.10");
  EXPECT_EQ(f[7].shape, (Shape{1, 2, 3}));
  EXPECT_EQ(text_of(f[7]), "abcdef");
  for (const size_t at : {size_t{8}, size_t{10}}) {
    EXPECT_EQ(text_of(f[at]), "abcd");
    EXPECT_EQ(f[at + 1].shape, (Shape{2}));
    EXPECT_EQ(f[at + 1].view().as<int64_t>()[0], 3);
  }
  EXPECT_EQ(text_of(f[15]), "text");
}

TEST(Mds, WhatIsNotReadIsRefusedByItsName) {
  EXPECT_THAT(failure({{"x", "pkl"}}, {"x"}),
              HasSubstr("column 'x' of encoding 'pkl': reading it needs unpickling"));
  EXPECT_THAT(failure({{"x", "list[pil]"}}, {"x"}), HasSubstr("this encoding is not supported"));
  EXPECT_THAT(failure({{"x", "int", 4}}, {"1234"}), HasSubstr("expected 8 bytes per value, got 4"));
  EXPECT_THAT(failure({{"x", "str", 4}}, {"1234"}), HasSubstr("expected no fixed size, got 4"));
  EXPECT_THAT(failure({{"x", "str_int"}}, {"12345678901234567890"}), HasSubstr("expected a 64-bit integer"));
  EXPECT_THAT(failure({{"x", "ndarray:object"}}, {"x"}),
              HasSubstr("expected an array of numbers, got 'object'"));
}

TEST(Mds, NumbersOfASampleAreCheckedAgainstItsBytes) {
  EXPECT_THAT(failure({{"x", "ndarray:uint8"}}, {"\x04\x05zzz"}),
              HasSubstr("expected 5 bytes for uint8 (5), got 3"));
  EXPECT_THAT(failure({{"x", "ndarray:float64"}}, {"\x0f" + std::string(24, '\x7f')}),
              HasSubstr("column 'x': expected a dimension of at most 2^32"));
  EXPECT_THAT(failure({{"x", "ndarray"}}, {"\x07"}),
              HasSubstr("expected an array of numbers, got dtype code 7"));
  const std::string head = mds_bytes(uint32_t{0xffffffff}) + mds_bytes(uint32_t{0xffffffff});
  EXPECT_THAT(failure({{"x", "pil"}}, {head + mds_bytes(uint32_t{3}) + "RGB"}),
              HasSubstr("bytes for uint8 (4294967295, 4294967295, 3)"));
  EXPECT_THAT(failure({{"x", "pil"}}, {head + mds_bytes(uint32_t{1}) + "P"}), HasSubstr("got 'P'"));
  EXPECT_THAT(failure({{"x", "jpeg_array"}}, {mds_bytes(uint32_t{0xffffffff})}),
              HasSubstr("expected the sizes of 4294967295 images"));
  EXPECT_THAT(failure({{"x", "jpeg_array"}}, {mds_bytes(uint32_t{1}) + mds_bytes(uint32_t{9}) + "x"}),
              HasSubstr("expected 9 bytes of images, got 1"));
  MemoryStore store = one_sample({{"x", "str"}}, {"abc"});
  std::string bytes = mds_shard({mds_bytes(uint32_t{4}) + "abc"});
  store.add("d/shard.00000.mds", bytes);
  EXPECT_THAT(failure(store), HasSubstr("column 'x': expected 4 bytes, but only 3 are left of the sample: "
                                        "d/shard.00000.mds, record 0 at byte "
                                        "14"));
  store.add("d/shard.00000.mds", mds_shard({mds_bytes(uint32_t{2}) + "abc"}));
  EXPECT_THAT(failure(store), HasSubstr("expected a sample of 6 bytes, got 7"));
}

TEST(Mds, OffsetsThatGoBackwardsOrBeyondTheFileAreRefused) {
  const Columns columns = {{"x", "uint8", 1}};
  const auto with = [&](size_t at, uint32_t value) {
    MdsTestShard shard{"s.mds", mds_shard({"a", "b"}), 2};
    shard.bytes.replace(at, 4, mds_bytes(value));
    MemoryStore store;
    store.add("d/s.mds", shard.bytes), store.add("d/index.json", mds_index(columns, {shard}));
    return failure(store);
  };
  EXPECT_EQ(with(0, 2), "read");
  EXPECT_THAT(with(0, 3), HasSubstr("'d/s.mds': expected 2 records as in the index, got 3 at byte 0"));
  EXPECT_THAT(with(4, 3), HasSubstr("expected an offset from 16 to 20, got 3 at byte 4"));
  EXPECT_THAT(with(8, 0xffffffff), HasSubstr("expected an offset from 18 to 20, got 4294967295 at byte 8"));
  EXPECT_THAT(with(12, 18), HasSubstr("expected an offset from 19 to 20, got 18 at byte 12"));
}

TEST(Mds, CountsOfTheIndexAreCheckedBeforeMemoryIsTaken) {
  const Columns columns = {{"x", "uint8", 1}};
  const MdsTestShard shard{"s.mds", mds_shard({"a"}), 1};
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string index = mds_index(columns, {shard});
    index.replace(index.find(from), from.size(), to);
    MemoryStore store;
    store.add("d/s.mds", shard.bytes), store.add("d/index.json", index);
    return failure(store);
  };
  EXPECT_THAT(with("\"samples\":1", "\"samples\":4294967295"),
              HasSubstr("the offsets of 4294967295 samples do not fit into a shard of"));
  EXPECT_THAT(with("\"samples\":1", "\"samples\":-1"),
              HasSubstr("'samples' must be an unsigned 32-bit number, got -1"));
  EXPECT_THAT(with("\"bytes\":15", "\"bytes\":16"),
              HasSubstr("expected 16 bytes as the index states, got 15"));
  EXPECT_THAT(with("s.mds", "../s.mds"), HasSubstr("expected names of files in its folder, got '../s.mds'"));
  EXPECT_THAT(with("s.mds", "t.mds"), HasSubstr("d/t.mds"));
  EXPECT_THAT(with("\"format\":\"mds\"", "\"format\":\"csv\""),
              HasSubstr("expected shards of format 'mds', got 'csv'"));
  EXPECT_THAT(with("[1]", "[1,2]"), HasSubstr("expected as many column names as encodings"));
}

TEST(Mds, APackedShardIsReadUnlessThePlainOneLiesBesideIt) {
  const Columns columns = {{"x", "ndarray:uint8"}};
  for (const bool is_zstd : {true, false}) {
    const std::string sample = mds_sample(columns, {"\x04\x03"
                                                    "abc"});
    MdsTestShard shard{"s.mds", mds_shard({sample, sample, sample}), 3};
    shard.compression = is_zstd ? "zstd:7" : "gz";
    shard.packed_name = is_zstd ? "s.mds.zstd" : "s.mds.gz";
    shard.packed = is_zstd ? zstd_of(shard.bytes) : deflated(shard.bytes, Wrap::gzip);
    MemoryStore store;
    store.add("d/" + shard.packed_name, shard.packed), store.add("d/index.json", mds_index(columns, {shard}));
    const auto source = open_source(store, "d");
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ((*source)->schema().text(), "x: uint8 (?)");
    EXPECT_EQ((*source)->size(), 3u);
    EXPECT_EQ(text_of((*read_sample(**source, 2, store))[0]), "abc");
    EXPECT_EQ((*source)->place(2).row, 2u);
    shard.compression = "br";
    store.add("d/index.json", mds_index(columns, {shard}));
    EXPECT_THAT(failure(store),
                HasSubstr("expected shards that are plain or compressed with zstd or gz, got 'br'"));
    store.add("d/s.mds", shard.bytes);
    const auto plain = open_source(store, "d");
    ASSERT_TRUE(plain.ok()) << plain.status().text();
    EXPECT_EQ((*plain)->place(2).row, 0u);
  }
}

TEST(Mds, AShardThatUnpacksToTooMuchIsRefused) {
  const Columns columns = {{"x", "uint8", 1}};
  MdsTestShard shard{"s.mds", mds_shard({"a"}), 1};
  shard.packed_name = "s.mds.zstd", shard.compression = "zstd", shard.packed = zstd_of(shard.bytes);
  MemoryStore store;
  store.add("d/s.mds.zstd", shard.packed);
  std::string index = mds_index(columns, {shard});
  const auto with = [&](const std::string& bytes) {
    std::string other = index;
    other.replace(other.find("\"bytes\":15"), 10, "\"bytes\":" + bytes);
    store.add("d/index.json", other);
    return failure(store);
  };
  EXPECT_THAT(with("4294967295"), HasSubstr("to unpack to at most 268435456"));
  EXPECT_THAT(with("16"), HasSubstr("zstd: expected 16 bytes, got 15"));
  EXPECT_THAT(with("14"), HasSubstr("zstd: "));
}

TEST(Mds, SplitsAreNamed) {
  MemoryStore one = one_sample({{"x", "str"}}, {"abc"}), store;
  for (const char* split : {"train", "val"})
    for (const char* name : {"index.json", "shard.00000.mds"}) {
      const auto file = one.open(std::string("d/") + name);
      const auto bytes = read_bytes(**file, 0, ~uint64_t{0});
      store.add(std::string("out/") + split + "/" + name,
                std::string(reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()));
    }
  EXPECT_EQ(failure(store, "out/train"), "read");
  EXPECT_EQ(failure(store, "out/train/index.json"), "read");
  Value split;
  split.set("split", "val");
  EXPECT_EQ(failure(store, "out", split), "read");
  EXPECT_THAT(failure(store, "out"), HasSubstr("contains the splits \"train\", \"val\"; set split="));
  split.set("split", "test");
  EXPECT_THAT(failure(store, "out", split), HasSubstr("there is no split 'test', only \"train\", \"val\""));
}

TEST(Mds, HashesAreComparedWhenAskedFor) {
  const Columns columns = {{"x", "uint8", 1}};
  MdsTestShard shard{"s.mds", mds_shard({"a"}), 1};
  Value verify;
  verify.set("verify", true);
  const auto with = [&](const char* name, const char* hash) {
    Value hashes;
    hashes.set(name, hash), shard.hashes = hashes;
    MemoryStore store;
    store.add("d/s.mds", shard.bytes), store.add("d/index.json", mds_index(columns, {shard}));
    EXPECT_EQ(failure(store), "read");
    return failure(store, "d", verify);
  };
  EXPECT_THAT(with("xxh64", "01c6d71b091ba006"), HasSubstr("expected the xxh64 hash 01c6d71b091ba006, got "));
  EXPECT_THAT(with("sha1", "5011"),
              HasSubstr("verify needs a hash of xxh32, xxh64, xxh128 or xxh3_64 in the index, got sha1"));
}

}  // namespace
}  // namespace headrace
