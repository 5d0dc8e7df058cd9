// Blosc's chunks of version 1, which Zarr's are packed with: any of its codecs, any shuffle.
#include <blosc.h>

#include "headrace/codecs/packed/unpack.h"

namespace headrace {
namespace {

Status unpack_blosc(std::span<const std::byte> packed, std::span<std::byte> out) {
  size_t size = 0;
  if (blosc_cbuffer_validate(packed.data(), packed.size(), &size) < 0)
    return corrupt("blosc: wants a chunk of " + std::to_string(packed.size()) +
                   " bytes, the header says something else");
  if (size != out.size())
    return corrupt("blosc: wants " + std::to_string(out.size()) + " bytes, got " + std::to_string(size));
  if (size == 0) return {};
  // With a context of its own and one thread: nothing is shared.
  const int made = blosc_decompress_ctx(packed.data(), out.data(), out.size(), 1);
  if (made >= 0 && static_cast<size_t>(made) == out.size()) return {};
  return corrupt("blosc: the data are damaged, or packed with a codec that the library lacks");
}

const UnpackRegistration registered(Packed::blosc, unpack_blosc);

}  // namespace
}  // namespace headrace
