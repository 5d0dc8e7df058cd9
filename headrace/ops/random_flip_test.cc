#include <gtest/gtest.h>

#include <numeric>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

// One image of `shape` with values counting up from 0, and what random_flip(p) makes of it.
std::vector<uint8_t> flip(const std::vector<uint8_t>& pixels, const Shape& shape, double p,
                          const Key& key = Key()) {
  const OpPtr op = *make_op("random_flip", Value(Value::Object{{"p", p}}));
  std::vector<uint8_t> result(pixels.size());
  const View in{DType::u8, shape, reinterpret_cast<const std::byte*>(pixels.data())};
  const MutView out{DType::u8, shape, reinterpret_cast<std::byte*>(result.data())};
  Scratch scratch;
  CallContext call(scratch, key);
  EXPECT_TRUE(op->run({&in, 1}, {&out, 1}, call).ok());
  return result;
}

TEST(RandomFlip, MirrorsPixelsAndKeepsTheirChannels) {
  const std::vector<uint8_t> image{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(flip(image, {2, 2, 3}, 1), (std::vector<uint8_t>{4, 5, 6, 1, 2, 3, 10, 11, 12, 7, 8, 9}));
  EXPECT_EQ(flip(image, {3, 4}, 1), (std::vector<uint8_t>{4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9}));
  EXPECT_EQ(flip(image, {2, 2, 3}, 0), image);
}

TEST(RandomFlip, SameKeySameBytes) {
  const std::vector<uint8_t> image{1, 2, 3, 4};
  int mirrored = 0;
  for (uint64_t index = 0; index < 1000; ++index) {
    const Key key(7, 0, {.index = index});
    const auto once = flip(image, {1, 4}, 0.25, key);
    EXPECT_EQ(once, flip(image, {1, 4}, 0.25, key));
    EXPECT_EQ(once != image, key.uniform(0) < 0.25f);
    mirrored += once != image;
  }
  EXPECT_NEAR(mirrored, 250, 50);
}

TEST(RandomFlip, ImageAndMaskAreMirroredTogether) {
  const OpPtr op = *make_op("random_flip", Value());
  const uint8_t image[] = {1, 2};
  const int32_t mask[] = {1, 2};
  for (uint64_t index = 0; index < 20; ++index) {
    uint8_t image_out[2];
    int32_t mask_out[2];
    const View in[] = {{DType::u8, {1, 2}, reinterpret_cast<const std::byte*>(image)},
                       {DType::i32, {1, 2, 1}, reinterpret_cast<const std::byte*>(mask)}};
    const MutView out[] = {{DType::u8, {1, 2}, reinterpret_cast<std::byte*>(image_out)},
                           {DType::i32, {1, 2, 1}, reinterpret_cast<std::byte*>(mask_out)}};
    Scratch scratch;
    CallContext call(scratch, Key(1, 0, {.index = index}));
    ASSERT_TRUE(op->run(in, out, call).ok());
    EXPECT_EQ(image_out[0], mask_out[0]);
  }
}

TEST(RandomFlip, RefusalsSayWhatWasWanted) {
  const TensorSpec vector{DType::u8, {3}};
  EXPECT_EQ((*make_op("random_flip", Value()))->infer({&vector, 1}).status().text(),
            "random_flip: expected images (H, W) or (H, W, C), got uint8 (3)");
  EXPECT_EQ(make_op("random_flip", Value(Value::Object{{"p", 2}})).status().text().substr(0, 54),
            "random_flip: p must be a probability from 0 to 1, got ");
}

}  // namespace
}  // namespace headrace
