#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/codecs/zstd/testing.h"
#include "headrace/formats/zarr/json.h"
#include "headrace/formats/zarr/testing.h"

// Stores that no library writes: they are refused before memory or time is spent on them.
namespace headrace::zarr {
namespace {

using ::testing::HasSubstr;

TEST(ZarrHostile, SizesAreRefusedBeforeMemoryIsTaken) {
  const std::pair<std::string, std::string> cases[] = {
      {array_v2("[-1]", "[2]", "|u1"), "expected numbers >= 0 in 'shape', got -1"},
      {array_v2("[2]", "[0]", "|u1"), "at least one element"},
      {array_v2("[2]", "[1,1]", "|u1"), "expected chunks of 1 axes, got 2"},
      {array_v2("[9223372036854775807]", "[9223372036854775807]", "<f8"), "expected chunks of at most 2 GiB"},
      {array_v2("[2,9223372036854775807,9]", "[1,1,1]", "<f8"), "expected rows of at most 2 GiB"},
      {array_v2("[2,1000000]", "[1,1]", "|u1"), "expected rows of at most 65,536 chunks, got 1000000"},
      {array_v2("[9223372036854775807,64]", "[1,1]", "|u1"), "expected at most 2^62 chunks"},
      {array_v2("[2]", "[2]", "|u1", R"("compressor":null,"filters":[{"id":"shuffle","elementsize":0}])"),
       "1 to 256 bytes"},
  };
  for (const auto& [json, message] : cases)
    EXPECT_THAT(why_refused({{".zarray", json}}), HasSubstr(message)) << json;
  // An index of 2^30 chunks; one that does not divide its shard; shards in shards in shards.
  const std::string plain = "[" + kLittle + "]";
  EXPECT_THAT(why_refused({{"zarr.json", array_v3("[9]", "[1073741824]", "uint8", sharded("[1]", plain))}}),
              HasSubstr("at most 67,108,864 chunks"));
  EXPECT_THAT(why_refused({{"zarr.json", array_v3("[9]", "[5]", "uint8", sharded("[2]", plain))}}),
              HasSubstr("shards of whole chunks, got 5 and 2"));
  EXPECT_THAT(why_refused({{"zarr.json", array_v3("[8]", "[8]", "uint8",
                                                  sharded("[4]", sharded("[2]", sharded("[1]", plain))))}}),
              HasSubstr("at most one level of shards in shards"));
  EXPECT_THAT(why_refused({{"zarr.json", std::string(1000, '[')}}), HasSubstr("at most 128 deep"));
}

TEST(ZarrHostile, ChunksAreErrorsOfTheirRows) {
  const std::string packed = R"("filters":null,"fill_value":0,"compressor":)";
  const auto with = [&](const std::string& compressor) {
    return array_v2("[4]", "[4]", "<i4", packed + compressor);
  };
  const std::string sixteen = as_bytes_of<int32_t>({1, 2, 3, 4});
  const auto refused = [&](const std::string& json, const std::string& chunk, const std::string& message) {
    EXPECT_THAT(why_refused({{".zarray", json}, {"0", chunk}}), HasSubstr(message)) << message;
  };
  refused(with("null"), sixteen.substr(1), "expected 16 bytes at 0, but the file has 15");
  refused(with(R"({"id":"zstd"})"), in_zstd_frames(sixteen + "x"), "zstd: ");
  refused(with(R"({"id":"zstd"})"), "", "zstd: ");
  refused(with(R"({"id":"gzip"})"), deflated(sixteen + "x", Wrap::gzip),
          "gzip: expected at most 16 unpacked bytes");
  refused(with(R"({"id":"zlib"})"), deflated(sixteen.substr(4), Wrap::zlib),
          "gzip: expected 16 bytes, got 12");
  refused(with(R"({"id":"lz4"})"), "\x10", "lz4: expected a size");
  refused(with(R"({"id":"lz4"})"), as_bytes_of<uint32_t>({~0u}) + "x",
          "lz4: expected 16 bytes, got 4294967295");
  refused(with(R"({"id":"blosc"})"), "short", "blosc");
  // Version 2 of the format, no flags, elements of 4; then a wrong size, block size or length.
  const std::string head("\2\1\0\4", 4);
  refused(with(R"({"id":"blosc"})"), head + as_bytes_of<uint32_t>({16, 16, 99}) + sixteen, "blosc");
  refused(with(R"({"id":"blosc"})"), head + as_bytes_of<uint32_t>({0x7fffffff, 16, 32}) + sixteen, "blosc");
  refused(with(R"({"id":"blosc"})"), head + as_bytes_of<uint32_t>({16, 0, 32}) + sixteen, "blosc");
  EXPECT_THAT(read_numbers<int32_t>(zarr_store({{".zarray", with("null")}, {"0", sixteen}})).first,
              ::testing::ElementsAre(1, 2, 3, 4));
}

TEST(ZarrHostile, Shards) {
  const std::string json =
      array_v3("[4,8]", "[4,8]", "int32", sharded("[2,8]", "[" + kLittle + "," + kZstd + "]"));
  const auto why = [&](const std::vector<uint64_t>& index) {
    return why_refused(
        {{"zarr.json", json}, {"c/0/0", std::string(10, 'x') + with_crc32c(as_bytes_of(index))}});
  };
  constexpr uint64_t kNone = ~uint64_t{0};
  EXPECT_EQ(why({kNone, kNone, kNone, kNone}), "");
  EXPECT_THAT(why({0, 99, kNone, kNone}), HasSubstr("expected 99 bytes at 0, but the file has 46"));
  EXPECT_THAT(why({kNone - 5, 3, kNone, kNone}), HasSubstr("expected 3 bytes at"));
  EXPECT_THAT(why({kNone - 5, 30, kNone, kNone}),
              HasSubstr("expected a chunk inside its shard, got 30 bytes"));
  EXPECT_THAT(why({0, kNone, kNone, kNone}), HasSubstr("expected a chunk inside its shard"));
  EXPECT_THAT(why({0, 5, kNone, kNone}), HasSubstr("zstd: "));
  EXPECT_THAT(why_refused({{"zarr.json", json}, {"c/0/0", "short"}}),
              HasSubstr("36 bytes at the end, but the file has 5"));
  std::string damaged = std::string(10, 'x') + with_crc32c(as_bytes_of<uint64_t>({0, 5, kNone, kNone}));
  damaged[12] ^= 1;
  EXPECT_THAT(why_refused({{"zarr.json", json}, {"c/0/0", damaged}}),
              HasSubstr("index of the shard: crc32c: expected"));
}

TEST(ZarrHostile, Texts) {
  const std::string json = array_v3("[2]", "[2]", "string", R"(["vlen-utf8"])", R"("")");
  const auto why = [&](const std::string& chunk) {
    return why_refused({{"zarr.json", json}, {"c/0", chunk}});
  };
  EXPECT_EQ(why(as_bytes_of<uint32_t>({2, 0, 0})), "");
  EXPECT_THAT(why(as_bytes_of<uint32_t>({3, 0, 0, 0})),
              HasSubstr("expected 2 strings with their lengths, got 3"));
  EXPECT_THAT(why(as_bytes_of<uint32_t>({2, 0})), HasSubstr("expected 2 strings"));
  EXPECT_THAT(why(as_bytes_of<uint32_t>({2, ~0u, 0})), HasSubstr("got one of 4294967295 bytes"));
  EXPECT_THAT(why(as_bytes_of<uint32_t>({2, 1}) + "\xff" + as_bytes_of<uint32_t>({0})),
              HasSubstr("expected UTF-8"));
}

std::string repeated(const std::string& one, size_t count, const std::string& between = ",") {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i == 0 ? "" : between) + one;
  return out;
}

TEST(ZarrHostile, ManyCodecsOneAfterTheOther) {
  const std::string crc = R"({"name":"crc32c"})", delta = R"({"id":"delta","dtype":"|u1"})";
  const auto newer = [&](const std::string& codecs) {
    return why_refused({{"zarr.json", array_v3("[2]", "[2]", "uint8", "[" + codecs + "]")}});
  };
  EXPECT_EQ(newer(kLittle + "," + repeated(crc, 16)), "");
  EXPECT_THAT(newer(kLittle + "," + repeated(crc, 17)), HasSubstr("at most 16 codecs in a chain"));
  EXPECT_THAT(newer(kLittle + "," + repeated(kZstd, 1000)), HasSubstr("at most 16 codecs"));
  EXPECT_THAT(why_refused({{".zarray", array_v2("[2]", "[2]", "|u1",
                                                R"("compressor":null,"fill_value":0,"filters":[)" +
                                                    repeated(delta, 1000) + "]")}}),
              HasSubstr("at most 16 codecs"));
}

TEST(ZarrHostile, ShardsInShardsFiftyDeep) {
  std::string codecs = "[" + kLittle + "]";
  for (int i = 0; i < 20; ++i) codecs = sharded("[1]", codecs);
  EXPECT_THAT(why_refused({{"zarr.json", array_v3("[1]", "[1]", "uint8", codecs)}}),
              HasSubstr("at most one level of shards in shards"));
  for (int i = 0; i < 30; ++i) codecs = sharded("[1]", codecs);
  EXPECT_THAT(why_refused({{"zarr.json", array_v3("[1]", "[1]", "uint8", codecs)}}), HasSubstr("128 deep"));
}

TEST(ZarrHostile, WhatLiesBetweenTwoCodecsIsNotMuchMoreThanTheChunk) {
  const std::string json =
      array_v3("[4]", "[4]", "uint8", "[" + kLittle + "," + kZstd + R"(,{"name":"gzip"}])");
  const auto why = [&](const std::string& between) {
    return why_refused({{"zarr.json", json}, {"c/0", deflated(between, Wrap::gzip)}});
  };
  EXPECT_EQ(why(in_zstd_frames("abcd")), "");
  EXPECT_THAT(why(std::string(1 << 20, 'a')),
              HasSubstr("expected at most 65544 bytes between two codecs, got"));
}

TEST(ZarrHostile, IndexesOfShards) {
  const std::string plain = "[" + kLittle + "]";
  EXPECT_THAT(
      why_refused({{"zarr.json", array_v3("[2,9]", "[2,16777216]", "uint8", sharded("[1,1]", plain))}}),
      HasSubstr("expected shard indexes of at most 256 MiB per row, got 536870916"));
  // Every chunk claims to be the whole shard.
  const std::string packed = "[" + kLittle + "," + kZstd + "]";
  const std::string json = array_v3("[1,64]", "[1,64]", "uint8", sharded("[1,1]", packed));
  std::vector<uint64_t> index;
  for (int i = 0; i < 64; ++i) index.insert(index.end(), {0, 8192});
  EXPECT_THAT(
      why_refused({{"zarr.json", json}, {"c/0/0", std::string(8192, 'x') + with_crc32c(as_bytes_of(index))}}),
      HasSubstr("expected a chunk of at most 4098 bytes in its shard, got 8192"));
}

TEST(ZarrHostile, ChunksLargerThanTheArrayTakeNothingWhileTheyAreNotThere) {
  // Chunks of 2 GiB; a row has two bytes.
  EXPECT_EQ(why_refused({{".zarray", array_v2("[2,2]", "[1,2147483648]", "|u1")}}), "");
}

TEST(ZarrHostile, LargeMetadata) {
  const std::string spaces(size_t{64} << 20, ' ');
  EXPECT_THAT(why_refused({{".zarray", array_v2("[2]", "[2]", "|u1") + spaces}}),
              HasSubstr("expected metadata of at most 64 MiB, got "));
  EXPECT_EQ(why_refused({{"a/.zarray", array_v2("[2]", "[2]", "|u1")}, {"a/.zattrs", spaces}}), "");
}

TEST(ZarrHostile, MetadataOfManyValues) {
  const auto refused = [](const std::string& text) { return std::string(parse_json(text).status().text()); };
  EXPECT_EQ(refused("[" + repeated("0", 2'999'999) + "]"), "");
  EXPECT_THAT(refused("[" + repeated("0", 3'000'000) + "]"), HasSubstr("at most 3,000,000 values"));
}

// Finding the index of each chunk's shard must not take linear time.
TEST(ZarrHostile, ARowAcrossManyShards) {
  constexpr int kShards = 1 << 16;
  const std::string one = shard_of({"a"});
  Files files{{"zarr.json", array_v3("[1,65536]", "[1,1]", "uint8", sharded("[1,1]", "[" + kLittle + "]"))}};
  for (int i = 0; i < kShards; ++i) files.emplace_back("c/0/" + std::to_string(i), one);
  const auto [got, why] = read_numbers<uint8_t>(zarr_store(files));
  EXPECT_EQ(why, "");
  EXPECT_EQ(got, std::vector<uint8_t>(kShards, 'a'));
}

TEST(ZarrHostile, ManyArrays) {
  std::string nodes;
  const std::string one = array_v3("[2]", "[2]", "uint8", "[" + kLittle + "]");
  for (int i = 0; i < 10'001; ++i) nodes += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":" + one;
  const std::string root = R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"metadata":{)";
  EXPECT_THAT(why_refused({{"zarr.json", root + nodes + "}}}"}}),
              HasSubstr("at most 10,000 arrays as fields"));
  nodes.clear();
  const std::string wide = array_v3("[2,65536]", "[2,1]", "uint8", "[" + kLittle + "]");
  for (int i = 0; i < 5; ++i) nodes += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":" + wide;
  EXPECT_THAT(why_refused({{"zarr.json", root + nodes + "}}}"}}),
              HasSubstr("rows of at most 262,144 chunks"));
}

TEST(ZarrHostile, ValuesOfOtherTypes) {
  const std::string plain = "[" + kLittle + "]";
  for (const char* fill : {R"("a")", "[1]", "{}", "300", "-1", "1.5", "1e300"})
    EXPECT_THAT(why_refused({{"zarr.json", array_v3("[2]", "[2]", "uint8", plain, fill)}}),
                HasSubstr("expected a fill_value of its data type"))
        << fill;
  for (const char* shape :
       {"[-1]", "[1.5]", R"(["2"])", "[null]", "{}", "2", "[18446744073709551615]", "[1e3]"})
    EXPECT_NE(why_refused({{"zarr.json", array_v3(shape, "[2]", "uint8", plain)}}), "") << shape;
  const std::string ones = repeated("1", 200);
  EXPECT_THAT(why_refused({{"zarr.json", array_v3("[" + ones + "]", "[" + ones + "]", "uint8", plain)}}),
              HasSubstr("expected at most 9 axes, got 200"));
  EXPECT_THAT(why_refused({{".zarray", array_v2("[2]", "[2]", "|S99999999999")}}), HasSubstr("got \"|S999"));
  EXPECT_THAT(why_refused({{".zarray", array_v2("[4]", "[4]", "|S1073741824")}}),
              HasSubstr("expected chunks of at most 2 GiB"));
  // 2^40 chunks of one row each, none of which exists.
  EXPECT_EQ(why_refused({{"zarr.json", array_v3("[1099511627776]", "[1]", "uint8", plain)}}), "");
}

}  // namespace
}  // namespace headrace::zarr
