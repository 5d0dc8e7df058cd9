#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

Key key(uint64_t index) { return Key(3, 1, {.index = index}); }

TEST(RandomResize, DrawsEveryLengthFromLeastToGreatest) {
  const OpPtr op = *make_op("random_resize", *Value::parse(R"({"shorter": [4, 8]})"));
  const std::vector<uint8_t> pixels(10 * 20 * 3);
  const View image{DType::u8, {10, 20, 3}, reinterpret_cast<const std::byte*>(pixels.data())};
  std::set<int64_t> seen;
  for (uint64_t index = 0; index < 200; ++index) {
    Shape out;
    Scratch scratch;
    CallContext call(scratch, key(index));
    ASSERT_TRUE(op->measure({&image, 1}, {&out, 1}, call).ok());
    EXPECT_EQ(out[1], 2 * out[0]);
    EXPECT_EQ(out[2], 3);
    seen.insert(out[0]);
  }
  EXPECT_EQ(seen, (std::set<int64_t>{4, 5, 6, 7, 8}));
}

TEST(RandomResize, EqualsResizeToTheMeasuredSize) {
  const OpPtr op = *make_op("random_resize", *Value::parse(R"({"shorter": [4, 8]})"));
  std::vector<uint8_t> pixels(10 * 20 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 31);
  const View image{DType::u8, {10, 20, 3}, reinterpret_cast<const std::byte*>(pixels.data())};
  Shape shape;
  Scratch scratch;
  CallContext call(scratch, key(5));
  ASSERT_TRUE(op->measure({&image, 1}, {&shape, 1}, call).ok());
  std::vector<uint8_t> drawn(static_cast<size_t>(shape.count())), fixed(drawn);
  const MutView drawn_view{DType::u8, shape, reinterpret_cast<std::byte*>(drawn.data())};
  const MutView fixed_view{DType::u8, shape, reinterpret_cast<std::byte*>(fixed.data())};
  ASSERT_TRUE(op->run({&image, 1}, {&drawn_view, 1}, call).ok());
  const OpPtr resize = *make_op("resize", Value(Value::Object{{"size", Value::List{shape[0], shape[1]}}}));
  ASSERT_TRUE(resize->run({&image, 1}, {&fixed_view, 1}, call).ok());
  EXPECT_EQ(drawn, fixed);
}

TEST(RandomResize, SaysWhatItWants) {
  EXPECT_EQ(make_op("random_resize", *Value::parse(R"({"shorter": [9, 8]})")).status().text(),
            "random_resize: shorter must be (least, greatest) from 1 to 65500, got (9, 8)");
}

}  // namespace
}  // namespace headrace
