// HighwayHash-64, by which Riegeli's files are checked. Pure; any thread.
//
// By vectors where there are any; else, and as the twin it must equal, number by number.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

// Under Riegeli's key, "Riegeli/records\n" twice.
uint64_t riegeli_hash(std::span<const std::byte> bytes);
uint64_t riegeli_hash_scalar(std::span<const std::byte> bytes);

}  // namespace headrace
