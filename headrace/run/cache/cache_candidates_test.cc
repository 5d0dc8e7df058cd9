#include "headrace/run/cache/cache_candidates.h"

#include <gtest/gtest.h>

#include "headrace/core/cache/element_cache.h"
#include "headrace/run/element_cache/extra_cache.h"

namespace headrace {
namespace {

constexpr double kMs = 1e-3;
constexpr uint64_t kMB = 1'000'000;

// decode_image, resize, random_crop of an image.
Program augment() {
  ProgramBuilder builder(Schema::of({"image"}, {{DType::bytes, {kAny}}}), "map at train.py:3");
  int value = builder.field(0);
  const auto next = [&](std::string_view op, const Value& params) {
    value = (*builder.add(op, params, std::array{value}))[0];
  };
  next("decode_image", Value::Object{{"match", "exact"}});
  next("resize", Value::Object{{"size", Value::List{256, 256}}});
  next("random_crop", Value::Object{{"size", Value::List{224, 224}}});
  return *builder.finish({"image"}, {value});
}

// Milliseconds and bytes of: reading 100 kB, decoding to 1.5 MB, resizing to 200 kB, cropping to 150 kB.
struct Costs {
  double read = 0.05, decode = 4, resize = 1, crop = 0.1;
  double decoded = 1.5e6;
};
Pilot measured(const Costs& costs = {}) {
  Pilot out;
  out.samples = 8, out.below = {0.05 * kMs, 0, 0, costs.read * kMs};
  out.read_bytes = 100e3, out.field_bytes = {100e3}, out.output_bytes = 150e3;
  out.steps = {{costs.decode * kMs, 0, {costs.decoded}},
               {costs.resize * kMs, 0, {200e3}},
               {costs.crop * kMs, 0, {150e3}}};
  return out;
}

CacheMachine machine() {
  CacheMachine out;
  out.workers = 2, out.cores = 2, out.io = 16;
  out.memory_room = 1000 * kMB, out.disk_room = 100'000 * kMB, out.page_cache = 4000 * kMB;
  out.memory_s_per_byte = out.write_s_per_byte = 0.1e-9;
  out.disk_s_per_byte = 0.3e-9, out.cold_disk_s_per_byte = 2e-9, out.disk_write_s_per_byte = 2e-9;
  return out;
}

std::vector<CacheCandidate> judged(const Pilot& pilot, const CacheUse& use, const CacheMachine& machine) {
  const Program program = augment();
  std::vector<CacheCandidate> out = cache_candidates("read", program, pilot, use);
  Demand base = pilot.below;
  for (size_t s = 0; s < program.steps.size(); ++s) base = base + demand_of(program.steps[s], pilot.steps[s]);
  for (CacheCandidate& one : out) judge(one, base, use, machine, pilot.output_bytes);
  choose(out);
  return out;
}

const CacheCandidate& after(const std::vector<CacheCandidate>& all, std::string_view name) {
  for (const CacheCandidate& one : all)
    if (one.after.starts_with(name)) return one;
  throw std::out_of_range(std::string(name));
}

TEST(CacheCandidates, StandAfterTheExpensivePartAndBeforeWhatDraws) {
  const auto all = judged(measured(), {1000, 1000}, machine());
  ASSERT_EQ(all.size(), 4u);
  const CacheCandidate& resize = after(all, "resize (map at train.py:3)");
  EXPECT_TRUE(resize.chosen) << to_text(all);
  EXPECT_EQ(resize.where, KeptIn::memory);
  EXPECT_NEAR(resize.speedup, 5.15 / 0.14,
              5);  // the rest: the crop, and copying from memory to the batch
  EXPECT_FALSE(after(all, "read").pays) << "the CPU limits";
  EXPECT_TRUE(after(all, "decode_image").pays);
  EXPECT_FALSE(after(all, "decode_image").fits && after(all, "decode_image").where == KeptIn::memory);
  EXPECT_FALSE(after(all, "random_crop").possible);
  EXPECT_EQ(after(all, "random_crop").why, "it draws new random numbers in every epoch");
}

TEST(CacheCandidates, ASlowStoreIsWorthKeepingWhatWasRead) {
  CacheMachine slow = machine();
  slow.io = 2;
  const auto all =
      judged(measured({.read = 100, .decode = 0.2, .resize = 0.1, .decoded = 60e6}), {1000, 1000}, slow);
  EXPECT_TRUE(after(all, "read").pays) << to_text(all);
  EXPECT_GT(after(all, "read").speedup, 100);
}

TEST(CacheCandidates, WhatIsCheaperToMakeThanToBringBackIsNotKept) {
  CacheMachine only_disk = machine();
  only_disk.memory_room = 0;
  // Large pixels that are computed in less time than they are read from a file.
  const auto all = judged(measured({.decode = 0.3, .resize = 0.01, .decoded = 3e6}), {1000, 1000}, only_disk);
  const CacheCandidate& decode = after(all, "decode_image");
  EXPECT_FALSE(decode.pays);
  EXPECT_LT(decode.speedup, 1);
  EXPECT_NE(decode.why.find("reading it back takes longer than computing it"), std::string::npos)
      << decode.why;
}

struct RoomCase {
  const char* what;
  uint64_t elements, memory_mb, disk_mb;
  KeptIn where;
  double share;
};
TEST(CacheCandidates, GoWhereThereIsRoomForAllOrElseForMost) {
  const RoomCase cases[] = {
      {"fits memory", 1000, 1000, 100'000, KeptIn::memory, 1},
      {"fits the disk", 1000, 100, 100'000, KeptIn::disk, 1},
      {"half of it fits the disk", 10'000, 100, 1030, KeptIn::disk, 0.5},
      {"more of it fits memory", 10'000, 1030, 100, KeptIn::memory, 0.5},
      {"next to nothing fits", 100'000, 100, 100, KeptIn::nowhere, 0},
  };
  for (const RoomCase& c : cases) {
    CacheMachine room = machine();
    room.memory_room = c.memory_mb * kMB, room.disk_room = c.disk_mb * kMB;
    const auto all = judged(measured(), {c.elements, c.elements}, room);
    const CacheCandidate& resize = after(all, "resize");
    EXPECT_EQ(resize.where, c.where) << c.what << ": " << resize.why;
    EXPECT_NEAR(resize.share, c.share, 0.02) << c.what;
    EXPECT_EQ(resize.fits, c.share == 1) << c.what;
  }
}

TEST(CacheCandidates, APartIsWorthWhatItsShareIs) {
  CacheMachine room = machine();
  room.memory_room = 1030 * kMB, room.no_disk = "none here";
  const auto all = judged(measured(), {10'000, 10'000}, room);
  const CacheCandidate& resize = after(all, "resize");
  EXPECT_NEAR(resize.speedup, 1 / (1 - resize.share), 0.15) << "half of the samples cost next to nothing";
  EXPECT_EQ(resize.why.substr(0, 11), "in memory: ");
}

TEST(CacheCandidates, RanksWithOtherSamplesEachEpochShareFiles) {
  const auto all =
      judged(measured(), {.elements = 1000, .in_memory = 1000, .found_in_memory = 0.25}, machine());
  EXPECT_EQ(after(all, "resize").where, KeptIn::disk);
}

TEST(CacheCandidates, ADiskThatWritesSlowlyMustPaySoon) {
  CacheMachine slow = machine();
  slow.memory_room = 0, slow.disk_write_s_per_byte = 1e-6;
  const CacheCandidate resize = after(judged(measured(), {1000, 1000}, slow), "resize");
  EXPECT_FALSE(resize.pays);
  EXPECT_NE(resize.why.find("writing it takes longer than it saves in 3 epochs"), std::string::npos);
}

TEST(CacheCandidates, WhatAnsweredOtherwiseIsNotKeptNorWhatIsMadeOfIt) {
  Pilot pilot = measured();
  pilot.steps[0].differs = true;
  const auto all = judged(pilot, {1000, 1000}, machine());
  ASSERT_EQ(all.size(), 2u) << to_text(all);
  EXPECT_EQ(all[1].why, "two calls for one sample gave different results");
}

TEST(CacheCandidates, OfTwoAsGoodTheSmallerIsTaken) {
  Pilot pilot = measured();
  pilot.steps[1].cpu_s = 0.001 * kMs;  // the resize costs next to nothing
  const auto all = judged(pilot, {100, 100}, machine());
  EXPECT_TRUE(after(all, "resize").chosen) << to_text(all);
  EXPECT_NE(after(all, "decode_image").why.find("less than the chosen one"), std::string::npos);
}

TEST(CacheCandidates, SizesAreWrittenAsPeopleDo) {
  EXPECT_EQ(bytes_as_text(0), "0 B");
  EXPECT_EQ(bytes_as_text(999), "999 B");
  EXPECT_EQ(bytes_as_text(1000), "1.0 kB");
  EXPECT_EQ(bytes_as_text(41.04e9), "41.0 GB");
  EXPECT_EQ(bytes_as_text(177e6), "177 MB");
}

TEST(ExtraCache, KeepsTheSameShareInEveryOrder) {
  const Tensor element = scalar(int64_t{7});
  const auto keep = [&](bool backwards) {
    ExtraCache cache(memory_cache(kMB), {.share = 0.3}, {});
    for (uint64_t i = 0; i < 1000; ++i) {
      const CacheKey key{0, backwards ? 999 - i : i};
      EXPECT_TRUE(cache.put(key, std::span(&element, 1)).ok());
    }
    std::vector<uint64_t> there;
    for (uint64_t i = 0; i < 1000; ++i)
      if (cache.has({0, i})) there.push_back(i);
    return there;
  };
  EXPECT_EQ(keep(false), keep(true));
  EXPECT_NEAR(static_cast<double>(keep(false).size()), 300, 45);  // three sigma
}

TEST(ExtraCache, IsFullWithoutAnError) {
  const Tensor element = make_tensor({DType::u8, {1000}, std::vector<std::byte>(1000).data()});
  ExtraCache cache(memory_cache(10'000), {}, {});
  for (uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(cache.put({0, i}, std::span(&element, 1)).ok());
  EXPECT_GT(cache.size(), 3u);
  EXPECT_LT(cache.size(), 11u);
  EXPECT_FALSE(cache.wants({0, 99}));
  EXPECT_TRUE(cache.has({0, 0})) << "what is kept stays";
}

}  // namespace
}  // namespace headrace
