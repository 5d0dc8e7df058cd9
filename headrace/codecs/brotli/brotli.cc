// Brotli, with which ArrayRecord's chunks may be compressed.
#include <brotli/decode.h>

#include <memory>

#include "headrace/codecs/packed/unpack.h"

namespace headrace {
namespace {

Status unpack_brotli(std::span<const std::byte> packed, std::span<std::byte> out) {
  size_t made = out.size();
  const auto result = BrotliDecoderDecompress(packed.size(), reinterpret_cast<const uint8_t*>(packed.data()),
                                              &made, reinterpret_cast<uint8_t*>(out.data()));
  if (result != BROTLI_DECODER_RESULT_SUCCESS) return corrupt("brotli: the data is damaged");
  if (made == out.size()) return {};
  return corrupt({.expected = std::to_string(out.size()) + " bytes", .got = std::to_string(made)})
      .before("brotli: ");
}

const UnpackRegistration registered(Packed::brotli, unpack_brotli);

}  // namespace
}  // namespace headrace
