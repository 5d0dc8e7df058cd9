#include "headrace/codecs/deflate/inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "headrace/codecs/deflate/testing.h"

namespace headrace {

std::string deflated(const std::string& in, Wrap wrap) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, wrap == Wrap::gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, in.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

namespace {

std::span<const std::byte> span_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Text that deflate reduces to a third, in many blocks.
std::string text_of(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string out;
  while (out.size() < size) out += std::to_string(random() % 100'000) + ", ";
  out.resize(size);
  return out;
}

Status feed(Inflater& inflater, const std::string& packed, size_t piece, std::string& out) {
  for (size_t at = 0; at < packed.size(); at += piece)
    HEADRACE_TRY(
        inflater.feed(span_of(packed).subspan(at, std::min(piece, packed.size() - at)), [&](auto bytes) {
          out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
          return Status();
        }));
  return inflater.finish();
}

TEST(Inflate, EveryPartIsReachedFromAPoint) {
  const std::string text = text_of(5 << 20, 1), head = text.substr(0, 3 << 20), tail = text.substr(3 << 20);
  for (const std::string& packed : {deflated(text, Wrap::gzip), deflated(text, Wrap::zlib),
                                    deflated(head, Wrap::gzip) + deflated(tail, Wrap::gzip),
                                    deflated(head, Wrap::zlib) + deflated(tail, Wrap::zlib)}) {
    Inflater inflater;
    std::string out;
    ASSERT_TRUE(feed(inflater, packed, 100'003, out).ok());
    ASSERT_EQ(out, text);
    const InflatePoints& points = inflater.points();
    EXPECT_EQ(points.packed_size, packed.size());
    EXPECT_GE(points.points.size(), 3u);
    EXPECT_EQ(unpack_points(pack_points(points)), points);
    for (uint64_t offset = 0; offset < text.size(); offset += 900'007) {
      const uint64_t end = std::min<uint64_t>(offset + 2'500'000, text.size());
      const InflatePoint& point = points.points[points.before(offset)];
      const uint64_t first = point.packed - (point.bits > 0 ? 1 : 0);
      std::string part(end - point.unpacked, '\0');
      const auto in = span_of(packed).subspan(first, points.packed_end(end) - first);
      const Status status = inflate_from(point, in, std::as_writable_bytes(std::span(part)));
      ASSERT_TRUE(status.ok()) << status.text();
      ASSERT_EQ(part, text.substr(point.unpacked, part.size())) << offset;
    }
  }
}

TEST(Inflate, PiecesOfAnySizeGiveTheSame) {
  const std::string text = text_of(5 << 16, 2);
  const std::string packed = deflated(text, Wrap::gzip);
  for (const size_t piece : {1, 7, 1000, 1 << 20}) {
    Inflater inflater;
    std::string out;
    ASSERT_TRUE(feed(inflater, packed, piece, out).ok()) << piece;
    EXPECT_EQ(out, text);
  }
}

TEST(Inflate, DamagedAndCutDataAreErrors) {
  const std::string packed = deflated(text_of(100'000, 3), Wrap::gzip);
  std::string out;
  for (size_t length = 0; length < packed.size(); length += 1 + packed.size() / 50) {
    Inflater inflater;
    EXPECT_EQ(feed(inflater, packed.substr(0, length), 1 << 20, out).code(), Code::corrupt) << length;
  }
  std::string damaged = packed;
  damaged[packed.size() / 2] ^= 0x55;
  Inflater inflater;
  EXPECT_EQ(feed(inflater, damaged, 1 << 20, out).code(), Code::corrupt);
  EXPECT_FALSE(unpack_points(std::string(100, '\1')));
  EXPECT_FALSE(unpack_points(""));
}

}  // namespace
}  // namespace headrace
