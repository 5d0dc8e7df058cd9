#include "headrace/codecs/zstd/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/codecs/zstd/testing.h"
#include "headrace/core/text/text.h"

namespace headrace {

std::string in_zstd_frames(const std::string& text, size_t frame) {
  std::string out;
  size_t at = 0;
  do {
    const std::string part = text.substr(at, frame == 0 ? std::string::npos : frame);
    std::string packed(ZSTD_compressBound(part.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), part.data(), part.size(), 3));
    out += packed;
    at += part.size();
  } while (at < text.size());
  return out;
}

namespace {

using ::testing::HasSubstr;

std::string numbers_text(size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += std::to_string(i * 7919 % 1000003) + "\n";
  return out;
}

// Unpacks all of the data, in pieces of the given number of compressed bytes, and the points found.
Result<std::string> unpacked(const std::string& packed, size_t piece, InflatePoints* points = nullptr) {
  Inflater inflater;
  std::string out;
  for (size_t at = 0; at < packed.size(); at += piece)
    HEADRACE_TRY(inflater.feed(text_bytes(std::string_view(packed).substr(at, piece)), [&](auto bytes) {
      out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return Status();
    }));
  HEADRACE_TRY(inflater.finish());
  if (points) *points = inflater.points();
  return out;
}

std::string text_or_error(const Result<std::string>& text) {
  return text.ok() ? *text : std::string(text.status().text());
}

TEST(Zstd, FramesAreUnpackedPieceByPiece) {
  const std::string text = numbers_text(200000);
  for (const size_t frame : {size_t{0}, size_t{100000}, text.size() - 1}) {
    const std::string packed = in_zstd_frames(text, frame);
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}, packed.size()})
      EXPECT_EQ(text_or_error(unpacked(packed, piece)), text) << frame << " " << piece;
  }
  EXPECT_EQ(text_or_error(unpacked(in_zstd_frames(""), 1)), "");
  const std::string passed_over("\x50\x2A\x4D\x18\x03\0\0\0abc", 11);
  EXPECT_EQ(text_or_error(unpacked(passed_over + in_zstd_frames("x") + passed_over, 3)), "x");
}

TEST(Zstd, PointsAreBeginningsOfFrames) {
  const std::string text = numbers_text(2000000);
  InflatePoints points;
  ASSERT_EQ(text_or_error(unpacked(in_zstd_frames(text, 500000), 1000, &points)), text);
  ASSERT_GT(points.points.size(), 3u);
  const auto again = unpack_points(pack_points(points));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, points);
  const std::string packed = in_zstd_frames(text, 500000);
  for (const InflatePoint& point : points.points) {
    EXPECT_EQ(point.unpacked % 500000, 0u);
    std::string part(std::min<size_t>(600000, text.size() - point.unpacked), '\0');
    const auto in = text_bytes(packed).subspan(point.packed);
    ASSERT_TRUE(inflate_from(point, in, {reinterpret_cast<std::byte*>(part.data()), part.size()}).ok());
    EXPECT_EQ(part, text.substr(point.unpacked, part.size()));
  }
}

TEST(Zstd, DamageAndCutsAreErrors) {
  const std::string packed = in_zstd_frames(numbers_text(50000));
  EXPECT_THAT(unpacked(packed.substr(0, packed.size() / 2), 1000).status().text(),
              HasSubstr("zstd data ends early at compressed byte "));
  std::string damaged = packed;
  damaged[5] = '\xFF', damaged[packed.size() / 2] ^= 0x55;
  EXPECT_FALSE(unpacked(damaged, 1000).ok());
  EXPECT_THAT(unpacked(packed + "no frame", 1000).status().text(),
              HasSubstr("cannot decompress zstd data ("));
}

TEST(Zstd, AFrameWithoutPlacesToBeginHasABound) {
  const std::string bomb = in_zstd_frames(std::string(size_t{300} << 20, 'x'));
  EXPECT_LT(bomb.size(), 100000u);
  EXPECT_THAT(unpacked(bomb, 1000).status().text(), HasSubstr("expected zstd frames of at most 256 MiB"));
}

}  // namespace
}  // namespace headrace
