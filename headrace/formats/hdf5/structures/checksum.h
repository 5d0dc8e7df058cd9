// The two checksums of HDF5: of its metadata, and of chunks that passed through the filter fletcher32. Pure.
#pragma once
#include <cstdint>
#include <span>

#include "headrace/core/status.h"

namespace headrace::hdf5 {

uint32_t lookup3(std::span<const std::byte> bytes);  // Bob Jenkins's, from 0
uint32_t fletcher32(std::span<const std::byte> bytes);

inline constexpr uint64_t kChecksum = 4;  // bytes of it, at a structure's end

// That a structure's last four bytes are the lookup3 of those before.
Status check_checksum(std::span<const std::byte> structure, const char* what);

}  // namespace headrace::hdf5
