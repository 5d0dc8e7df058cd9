#include "headrace/codecs/deflate/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "headrace/codecs/zstd/frames.h"

namespace headrace {
namespace {

// Decompression cannot start inside a deflate block, so a read in a block starts at the block's beginning.
constexpr uint64_t kMostSpan = uint64_t{256} << 20;

constexpr uint64_t kMostRatio = 1000;  // of zstd; deflate's own is 1032

constexpr size_t kWindow = 32768;
constexpr size_t kMostPiece = size_t{1} << 30;  // zlib counts in 32 bits
constexpr int kGzipOrZlib = 15 + 32, kRaw = -15;

Bytef* bytes_of(const std::byte* bytes) { return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes)); }

Status damaged(const z_stream& stream, uint64_t at) {
  return corrupt(std::string("cannot inflate (") + (stream.msg ? stream.msg : "bad data") +
                 ") at compressed byte " + std::to_string(at));
}

// Tapes and disk images pad the data after the last member with zeros, which gzip skips, too. No member
// begins with a zero.
size_t zeros_at(std::span<const std::byte> in) {
  return static_cast<size_t>(std::ranges::find_if(in, [](std::byte b) { return b != std::byte{0}; }) -
                             in.begin());
}

Status no_memory() { return {Code::exhausted, "no memory to inflate"}; }

}  // namespace

size_t InflatePoints::before(uint64_t offset) const {
  const auto after =
      std::upper_bound(points.begin(), points.end(), offset,
                       [](uint64_t value, const InflatePoint& p) { return value < p.unpacked; });
  return static_cast<size_t>(after - points.begin()) - 1;
}

uint64_t InflatePoints::packed_end(uint64_t offset) const {
  const auto at = std::lower_bound(points.begin(), points.end(), offset,
                                   [](const InflatePoint& p, uint64_t value) { return p.unpacked < value; });
  return at == points.end() ? packed_size : at->packed;
}

