// bzip2, with which chunks of HDF5 and netCDF may be compressed.
#include <bzlib.h>

#include <limits>

#include "headrace/codecs/packed/unpack.h"

namespace headrace {
namespace {

Status unpack_bzip2(std::span<const std::byte> packed, std::span<std::byte> out) {
  constexpr size_t kMost = std::numeric_limits<unsigned>::max();
  if (packed.size() > kMost || out.size() > kMost)
    return Status(Code::exhausted, {.expected = "less than 4 GiB", .got = "more"}).before("bzip2: ");
  auto made = static_cast<unsigned>(out.size());
  const int code = BZ2_bzBuffToBuffDecompress(
      reinterpret_cast<char*>(out.data()), &made,
      const_cast<char*>(reinterpret_cast<const char*>(packed.data())),  // not written, the library says
      static_cast<unsigned>(packed.size()), 0, 0);
  if (code == BZ_MEM_ERROR) return {Code::exhausted, "bzip2: no memory to decompress"};
  if (code == BZ_OK && made == out.size()) return {};
  return corrupt({.expected = std::to_string(out.size()) + " bytes",
                  .got = code == BZ_OK               ? std::to_string(made)
                         : code == BZ_OUTBUFF_FULL   ? "more"
                         : code == BZ_UNEXPECTED_EOF ? "fewer"
                                                     : "damaged data"})
      .before("bzip2: ");
}

const UnpackRegistration registered(Packed::bzip2, unpack_bzip2);

}  // namespace
}  // namespace headrace
