#include "headrace/kernels/unstuff.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

using Form = Unstuffed (*)(const uint8_t*, size_t, uint8_t*, size_t);

struct Taken {
  std::vector<uint8_t> bytes;
  size_t read = 0;
  bool operator==(const Taken&) const = default;
};

// All up to a marker or the end, `room` bytes at a time.
Taken take(const std::vector<uint8_t>& data, size_t room, Form form) {
  Taken taken;
  for (bool stopped = false; !stopped;) {
    std::vector<uint8_t> piece(room + kUnstuffMore);
    const Unstuffed done = form(data.data() + taken.read, data.size() - taken.read, piece.data(), room);
    EXPECT_LE(done.written, piece.size());
    EXPECT_TRUE(done.stopped || done.written >= room);
    taken.bytes.insert(taken.bytes.end(), piece.data(), piece.data() + done.written);
    taken.read += done.read, stopped = done.stopped;
  }
  return taken;
}

TEST(Unstuff, TakesOutTheZeroBehindEach0xFF) {
  for (const Form form : {unstuff, unstuff_scalar}) {
    EXPECT_EQ(take({1, 0xFF, 0, 2, 0xFF, 0, 0, 3}, 100, form), (Taken{{1, 0xFF, 2, 0xFF, 0, 3}, 8}));
    EXPECT_EQ(take({}, 100, form), (Taken{{}, 0}));
  }
}

TEST(Unstuff, StopsAtAMarkerAndAtTheEnd) {
  for (const Form form : {unstuff, unstuff_scalar}) {
    EXPECT_EQ(take({1, 2, 0xFF, 0xD0, 3}, 100, form), (Taken{{1, 2}, 2}));
    EXPECT_EQ(take({1, 0xFF, 0xFF, 0}, 100, form), (Taken{{1}, 1}));
    EXPECT_EQ(take({1, 2, 0xFF}, 100, form), (Taken{{1, 2}, 2}));
    EXPECT_EQ(take({1, 2, 0xFF, 0}, 100, form), (Taken{{1, 2, 0xFF}, 4}));
  }
}

TEST(Unstuff, EveryTargetGivesTheBytesOfTheTwin) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> data(random() % 700);
    const unsigned stuffed = 2 + random() % 400;
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<uint8_t>(random() % 255);
      if (random() % stuffed == 0) data[i] = 0xFF;
      if (i > 0 && data[i - 1] == 0xFF) data[i] = random() % 30 == 0 ? 0xD7 : 0;
    }
    const size_t room = 1 + random() % 300;
    const Taken expected = take(data, room, unstuff_scalar);
    on_each_simd_target(
        [&](const std::string& target) { EXPECT_EQ(take(data, room, unstuff), expected) << target; });
  }
}

}  // namespace
}  // namespace headrace::kernels
