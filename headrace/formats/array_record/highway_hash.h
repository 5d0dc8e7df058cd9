// HighwayHash-64, by which Riegeli's files are checked. Pure; any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

// Under Riegeli's key, "Riegeli/records\n" twice.
uint64_t riegeli_hash(std::span<const std::byte> bytes);

}  // namespace headrace
