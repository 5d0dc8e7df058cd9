// The two checksums of HDF5: of metadata, and of chunks with the filter fletcher32. Pure.
#pragma once
#include <cstdint>
#include <span>

#include "headrace/core/status.h"

namespace headrace::hdf5 {

uint32_t lookup3(std::span<const std::byte> bytes);  // Bob Jenkins's, from 0
uint32_t fletcher32(std::span<const std::byte> bytes);

inline constexpr uint64_t kChecksum = 4;  // bytes of it, at a structure's end

// Checks that a structure's last four bytes are the lookup3 of the bytes before.
Status check_checksum(std::span<const std::byte> structure, const char* what);

}  // namespace headrace::hdf5
