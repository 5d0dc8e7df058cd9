// Chunks of Blosc 1, used by Zarr: any of its codecs, any shuffle.
#include <blosc.h>

#include "headrace/codecs/packed/unpack.h"

namespace headrace {
namespace {

Status unpack_blosc(std::span<const std::byte> packed, std::span<std::byte> out) {
  size_t size = 0;
  if (blosc_cbuffer_validate(packed.data(), packed.size(), &size) < 0)
    return corrupt("blosc: expected a chunk of " + std::to_string(packed.size()) +
                   " bytes, but its header states another size");
  if (size != out.size())
    return corrupt({.expected = std::to_string(out.size()) + " bytes", .got = std::to_string(size)})
        .before("blosc: ");
  if (size == 0) return {};
  // With its own context and one thread: nothing is shared.
  const int made = blosc_decompress_ctx(packed.data(), out.data(), out.size(), 1);
  if (made >= 0 && static_cast<size_t>(made) == out.size()) return {};
  return corrupt("blosc: the data is damaged, or compressed with a codec that the library lacks");
}

const UnpackRegistration registered(Packed::blosc, unpack_blosc);

}  // namespace
}  // namespace headrace
