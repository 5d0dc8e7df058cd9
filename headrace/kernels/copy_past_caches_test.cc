#include "headrace/kernels/copy_past_caches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

TEST(CopyPastCaches, CopiesWhatItIsGivenAndNothingElse) {
  std::vector<uint8_t> from(3000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 + i / 251);
  for (const size_t size : {0, 1, 31, 63, 64, 65, 255, 256, 257, 300, 511, 512, 1000, 2048, 2600})
    for (const size_t offset : {0, 1, 7, 32, 63, 64})
      for (const size_t source : {0, 1, 13}) {
        std::vector<uint8_t> to(3000, 99), expected(3000, 99);
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(offset));
        on_each_simd_target([&](const std::string& target) {
          to.assign(3000, 99);
          copy_past_caches(to.data() + offset, from.data() + source, size);
          EXPECT_EQ(to, expected) << target << ": " << size << " bytes to " << offset << " from " << source;
        });
      }
}

}  // namespace
}  // namespace headrace::kernels
