// The superblock: where the root group is, and how numbers are written. Pure; any bytes may be given.
#pragma once
#include "headrace/formats/hdf5/structures/object_header.h"

namespace headrace::hdf5 {

inline constexpr uint64_t kSuperblockBytes = 128;  // more than any version has

struct Superblock {
  Place place;
  uint64_t root = kNowhere;  // address of the root group's header
  uint64_t end = 0;          // of the data: the file has at least as many bytes
};
// `bytes` begin with the signature, at byte `at` of the file.
Result<Superblock> read_superblock(std::span<const std::byte> bytes, uint64_t at);

}  // namespace headrace::hdf5
