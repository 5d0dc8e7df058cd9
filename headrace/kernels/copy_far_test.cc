#include "headrace/kernels/copy_far.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace headrace::kernels {
namespace {

TEST(CopyFar, CopiesEachByteAndNoOther) {
  for (const size_t size : {0, 1, 127, 4095, 4096, 8191, 8192, 8193, 12'288, 32'768, 36'865, 110'000})
    for (const size_t to_at : {0, 1, 33})
      for (const size_t from_at : {0, 16, 4095}) {
        std::vector<uint8_t> from(from_at + size), to(to_at + size + 64, 0xAB);
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 131 + i / 251);
        std::vector<uint8_t> wanted = to;
        std::copy(from.begin() + static_cast<std::ptrdiff_t>(from_at), from.end(),
                  wanted.begin() + static_cast<std::ptrdiff_t>(to_at));
        copy_far(to.data() + to_at, from.data() + from_at, size);
        ASSERT_EQ(to, wanted) << size << " " << to_at << " " << from_at;
      }
}

}  // namespace
}  // namespace headrace::kernels
