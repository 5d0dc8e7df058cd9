// Where the rows of unmodified JPEG files begin: with these points only those parts of a file are
// entropy-decoded that hold the needed pixels.
//
// Points are found while a file is decoded, and kept by a PointStore for later reads. A store may lose them.
// The points it returns are only checked for staying within the file: wrong points may give wrong pixels, so
// a store must identify files by their content.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headrace {

// Where an MCU begins and its DC predictors: 12 bytes, little-endian in memory and in files.
struct EntropyPoint {
  uint32_t offset = 0;  // of the byte that holds its first bit, relative to the first entropy-coded byte
  uint16_t bit = 0;     // which bit of that byte: 0 for the most significant
  std::array<int16_t, 3> dc{};
  bool operator==(const EntropyPoint&) const = default;
};
static_assert(sizeof(EntropyPoint) == 12);

// One point before every `step` MCUs of a row, from its first MCU on, for each row from the first on; the
// last rows may be missing. A step of 0 means a whole row.
struct EntropyPoints {
  int64_t step = 0;
  std::vector<EntropyPoint> points;
};

// Called from many threads at once.
class PointStore {
 public:
  virtual ~PointStore() = default;

  using FileKey = std::array<uint64_t, 2>;  // of the content
  struct Known {
    FileKey key{};
    EntropyPoints points;
    bool may_be_kept = true;  // with later points; false for points of another owner, which are read only
  };
  virtual Known find(std::span<const std::byte> file) = 0;
  // The step of points that it would like to keep; nothing when it wants none.
  virtual std::optional<int64_t> wanted_step() const = 0;
  // All points that are known now, when they are more than find() returned.
  virtual void keep(const FileKey& key, EntropyPoints points) = 0;
};

}  // namespace headrace
