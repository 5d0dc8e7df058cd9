#include "headrace/run/engine/headroom.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Headroom, GrowsOncePerLesson) {
  Headroom headroom(3200);
  headroom.was_short();  // ignored before anything was admitted
  EXPECT_EQ(headroom.bytes(), 0u);
  headroom.admitted();
  headroom.was_short();
  headroom.was_short();  // of work admitted before
  EXPECT_EQ(headroom.bytes(), 400u);
  headroom.admitted();
  headroom.was_short();
  EXPECT_EQ(headroom.bytes(), 800u);
}

TEST(Headroom, LeavesAQuarterForTickets) {
  Headroom headroom(3200);
  for (int i = 0; i < 20; ++i) headroom.admitted(), headroom.was_short();
  EXPECT_EQ(headroom.bytes(), 2400u);
}

TEST(Headroom, IsGivenUpWhereAllGoesWell) {
  Headroom headroom(3200);
  for (int i = 0; i < 3; ++i) headroom.admitted(), headroom.was_short();
  const size_t before = headroom.bytes();
  for (int i = 0; i < 31; ++i) headroom.admitted();
  EXPECT_EQ(headroom.bytes(), before);
  headroom.admitted();
  EXPECT_EQ(headroom.bytes(), before - before / 8);
  for (int i = 0; i < 1000; ++i) headroom.admitted();
  EXPECT_EQ(headroom.bytes(), 0u);
}

}  // namespace
}  // namespace headrace
