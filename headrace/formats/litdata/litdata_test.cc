#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "headrace/formats/litdata/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string zstd_bytes(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string text_of(const Tensor& field) {
  const auto bytes = field.view().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

MemoryStore stored(const std::string& chunk, size_t samples, const std::vector<std::string>& formats,
                   const Value& tree) {
  MemoryStore store;
  store.add("d/chunk-0-0.bin", chunk);
  store.add("d/index.json", litdata_index({{"chunk-0-0.bin", samples}}, formats, tree));
  return store;
}

std::string failure(MemoryStore store) {
  const auto source = open_source(store, "d", "litdata");
  if (!source.ok()) return std::string(source.status().text());
  const auto fields = read_sample(**source, 0, store);
  return fields.ok() ? "read" : std::string(fields.status().text());
}

TEST(Litdata, EveryLeafIsReadAndNestsAsItWas) {
  const std::string numpy = litdata_bytes(uint32_t{9}) + litdata_bytes(uint32_t{2}) +
                            litdata_bytes(uint32_t{1}) + litdata_bytes(uint32_t{1}) + litdata_bytes(2.5f);
  const std::string old = litdata_bytes(uint32_t{2}) + litdata_bytes(uint32_t{0}) + litdata_bytes(0.5);
  const std::string pil =
      litdata_bytes(uint32_t{1}) + litdata_bytes(uint32_t{2}) + litdata_bytes(uint32_t{1}) + "Lxy";
  const std::vector<std::string> leaves = {"str",  litdata_bytes(0.5),        "\1", numpy, old, pil,
                                           "abcd", litdata_bytes(int64_t{-1})};
  const Value tuple = Value::Object{
      {"type", "builtins.tuple"},
      {"context", "null"},
      {"children_spec", Value::List{litdata_dict({"a", "b", "c"}), litdata_leaf(), litdata_leaf(),
                                    litdata_leaf(), litdata_leaf(), litdata_leaf()}}};
  MemoryStore store =
      stored(litdata_chunk({litdata_sample(leaves)}), 1,
             {"str", "float", "bool", "numpy", "tensor", "pil", "no_header_numpy:5", "int"}, tuple);
  const auto source = open_source(store, "d");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(),
            "0/a: str, 0/b: float64 (), 0/c: bool (), 1: float32 (?, ?), 2: float64 (), 3: uint8 (?, ?, 1), "
            "4: uint16 (?), 5: int64 ()");
  EXPECT_EQ((*source)->schema().structure, R"([{"a":0,"b":1,"c":2},3,4,5,6,7])");
  const auto fields = read_sample(**source, 0, store);
  ASSERT_TRUE(fields.ok()) << fields.status().text();
  EXPECT_EQ(text_of((*fields)[0]), "str");
  EXPECT_EQ(*(*fields)[3].view().as<float>(), 2.5f);
  EXPECT_EQ(*(*fields)[4].view().as<double>(), 0.5);
  EXPECT_EQ((*fields)[5].shape, (Shape{2, 1, 1}));
  EXPECT_EQ((*fields)[6].shape, (Shape{2}));
}

TEST(Litdata, WhatIsNotReadIsRefusedByItsName) {
  const std::string chunk = litdata_chunk({litdata_sample({"x"})});
  const Value tree = litdata_dict({"a"});
  EXPECT_THAT(failure(stored(chunk, 1, {"pickle"}, tree)), HasSubstr("has leaves that need unpickling"));
  EXPECT_THAT(failure(stored(chunk, 1, {"graph"}, tree)), HasSubstr("known format, got 'graph'"));
  EXPECT_THAT(failure(stored(chunk, 1, {"no_header_tensor:4"}, tree)),
              HasSubstr("expected a dtype of real numbers"));
  EXPECT_THAT(failure(stored(chunk, 1, {"str", "str"}, tree)),
              HasSubstr("expected a tree of 2 leaves, got 1"));
  const auto with = [&](const std::string& from, const std::string& to) {
    MemoryStore store = stored(chunk, 1, {"str"}, tree);
    std::string index = litdata_index({{"chunk-0-0.bin", 1}}, {"str"}, tree);
    index.replace(index.find(from), from.size(), to);
    store.add("d/index.json", index);
    return failure(store);
  };
  EXPECT_THAT(with("\"encryption\":null", "\"encryption\":{}"),
              HasSubstr("expected chunks that are not encrypted"));
  EXPECT_THAT(with("PyTreeLoader", "TokensLoader"), HasSubstr("got those of 'TokensLoader'"));
  EXPECT_THAT(with("\"chunk_size\":1", "\"chunk_size\":-1"),
              HasSubstr("must be an unsigned 32-bit number, got -1"));
  EXPECT_THAT(with("\"chunk_size\":1", "\"chunk_size\":4294967295"), HasSubstr("the file has"));
  EXPECT_THAT(with("chunk-0-0.bin", "../x.bin"), HasSubstr("expected names of files in its folder"));
}

TEST(Litdata, FramesThatDoNotFollowEachOtherAreRefused) {
  const std::vector<std::string> samples = {litdata_sample({"ab"}), litdata_sample({"cde"}),
                                            litdata_sample({""})};
  const std::string good = litdata_framed(samples, 2, zstd_bytes);
  const size_t offsets = 24, frames = 24 + 16;
  const auto with = [&](size_t at, auto value) {
    std::string bytes = good;
    bytes.replace(at, sizeof value, litdata_bytes(value));
    return failure(stored(bytes, 3, {"str"}, litdata_dict({"a"})));
  };
  EXPECT_EQ(with(offsets, uint32_t{0}), "read");
  EXPECT_THAT(with(8, uint16_t{2}), HasSubstr("expected a framed chunk of version 1, got 2"));
  EXPECT_THAT(with(12, uint32_t{4}), HasSubstr("expected 3 samples as the index states, got 4"));
  EXPECT_THAT(with(20, ~uint32_t{0}), HasSubstr("the file has"));
  EXPECT_THAT(with(offsets + 4, uint32_t{100}), HasSubstr("expected sample offsets that increase from 0"));
  EXPECT_THAT(with(frames, uint32_t{1}), HasSubstr("frame 0: expected samples from 0 to 3, got 2 from 1"));
  EXPECT_THAT(with(frames + 4, ~uint32_t{0}), HasSubstr("frame 0: expected samples from 0 to 3"));
  EXPECT_THAT(with(frames + 8, ~uint64_t{0}), HasSubstr("frame 0: expected"));
  EXPECT_THAT(with(frames + 20, uint32_t{14}),
              HasSubstr("expected its samples of 13 bytes when unpacked, got 14"));
}

TEST(Litdata, TheBytesOfAChunkSayWhatItIs) {
  const std::vector<std::string> samples = {litdata_sample({"ab"}), litdata_sample({"cde"})};
  for (const std::string& chunk :
       {litdata_chunk(samples), zstd_bytes(litdata_chunk(samples)), litdata_framed(samples, 1, zstd_bytes),
        litdata_framed(samples, 256, zstd_bytes)}) {
    MemoryStore store = stored(chunk, 2, {"str"}, litdata_dict({"a"}));
    const auto source = open_source(store, "d");
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ(text_of((*read_sample(**source, 1, store))[0]), "cde");
  }
  const std::string rows = litdata_chunk({}) + litdata_bytes(~uint32_t{0}) + std::string("LDARW01\0", 8);
  EXPECT_THAT(failure(stored(rows, 0, {"str"}, litdata_dict({"a"}))),
              HasSubstr("expected Arrow rows of 4294967295 bytes"));
}

}  // namespace
}  // namespace headrace
