// gzip (one member or several, with trailing zeros), zlib and zstd data: decompressed piece by piece, or from
// a point in the middle.
//
// An InflatePoint is everything that is needed to start there: its position, and the 32 KiB before it. Points
// are recorded while the data is decompressed for the first time, at the ends of deflate's blocks; zstd data
// has no such places inside frames, so there at the beginnings of frames. Any number of threads may use
// points; an Inflater belongs to one caller.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

inline constexpr uint64_t kInflateSpan = uint64_t{2}
                                         << 20;  // unpacked bytes between points: 1.6 % for windows

struct InflatePoint {
  uint64_t packed = 0, unpacked = 0;  // bytes before it
  uint8_t bits = 0;                   // bits of the byte before `packed` that belong to what follows
  bool is_header = false;             // a member begins here
  bool is_zlib = false;               // zlib, not gzip
  bool is_zstd = false;               // a frame begins here
  std::string window;                 // the unpacked bytes before it, 32 KiB at most
  bool operator==(const InflatePoint&) const = default;
};

struct InflatePoints {
  uint64_t packed_size = 0, unpacked_size = 0;
  std::vector<InflatePoint> points;  // the first at 0
  // The index of the point from which `offset`, unpacked, is reached. REQUIRES: there is one.
  size_t before(uint64_t offset) const;
  // Where the compressed bytes end that are needed to unpack up to `offset`.
  uint64_t packed_end(uint64_t offset) const;
  bool operator==(const InflatePoints&) const = default;
};
std::string pack_points(const InflatePoints& points);
std::optional<InflatePoints> unpack_points(std::string_view bytes);  // nothing when they are invalid

bool looks_deflated(std::span<const std::byte> head);  // or zstd; by the first two bytes, or four

class Inflater {
 public:
  Inflater();
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Takes all of `in`, the bytes that follow those of the previous call, and passes the output to `take`
  // piece by piece. Errors state the compressed byte.
  using Take = std::function<Status(std::span<const std::byte> piece)>;
  Status feed(std::span<const std::byte> in, const Take& take);
  // After the last byte: an error when the data ends early.
  Status finish();
  const InflatePoints& points() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Fills `out` with the unpacked bytes from the point on. `in`: the compressed bytes from `packed - (bits >
// 0)` to packed_end.
Status inflate_from(const InflatePoint& point, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace headrace
