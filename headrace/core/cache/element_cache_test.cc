#include "headrace/core/cache/element_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "headrace/core/row_list.h"

namespace headrace {
namespace {

BufferPtr buffer_of(const std::vector<std::byte>& bytes) {
  MutableBufferPtr out = HeapBuffer::make(bytes.size());
  if (!bytes.empty()) std::memcpy(out->mutable_data(), bytes.data(), bytes.size());
  return out;
}

std::vector<Tensor> some_fields() {
  Tensor ragged;
  ragged.dtype = DType::str;
  ragged.shape = {2};
  ragged.rows = std::make_shared<const RowList>(std::vector<Tensor>{text_tensor("one"), text_tensor("")});
  return {scalar(int64_t{7}), text_tensor("text", DType::bytes), ragged, scalar(0.5)};
}

TEST(ElementCache, FieldsComeBackFromBytes) {
  const std::vector<std::byte> packed = pack_fields(some_fields());
  std::vector<Tensor> fields;
  ASSERT_TRUE(unpack_fields(buffer_of(packed), fields).ok());
  ASSERT_EQ(fields.size(), 4u);
  EXPECT_EQ(*fields[0].view().as<int64_t>(), 7);
  EXPECT_EQ(std::string(fields[1].view().as<char>(), fields[1].view().size_bytes()), "text");
  ASSERT_TRUE(fields[2].is_ragged());
  EXPECT_EQ((*fields[2].rows)[1].shape, Shape({0}));
  EXPECT_EQ(*fields[3].view().as<double>(), 0.5);
  EXPECT_EQ(pack_fields(fields), packed);
}

TEST(ElementCache, BytesCutShortAreRefusedAndSoAreMore) {
  const std::vector<std::byte> packed = pack_fields(some_fields());
  std::vector<Tensor> fields;
  for (size_t size = 0; size < packed.size(); ++size)
    EXPECT_FALSE(
        unpack_fields(buffer_of({packed.begin(), packed.begin() + static_cast<ptrdiff_t>(size)}), fields)
            .ok())
        << size;
  std::vector<std::byte> longer = packed;
  longer.push_back({});
  EXPECT_FALSE(unpack_fields(buffer_of(longer), fields).ok());
}

TEST(ElementCache, MemoryHoldsWhatItMayAndSaysBothFigures) {
  const auto cache = memory_cache(1200);  // two, with room for their neighbours
  const std::vector<Tensor> fields{scalar(int64_t{1})};
  EXPECT_TRUE(cache->put({0, 1}, fields).ok());
  EXPECT_TRUE(cache->put({0, 1}, fields).ok()) << "it is there";
  EXPECT_TRUE(cache->put({1, 1}, fields).ok());
  EXPECT_TRUE(cache->put({0, 2}, fields).ok()) << "its place is there";
  const Status full = cache->put({0, 16}, fields);
  EXPECT_EQ(full.code(), Code::exhausted);
  EXPECT_THAT(std::string(full.text()),
              ::testing::HasSubstr("4 elements need at least 1560 bytes, but the limit is 1200"));
  EXPECT_TRUE(cache->has({1, 1}));
  EXPECT_FALSE(cache->has({0, 16}));
}

TEST(ElementCache, WhatItTakesBesideTheirBytesIsKnownBefore) {
  constexpr uint64_t kElements = 160;
  const auto measured = [](const std::vector<Tensor>& fields) {
    const auto cache = memory_cache(size_t{1} << 20);
    for (uint64_t i = 0; i < kElements; ++i) EXPECT_TRUE(cache->put({0, i}, fields).ok());
    double bytes = static_cast<double>(cache->bytes()) / kElements;
    for (const Tensor& field : fields) bytes -= static_cast<double>(field.view().size_bytes());
    return bytes;
  };
  const auto expected = [](const std::vector<Tensor>& fields) {
    std::vector<TensorSpec> specs;
    for (const Tensor& field : fields) specs.push_back({field.dtype, field.shape});
    return static_cast<double>(beside_in_memory_cache(specs));
  };
  const Tensor number = scalar(0.5), text = text_tensor("some", DType::bytes);
  for (const std::vector<Tensor>& fields : {std::vector{number},
                                            {number, number},
                                            {text},
                                            {number, text},
                                            {text, text, text, number},
                                            std::vector(12, number)}) {
    EXPECT_GT(measured(fields), 0.8 * expected(fields)) << fields.size();
    EXPECT_LT(measured(fields), 1.2 * expected(fields)) << fields.size();
  }
}

TEST(ElementCache, NeighboursOfOneFormAndOthersComeBackTogether) {
  const auto cache = memory_cache(size_t{1} << 20);
  const auto pair = [](int64_t i) { return std::vector<Tensor>{scalar(i), scalar(0.5 * double(i))}; };
  for (const int64_t i : {1, 2, 3, 17, 40, 0}) EXPECT_TRUE(cache->put({0, uint64_t(i)}, pair(i)).ok());
  EXPECT_TRUE(cache->put({0, 4}, std::vector<Tensor>{scalar(int64_t{9})}).ok()) << "of another form";
  EXPECT_TRUE(cache->put({0, 5}, some_fields()).ok()) << "too large, and ragged";
  EXPECT_EQ(cache->size(), 8u);

  std::vector<int64_t> whole(6);
  std::vector<double> half(6);
  const std::vector<MutView> out{{DType::i64, {6}, reinterpret_cast<std::byte*>(whole.data())},
                                 {DType::f64, {6}, reinterpret_cast<std::byte*>(half.data())}};
  EXPECT_TRUE(cache->gather(0, std::vector<uint64_t>{2, 3, 40, 0, 1, 17}, out));
  EXPECT_EQ(whole, (std::vector<int64_t>{2, 3, 40, 0, 1, 17}));
  EXPECT_EQ(half, (std::vector<double>{1, 1.5, 20, 0, 0.5, 8.5}));
  for (const uint64_t missing : {4, 5, 6, 41, 1000})
    EXPECT_FALSE(cache->gather(0, std::vector<uint64_t>{2, 3, missing, 0, 1, 17}, out)) << missing;

  std::vector<Tensor> fields;
  ASSERT_TRUE(*cache->get({0, 3}, fields));
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(*fields[1].view().as<double>(), 1.5);
  ASSERT_TRUE(*cache->get({0, 4}, fields));
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(*fields[0].view().as<int64_t>(), 9);
  ASSERT_TRUE(*cache->get({0, 5}, fields));
  EXPECT_EQ(pack_fields(fields), pack_fields(some_fields()));
  EXPECT_FALSE(*cache->get({0, 6}, fields));
}

TEST(ElementCache, ThreadsShareIt) {
  const auto cache = memory_cache(size_t{1} << 30);
  std::vector<std::jthread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&cache, t] {
      for (uint64_t i = 0; i < 500; ++i) {
        const uint64_t index = (i * 7 + t * 13) % 500;
        std::vector<Tensor> fields;
        if (!*cache->get({0, index}, fields))
          EXPECT_TRUE(cache->put({0, index}, std::vector<Tensor>{scalar(static_cast<int64_t>(index))}).ok());
        else
          EXPECT_EQ(*fields[0].view().as<int64_t>(), static_cast<int64_t>(index));
      }
    });
  threads.clear();
  EXPECT_EQ(cache->size(), 500u);
}

}  // namespace
}  // namespace headrace
