// Where the rows of untouched JPEG files begin: with that only those parts of a file are entropy-decoded that
// hold the pixels needed.
//
// Points are found on the way while a file is decoded, and kept by a PointStore for the next time. A store
// may lose or never have them. What it gives is checked as far as that goes: with wrong points reading stays
// within the file, but pixels may be wrong, so a store must know its files by their content.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headrace {

// Where an MCU begins and what its differences are counted from: 12 bytes, little-endian in memory and files.
struct EntropyPoint {
  uint32_t offset = 0;  // of the byte that holds its first bit, from the first entropy-coded byte on
  uint16_t bit = 0;     // which bit of that byte: 0 for the most significant
  std::array<int16_t, 3> dc{};
  bool operator==(const EntropyPoint&) const = default;
};
static_assert(sizeof(EntropyPoint) == 12);

// One point before each `step` MCUs of a row, from its first MCU on, and so for each row from the first on;
// the last rows may lack. A step of 0 stands for a whole row.
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
    bool may_be_kept = true;  // with those behind them; not somebody else's, which are read only
  };
  virtual Known find(std::span<const std::byte> file) = 0;
  // The step of points that it wants to keep; nothing when it wants none.
  virtual std::optional<int64_t> wanted_step() const = 0;
  // All points that are known now, more than find() gave.
  virtual void keep(const FileKey& key, EntropyPoints points) = 0;
};

}  // namespace headrace
