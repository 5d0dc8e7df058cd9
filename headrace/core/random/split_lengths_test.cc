#include "headrace/core/random/split_lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SplitLengths, OfFractionsAndOfNumbers) {
  EXPECT_THAT(*split_lengths(std::vector{0.9, 0.1}, 100), ElementsAre(90, 10));
  EXPECT_THAT(*split_lengths(std::vector{0.29, 0.71}, 100), ElementsAre(29, 71));
  EXPECT_THAT(*split_lengths(std::vector{1.0 / 3, 1.0 / 3, 1.0 / 3}, 11), ElementsAre(4, 4, 3));
  EXPECT_THAT(*split_lengths(std::vector{7.0, 0.0, 4.0}, 11), ElementsAre(7, 0, 4));
  EXPECT_THAT(*split_lengths(std::vector{0.0, 1.0}, 11), ElementsAre(0, 11));
  EXPECT_THAT(*split_lengths(std::vector{0.5, 0.5}, 0), ElementsAre(0, 0));
  EXPECT_THAT(*split_lengths(std::vector<double>(10, 0.1), uint64_t{1} << 40),
              ElementsAre(109951162778, 109951162778, 109951162778, 109951162778, 109951162778, 109951162778,
                          109951162777, 109951162777, 109951162777, 109951162777));
}

TEST(SplitLengths, WhatDoesNotAddUpIsRefused) {
  for (const std::vector<double>& lengths :
       std::vector<std::vector<double>>{{}, {0.5, 0.6}, {-1, 12}, {7, 5}, {0.5, NAN}, {1e300, 1}})
    EXPECT_THAT(split_lengths(lengths, 11).status().text(),
                HasSubstr("fractions that sum to 1, or numbers of elements that sum to 11"));
}

}  // namespace
}  // namespace headrace
