// HighwayHash-64, by which Riegeli's files are checked. Pure; any thread.
//
// By vectors where there are any; else, and as the twin it must equal, number by number.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

// Under Riegeli's key, "Riegeli/records\n" twice.
uint64_t riegeli_hash(std::span<const std::byte> bytes);
uint64_t riegeli_hash_scalar(std::span<const std::byte> bytes);

// The same of bytes that are copied meanwhile, piece by piece: those that come from far, as from a mapped
// file, are on their way while the hash of those before them is computed.
class RiegeliCopy {
 public:
  explicit RiegeliCopy(std::byte* to);
  // Copied behind those before them.
  void add(std::span<const std::byte> bytes);
  uint64_t hash() const;  // of all of them

 private:
  std::byte* to_;
  size_t copied_ = 0, hashed_ = 0;  // bytes; the second are whole packets
  std::array<std::array<uint64_t, 4>, 4> lanes_;
};

}  // namespace headrace
