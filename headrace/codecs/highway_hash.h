// HighwayHash-64, the checksum of Riegeli files. Pure; any thread.
//
// Uses vectors where they exist; otherwise a scalar form, which gives the same result.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

// With Riegeli's key, "Riegeli/records
// " twice.
uint64_t riegeli_hash(std::span<const std::byte> bytes);
uint64_t riegeli_hash_scalar(std::span<const std::byte> bytes);

// The same while the bytes are copied, piece by piece: bytes from slow memory, as of a mapped file, are
// fetched while the hash of the previous ones is computed.
class RiegeliCopy {
 public:
  explicit RiegeliCopy(std::byte* to);
  // Copies after the previous ones.
  void add(std::span<const std::byte> bytes);
  uint64_t hash() const;  // of all of them

 private:
  std::byte* to_;
  size_t copied_ = 0, hashed_ = 0;  // bytes; the second counts whole packets
  std::array<std::array<uint64_t, 4>, 4> lanes_;
};

}  // namespace headrace
