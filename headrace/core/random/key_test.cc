#include "headrace/core/random/key.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

// Known-answer vectors of Random123 1.09 (kat_vectors, philox4x32 10).
TEST(Philox, EqualsThePublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Key, EveryPartOfTheNameChangesTheNumbers) {
  const SampleId id{.index = 5, .epoch = 2, .read = 1, .occurrence = 0, .child = 0};
  const uint32_t base = Key(1, 2, id).bits(0);
  EXPECT_EQ(base, Key(1, 2, id).bits(0));
  EXPECT_NE(base, Key(2, 2, id).bits(0));
  EXPECT_NE(base, Key(1, 3, id).bits(0));
  for (auto change : {+[](SampleId& s) { s.index = 6; }, +[](SampleId& s) { s.epoch = 3; },
                      +[](SampleId& s) { s.read = 2; }, +[](SampleId& s) { s.occurrence = 1; },
                      +[](SampleId& s) { s.child = 1; }}) {
    SampleId other = id;
    change(other);
    EXPECT_NE(base, Key(1, 2, other).bits(0));
  }
}

TEST(Key, UniformLiesInTheHalfOpenUnitInterval) {
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const float u = Key(7, 0, {.index = i}).uniform(0);
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

}  // namespace
}  // namespace headrace
