#include "headrace/kernels/unfilter.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr RowFilter kAll[] = {RowFilter::none, RowFilter::sub, RowFilter::up, RowFilter::average,
                              RowFilter::paeth};

// Filters a row, as the specification defines it.
Bytes filtered(RowFilter filter, const Bytes& row, const Bytes& above, size_t pixel) {
  Bytes out;
  for (size_t i = 0; i < row.size(); ++i) {
    const int a = i < pixel ? 0 : row[i - pixel], b = above[i], c = i < pixel ? 0 : above[i - pixel];
    const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
    const int paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
    const int guess[] = {0, a, b, (a + b) / 2, paeth};
    out.push_back(static_cast<uint8_t>(row[i] - guess[static_cast<size_t>(filter)]));
  }
  return out;
}

TEST(Unfilter, EveryTargetGivesBackTheRow) {
  std::mt19937 random(1);
  for (const size_t pixel : {1u, 2u, 3u, 4u, 6u, 8u})
    for (const size_t pixels : {1u, 2u, 3u, 7u, 40u, 301u})
      for (const RowFilter filter : kAll)
        for (const unsigned values : {256u, 2u, 9u}) {
          Bytes row(pixel * pixels), above(row.size());
          for (uint8_t& byte : row) byte = static_cast<uint8_t>(255 - random() % values);
          for (uint8_t& byte : above) byte = static_cast<uint8_t>(255 - random() % values);
          const Bytes in = filtered(filter, row, above, pixel);
          Bytes out(row.size());
          unfilter_scalar(filter, in.data(), above.data(), in.size(), pixel, out.data());
          EXPECT_EQ(out, row) << static_cast<int>(filter) << ", " << pixel;
          on_each_simd_target([&](const std::string& target) {
            Bytes made(row.size());
            unfilter(filter, in.data(), above.data(), in.size(), pixel, made.data());
            EXPECT_EQ(made, row) << target << ", " << static_cast<int>(filter) << ", " << pixel;
          });
        }
}

}  // namespace
}  // namespace headrace::kernels