std::string pack_points(const InflatePoints& points) {
  std::string out;
  const auto number = [&](uint64_t value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  number(points.packed_size), number(points.unpacked_size), number(points.points.size());
  for (const InflatePoint& point : points.points) {
    number(point.packed), number(point.unpacked);
    number(point.bits | uint64_t{point.is_header} << 8 | uint64_t{point.is_zlib} << 9 |
           uint64_t{point.is_zstd} << 10 | uint64_t{point.window.size()} << 16);
    out += point.window;
  }
  return out;
}

std::optional<InflatePoints> unpack_points(std::string_view bytes) {
  bool whole = true;
  const auto number = [&]() -> uint64_t {
    uint64_t value = 0;
    if (bytes.size() < sizeof value) return whole = false, 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
    return value;
  };
  InflatePoints out;
  out.packed_size = number(), out.unpacked_size = number();
  const uint64_t count = number();
  for (uint64_t i = 0; whole && i < count; ++i) {
    InflatePoint point;
    point.packed = number(), point.unpacked = number();
    const uint64_t packed = number(), length = packed >> 16;
    point.bits = packed & 0xff, point.is_header = packed >> 8 & 1, point.is_zlib = packed >> 9 & 1;
    point.is_zstd = packed >> 10 & 1;
    const bool in_order =
        i == 0 ? point.packed == 0 && point.unpacked == 0
               : point.packed >= out.points.back().packed && point.unpacked >= out.points.back().unpacked;
    if (!whole || length > kWindow || length > bytes.size() || point.bits > 7 || !in_order ||
        point.packed > out.packed_size || point.unpacked > out.unpacked_size ||
        (point.bits > 0 && point.packed == 0))
      return std::nullopt;
    point.window = bytes.substr(0, length);
    bytes.remove_prefix(length);
    out.points.push_back(std::move(point));
  }
  if (!whole || !bytes.empty() || out.points.empty()) return std::nullopt;
  return out;
}

bool looks_deflated(std::span<const std::byte> head) {
  if (begins_zstd(head)) return true;
  if (head.size() < 2) return false;
  const auto first = std::to_integer<unsigned>(head[0]), second = std::to_integer<unsigned>(head[1]);
  return (first == 0x1f && second == 0x8b) || ((first & 0x0f) == 8 && (first * 256 + second) % 31 == 0);
}

struct Inflater::State {
  z_stream stream{};
  bool ready = false;
  bool between = true;  // members: at the beginning, or after the end of one
  InflatePoints points;
  std::vector<std::byte> room = std::vector<std::byte>(2 * kWindow);  // a ring of the most recent output
  size_t filled = 0;

  void note(bool is_header, bool is_zlib) {
    InflatePoint point;
    point.packed = points.packed_size, point.unpacked = points.unpacked_size;
    point.is_header = is_header, point.is_zlib = is_zlib;
    if (!is_header) {
      point.bits = static_cast<uint8_t>(stream.data_type & 7);
      const uint64_t count = std::min<uint64_t>(kWindow, points.unpacked_size);
      for (uint64_t i = points.unpacked_size - count; i < points.unpacked_size; ++i)
        point.window += static_cast<char>(room[i % room.size()]);
      point.is_zlib = member_is_zlib;
    }
    points.points.push_back(std::move(point));
  }
  bool is_due() const {
    return points.points.empty() || points.unpacked_size - points.points.back().unpacked >= kInflateSpan;
  }
  bool member_is_zlib = false;

  // Determined by the first bytes.
  std::vector<std::byte> first;  // until there are enough
  bool is_known = false;
  std::unique_ptr<ZstdStream> zstd;  // null: deflate

  Status feed_zstd(std::span<const std::byte> in, const Take& take);
};

Status Inflater::State::feed_zstd(std::span<const std::byte> in, const Take& take) {
  bool full = false;
  for (size_t used = 0; used < in.size() || full;) {
    if (between && is_due())
      points.points.push_back({points.packed_size, points.unpacked_size, 0, true, false, true, {}});
    between = false;
    const auto step = zstd->step(in.subspan(used), room);
    if (!step.ok())
      return step.status().code() == Code::corrupt
                 ? corrupt("cannot decompress zstd data (" + std::string(step.status().text()) +
                           ") at compressed byte " + std::to_string(points.packed_size))
                 : step.status();
    used += step->used, points.packed_size += step->used, points.unpacked_size += step->made;
    between = step->ends_frame, full = !between && step->made == room.size();
    if (step->made > 0) HEADRACE_TRY(take(std::span(room).first(step->made)));
    if (points.unpacked_size - points.points.back().unpacked > kMostSpan)
      return Status(Code::exhausted,
                    {.expected = "zstd frames of at most " + std::to_string(kMostSpan >> 20) +
                                 " MiB, because decompression cannot start inside one",
                     .got = "a longer one before compressed byte " + std::to_string(points.packed_size),
                     .fix = "compress with pzstd, which writes short frames, or with gzip"});
    if (points.unpacked_size > std::max(kMostSpan, kMostRatio * points.packed_size))
      return Status(
          Code::exhausted,
          {.expected = "zstd data that unpacks to at most " + std::to_string(kMostRatio) + " times its size",
           .got = "more at compressed byte " + std::to_string(points.packed_size)});
    if (step->used == 0 && step->made == 0 && !between) break;
  }
  return {};
}

Inflater::Inflater() : state_(std::make_unique<State>()) {
  state_->ready = inflateInit2(&state_->stream, kGzipOrZlib) == Z_OK;
}

Inflater::~Inflater() {
  if (state_->ready) inflateEnd(&state_->stream);
}

Status Inflater::feed(std::span<const std::byte> in, const Take& take) {
  State& s = *state_;
  if (!s.ready) return no_memory();
  constexpr size_t kMagic = 4;
  if (!s.is_known && s.first.size() + in.size() < kMagic) {
    s.first.insert(s.first.end(), in.begin(), in.end());
    return {};
  }
  if (!s.is_known) {
    s.first.insert(s.first.end(), in.begin(), in.end());
    s.is_known = true;
    if (begins_zstd(s.first)) s.zstd = std::make_unique<ZstdStream>();
    const std::vector<std::byte> whole = std::move(s.first);
    return feed(whole, take);
  }
  if (s.zstd) return s.feed_zstd(in, take);
  size_t used = 0;
  bool full = false;  // the room was filled: more may come without more input
  while (used < in.size() || full) {
    if (s.between && s.points.packed_size > 0) {
      const size_t zeros = zeros_at(in.subspan(used));
      used += zeros, s.points.packed_size += zeros;
      if (used == in.size()) break;
    }
    if (s.between && used < in.size()) {
      s.member_is_zlib = in[used] != std::byte{0x1f};
      if (s.is_due()) s.note(true, s.member_is_zlib);
      s.between = false;
    }
    const size_t piece = std::min(in.size() - used, kMostPiece);
    const size_t at = s.points.unpacked_size % s.room.size();
    s.stream.next_in = bytes_of(in.data() + used), s.stream.avail_in = static_cast<uInt>(piece);
    s.stream.next_out = bytes_of(s.room.data() + at);
    s.stream.avail_out = static_cast<uInt>(s.room.size() - at);
    const int code = inflate(&s.stream, Z_BLOCK);
    const size_t taken = piece - s.stream.avail_in, made = s.room.size() - at - s.stream.avail_out;
    used += taken, s.points.packed_size += taken, s.points.unpacked_size += made;
    full = s.stream.avail_out == 0 && code == Z_OK;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return damaged(s.stream, s.points.packed_size);
    if (code == Z_BUF_ERROR && taken == 0 && made == 0 && used < in.size())
      return damaged(s.stream, s.points.packed_size);
    if (made > 0) HEADRACE_TRY(take(std::span(s.room).subspan(at, made)));
    if (!s.points.points.empty() && s.points.unpacked_size - s.points.points.back().unpacked > kMostSpan)
      return Status(Code::exhausted,
                    {.expected = "a place to start decompression every " + std::to_string(kMostSpan >> 20) +
                                 " MiB of deflated data",
                     .got = "none before compressed byte " + std::to_string(s.points.packed_size)});
    if (code == Z_STREAM_END) {
      if (inflateReset(&s.stream) != Z_OK) return no_memory();
      s.between = true;
    } else if ((s.stream.data_type & 128) && !(s.stream.data_type & 64) && s.is_due()) {
      s.note(false, false);
    }
  }
  return {};
}

Status Inflater::finish() {
  const State& s = *state_;
  if (s.between && s.points.packed_size > 0) return {};
  return corrupt(std::string(s.zstd ? "zstd" : "deflated") + " data ends early at compressed byte " +
                 std::to_string(s.points.packed_size + s.first.size()));
}

const InflatePoints& Inflater::points() const { return state_->points; }

namespace {

// One stream from a point on; members that follow are read with their headers.
class Resumed {
 public:
  Status begin(const InflatePoint& point, std::span<const std::byte>& in) {
    is_zlib_ = point.is_zlib, raw_ = !point.is_header;
    ready_ = inflateInit2(&stream_, raw_ ? kRaw : kGzipOrZlib) == Z_OK;
    if (!ready_) return no_memory();
    if (point.bits > 0) {
      if (in.empty()) return corrupt({.expected = "compressed bytes", .got = "none"});
      inflatePrime(&stream_, point.bits, std::to_integer<int>(in[0]) >> (8 - point.bits));
      in = in.subspan(1);
    }
    if (raw_ && !point.window.empty())
      inflateSetDictionary(&stream_, reinterpret_cast<const Bytef*>(point.window.data()),
                           static_cast<uInt>(point.window.size()));
    return {};
  }

  Status fill(std::span<const std::byte> in, std::span<std::byte> out) {
    size_t used = 0, made = 0;
    while (made < out.size()) {
      const size_t piece = std::min(in.size() - used, kMostPiece);
      const size_t room = std::min(out.size() - made, kMostPiece);
      stream_.next_in = bytes_of(in.data() + used), stream_.avail_in = static_cast<uInt>(piece);
      stream_.next_out = bytes_of(out.data() + made), stream_.avail_out = static_cast<uInt>(room);
      const int code = inflate(&stream_, Z_NO_FLUSH);
      used += piece - stream_.avail_in, made += room - stream_.avail_out;
      if (code == Z_STREAM_END) {
        // For a raw stream we must skip its member's checksum and, in gzip, its length.
        if (raw_) used = std::min(in.size(), used + (is_zlib_ ? 4 : 8));
        raw_ = false;
        if (inflateReset2(&stream_, kGzipOrZlib) != Z_OK) return no_memory();
        used += zeros_at(in.subspan(used));
        if (used >= in.size() && made < out.size()) return too_short();
        if (used < in.size()) is_zlib_ = in[used] != std::byte{0x1f};
      } else if (code == Z_BUF_ERROR ||
                 (code == Z_OK && made < out.size() && used >= in.size() && stream_.avail_out > 0)) {
        return too_short();
      } else if (code != Z_OK) {
        return damaged(stream_, used);
      }
    }
    return {};
  }

  ~Resumed() {
    if (ready_) inflateEnd(&stream_);
  }

 private:
  static Status too_short() { return corrupt("the compressed data unpacks to fewer bytes than expected"); }
  z_stream stream_{};
  bool ready_ = false, raw_ = false, is_zlib_ = false;
};

Status fill_from_frames(std::span<const std::byte> in, std::span<std::byte> out) {
  ZstdStream stream;
  while (!out.empty()) {
    HEADRACE_ASSIGN(const ZstdStream::Step step, stream.step(in, out));
    if (step.used == 0 && step.made == 0)
      return corrupt("the compressed data unpacks to fewer bytes than expected");
    in = in.subspan(step.used), out = out.subspan(step.made);
  }
  return {};
}

}  // namespace

Status inflate_from(const InflatePoint& point, std::span<const std::byte> in, std::span<std::byte> out) {
  if (point.is_zstd) return fill_from_frames(in, out);
  Resumed stream;
  HEADRACE_TRY(stream.begin(point, in));
  return stream.fill(in, out);
}

}  // namespace headrace
