#include "headrace/formats/hdf5/structures/superblock.h"

#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/structures/checksum.h"

namespace headrace::hdf5 {
namespace {

Status check_sizes(Sizes sizes) {
  const auto is_known = [](int size) { return size == 2 || size == 4 || size == 8; };
  if (is_known(sizes.address) && is_known(sizes.length)) return {};
  return corrupt({.expected = "addresses and lengths of 2, 4 or 8 bytes",
                  .got = std::to_string(sizes.address) + " and " + std::to_string(sizes.length)});
}

// `end` is relative to the beginning of the file when `base` was written; a user block may have been
// prepended since.
uint64_t end_of(uint64_t end, uint64_t base, uint64_t at) {
  return base > end ? kNowhere : saturating_add(end - base, at);
}

Result<Superblock> read_old(Cursor cursor, std::span<const std::byte> bytes, int version, uint64_t at) {
  cursor.skip(4);  // versions of parts that have only one
  const Sizes sizes{cursor.u8(), cursor.u8()};
  cursor.skip(1 + 2 + 2 + 4 + (version == 1 ? 4 : 0));
  HEADRACE_TRY(check_sizes(sizes));
  Cursor rest(bytes.subspan(cursor.position()), sizes);
  Superblock out{{sizes, at}};
  const uint64_t base = rest.address();
  (void)rest.address();  // free space
  out.end = end_of(rest.address(), base, at);
  const uint64_t driver = rest.address();
  (void)rest.length();  // the root's name
  out.root = rest.address();
  HEADRACE_TRY(rest.check("a superblock"));
  if (driver != kNowhere)
    return Status(Code::unavailable, "cannot read HDF5 data that is split into several files");
  return out;
}

Result<Superblock> read_new(Cursor cursor, std::span<const std::byte> bytes, uint64_t at) {
  const Sizes sizes{cursor.u8(), cursor.u8()};
  cursor.skip(1);
  HEADRACE_TRY(check_sizes(sizes));
  Cursor rest(bytes.subspan(cursor.position()), sizes);
  Superblock out{{sizes, at}};
  const uint64_t base = rest.address();
  (void)rest.address();  // extensions
  out.end = end_of(rest.address(), base, at);
  out.root = rest.address();
  rest.skip(4);
  HEADRACE_TRY(rest.check("a superblock"));
  HEADRACE_TRY(check_checksum(bytes.first(cursor.position() + rest.position()), "a superblock"));
  return out;
}

}  // namespace

Result<Superblock> read_superblock(std::span<const std::byte> bytes, uint64_t at) {
  Cursor cursor(bytes);
  cursor.skip(8);
  const uint8_t version = cursor.u8();
  HEADRACE_TRY(cursor.check("a superblock"));
  if (version > 3)
    return Status(Code::unavailable, "cannot read superblocks of version " + std::to_string(version));
  return version < 2 ? read_old(cursor, bytes, version, at) : read_new(cursor, bytes, at);
}

}  // namespace headrace::hdf5
