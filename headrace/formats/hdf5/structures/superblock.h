// The superblock: the position of the root group, and the sizes of numbers. Pure; accepts any bytes.
#pragma once
#include "headrace/formats/hdf5/structures/object_header.h"

namespace headrace::hdf5 {

inline constexpr uint64_t kSuperblockBytes = 128;  // enough for any version

struct Superblock {
  Place place;
  uint64_t root = kNowhere;  // address of the root group's header
  uint64_t end = 0;          // end of the data: the file must have at least that many bytes
};
// `bytes` begin with the signature, at byte `at` of the file.
Result<Superblock> read_superblock(std::span<const std::byte> bytes, uint64_t at);

}  // namespace headrace::hdf5
