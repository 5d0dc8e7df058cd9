#include <gtest/gtest.h>
#include <zstd.h>

#include <random>
#include <string>

#include "headrace/codecs/packed/unpack.h"
#include "headrace/core/text/text.h"

namespace headrace {
namespace {

std::string noise(size_t size) {
  std::mt19937 random(7);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

enum class Size : uint8_t { said, not_said, found_at_the_end };
std::string packed(const std::string& bytes, Size size = Size::said, bool has_checksum = false) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, has_checksum);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, size != Size::not_said);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  ZSTD_inBuffer from{bytes.data(), bytes.size(), 0};
  if (size == Size::found_at_the_end) {
    ZSTD_compressStream2(context, &to, &from, ZSTD_e_flush);
    EXPECT_EQ(ZSTD_compressStream2(context, &to, &from, ZSTD_e_end), 0u);
  } else {
    EXPECT_EQ(ZSTD_compressStream2(context, &to, &from, ZSTD_e_end), 0u);
  }
  ZSTD_freeCCtx(context);
  out.resize(to.pos);
  return out;
}

std::optional<std::string> stored(const std::string& frame) {
  const auto found = stored_in_zstd(text_bytes(frame));
  if (!found) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(found->data()), found->size());
}

TEST(StoredInZstd, IsWhatTheLibraryUnpacks) {
  for (const size_t size : {1, 100, 255, 256, 257, 1000, 65'535, 65'536, 65'791, 65'792, 110'000, 131'072}) {
    const std::string bytes = noise(size);
    EXPECT_EQ(stored(packed(bytes)), bytes) << size;
    // A window smaller than the maximum block size, as the library chooses for few bytes, gives no answer.
    const auto found = stored(packed(bytes, Size::not_said));
    EXPECT_EQ(found.value_or(bytes), bytes) << size;
    EXPECT_EQ(found.has_value(), size > 65'536) << size;
  }
}

TEST(StoredInZstd, IsNothingOfOtherFrames) {
  EXPECT_EQ(stored(packed(std::string(10'000, 'a'))), std::nullopt);
  EXPECT_EQ(stored(packed(noise(131'073))), std::nullopt);  // two blocks
  EXPECT_EQ(stored(packed(noise(1000), Size::said, true)), std::nullopt);
  EXPECT_EQ(stored(packed(noise(1000), Size::found_at_the_end)), std::nullopt);  // an empty block ends it
  EXPECT_EQ(stored(packed(noise(1000)) + packed("")), std::nullopt);
  EXPECT_EQ(stored(""), std::nullopt);
}

// Damaged data is left to the library; what is accepted here is what the library would return.
TEST(StoredInZstd, SaysNothingTheLibraryWouldNot) {
  for (const size_t size : {40, 300, 70'000}) {
    const std::string bytes = noise(size), frame = packed(bytes, size > 300 ? Size::not_said : Size::said);
    for (size_t n = 0; n < frame.size(); n += n < 50 ? 1 : 1000)
      EXPECT_EQ(stored(frame.substr(0, n)), std::nullopt) << n;
    for (size_t at = 0; at < frame.size() - bytes.size(); ++at)
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = frame;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        const auto found = stored(damaged);
        if (!found) continue;
        std::string out(frame.size(), '\0');
        const size_t made = ZSTD_decompress(out.data(), out.size(), damaged.data(), damaged.size());
        ASSERT_FALSE(ZSTD_isError(made)) << at << " " << bit;
        EXPECT_EQ(*found, out.substr(0, made));
      }
  }
}

}  // namespace
}  // namespace headrace
