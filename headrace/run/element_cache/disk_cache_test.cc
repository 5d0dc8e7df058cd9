#include "headrace/run/element_cache/disk_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>

#include "headrace/io/file_system.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

std::vector<Tensor> element(size_t bytes, int value) {
  const MutableBufferPtr block = HeapBuffer::make(bytes);
  std::memset(block->mutable_data(), value, bytes);
  Tensor tensor;
  tensor.dtype = DType::u8, tensor.shape = {static_cast<int64_t>(bytes)}, tensor.buffer = block;
  return {tensor};
}

bool is(ElementCache& cache, uint64_t index, size_t bytes) {
  std::vector<Tensor> fields;
  return *cache.get({0, index}, fields) && fields[0].view().size_bytes() == bytes &&
         std::to_integer<uint64_t>(fields[0].view().data[0]) == index % 251;
}

TEST(DiskCache, KeepsNoMoreThanItMayKnowOf) {
  const TemporaryFolder folder;
  const auto all = *disk_cache(folder.path() + "/cache", "key");
  for (uint64_t i = 0; i < 5000; ++i)
    ASSERT_TRUE(all->put({0, i}, element(100, static_cast<int>(i % 251))).ok());
  for (uint64_t i = 0; i < 5000; ++i) EXPECT_TRUE(is(*all, i, 100)) << i;
  const auto some = *disk_cache(folder.path() + "/cache", "key", {.places = 70});
  EXPECT_EQ(some->size(), 70u);
  ASSERT_TRUE(some->put({0, 9999}, element(100, 1)).ok());
  EXPECT_FALSE(some->has({0, 9999}));
  EXPECT_TRUE(some->trouble().empty());
}

TEST(DiskCache, HoldsNoMoreInMemoryThanItMayWhileAnotherOneWrites) {
  const TemporaryFolder folder;
  const auto cache = *disk_cache(folder.path() + "/cache", "key", {.waiting = 10'000});
  {
    const auto lock = *FileLock::take(folder.path() + "/cache/key.lock");
    ASSERT_TRUE(lock);
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(cache->put({0, i}, element(1000, 1)).ok());
    EXPECT_LT(std::chrono::steady_clock::now() - begin,
              std::chrono::seconds(5));  // put() does not wait for the lock
    EXPECT_LE(cache->bytes(), 12'000u);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (uint64_t i = 0; cache->size() < 50 && std::chrono::steady_clock::now() < until; ++i)
    ASSERT_TRUE(cache->put({0, i}, element(1000, 1)).ok());
  EXPECT_GE(cache->size(), 50u);
}

TEST(DiskCache, ManySmallElementsWaitForAnotherOneInLittleTime) {
  const TemporaryFolder folder;
  const auto cache = *disk_cache(folder.path() + "/cache", "key");
  const auto lock = *FileLock::take(folder.path() + "/cache/key.lock");
  ASSERT_TRUE(lock);
  const std::vector<Tensor> small = element(64, 1);
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < 50'000; ++i) ASSERT_TRUE(cache->put({0, i}, small).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin,
            std::chrono::seconds(20));  // copying all of them each time takes 100 s
  EXPECT_EQ(cache->size(), 50'000u);
}

size_t open_files() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(DiskCache, ReadsFromMoreFilesThanItKeepsOpen) {
  const TemporaryFolder folder;
  constexpr uint64_t kFiles = 100;
  for (uint64_t i = 0; i < kFiles; ++i)
    ASSERT_TRUE(
        (*disk_cache(folder.path() + "/cache", "key"))->put({0, i}, element(100, static_cast<int>(i))).ok());
  const size_t before = open_files();
  const auto cache = *disk_cache(folder.path() + "/cache", "key");
  EXPECT_EQ(cache->size(), kFiles);
  for (int epoch = 0; epoch < 2; ++epoch)
    for (uint64_t i = 0; i < kFiles; ++i) EXPECT_TRUE(is(*cache, i, 100)) << i;
  EXPECT_LE(open_files(), before + 70);
}

TEST(DiskCache, WhatIsReadCountsAgainstTheBudget) {
  const TemporaryFolder folder;
  ASSERT_TRUE((*disk_cache(folder.path() + "/cache", "key"))->put({0, 1}, element(100'000, 1)).ok());
  const auto cache = *disk_cache(folder.path() + "/cache", "key");
  const auto pool = Pool::make(250'000);
  std::vector<Tensor> first, second, third;
  EXPECT_TRUE(*cache->get({0, 1}, first, pool.get()));
  EXPECT_GE(pool->ledger().in_use, 100'000u);
  EXPECT_TRUE(*cache->get({0, 1}, second, pool.get()));
  EXPECT_EQ(cache->get({0, 1}, third, pool.get()).status().code(), Code::exhausted);
  first.clear(), second.clear();
  EXPECT_EQ(pool->ledger().in_use, 0u);
  EXPECT_TRUE(*cache->get({0, 1}, third, pool.get()));
}

TEST(DiskCache, GivesUpTheMemoryAndLeavesTheFiles) {
  const TemporaryFolder folder;
  const auto cache = *disk_cache(folder.path() + "/cache", "key");
  for (uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(cache->put({0, i}, element(1000, static_cast<int>(i))).ok());
  for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(is(*cache, i, 1000));
  cache->reclaim();
  EXPECT_EQ(cache->bytes(), 0u);
  EXPECT_FALSE(cache->has({0, 3}));
  ASSERT_TRUE(cache->put({0, 99}, element(1000, 99)).ok());
  EXPECT_FALSE(cache->has({0, 99}));
  EXPECT_EQ((*disk_cache(folder.path() + "/cache", "key"))->size(), 50u);
}

}  // namespace
}  // namespace headrace
