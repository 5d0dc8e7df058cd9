#include "headrace/formats/zarr/texts.h"

#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"
#include "headrace/formats/zarr/numbers.h"
#include "headrace/formats/zarr/packings.h"

namespace headrace::zarr {
namespace {

using Bytes = std::span<const std::byte>;

// All of one length, padded with zeros.
Result<Texts> padded_texts(const Chain& chain, const Element& element, uint64_t count, Bytes bytes,
                           const BufferPtr& held) {
  const uint64_t padded = saturating_mul(count, element.bytes);
  if (bytes.size() != padded) return wrong_chunk_size(padded, bytes.size());
  Texts out;
  out.places.reserve(count);
  if (element.form == Form::padded_bytes) {  // shared in place
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t length = element.bytes;
      const Bytes one = bytes.subspan(i * length, length);
      while (length > 0 && one[length - 1] == std::byte{0}) --length;
      out.places.push_back({i * element.bytes, length});
    }
    out.bytes = std::make_shared<BorrowedBuffer>(bytes, held);
    return out;
  }
  std::vector<std::byte> swapped;
  if (chain.is_big_endian) {
    swapped.assign(bytes.begin(), bytes.end());
    swap_elements(swapped, 4);
    bytes = swapped;
  }
  std::string texts;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = texts.size();
    HEADRACE_TRY(append_utf32(bytes.subspan(i * element.bytes, element.bytes), texts));
    out.places.push_back({begin, texts.size() - begin});
  }
  out.bytes = buffer_of(std::move(texts));
  return out;
}

}  // namespace

Result<Texts> decode_texts(const Chain& chain, const Element& element, uint64_t count,
                           const BufferPtr& packed) {
  const bool are_runs = element.form == Form::runs;
  Unpacking unpacking(chain.packings, are_runs ? kAnySize : saturating_mul(count, element.bytes));
  bool is_in_out = false;
  HEADRACE_ASSIGN(const Bytes bytes, unpacking.run(packed->bytes(), {}, &is_in_out));
  const BufferPtr& held = unpacking.held() ? unpacking.held() : packed;
  if (!are_runs) return padded_texts(chain, element, count, bytes, held);
  // Their number, then each after its length.
  const auto wrong = [&](const std::string& got) {
    return corrupt({.expected = std::to_string(count) + " strings with their lengths", .got = got});
  };
  if (bytes.size() < 4) return wrong(std::to_string(bytes.size()) + " bytes");
  const uint64_t stated = load<uint32_t>(bytes);
  if (stated != count) return wrong(std::to_string(stated));
  if (count > (bytes.size() - 4) / 4) return wrong(std::to_string(bytes.size()) + " bytes");
  Texts out;
  out.bytes = std::make_shared<BorrowedBuffer>(bytes, held);
  out.places.reserve(count);
  size_t at = 4;
  for (uint64_t i = 0; i < count; ++i) {
    if (bytes.size() - at < 4) return wrong(std::to_string(i));
    const uint64_t length = load<uint32_t>(bytes, at);
    at += 4;
    if (length > bytes.size() - at) return wrong("one of " + std::to_string(length) + " bytes");
    out.places.push_back({at, length});
    at += length;
  }
  return out;
}

Texts repeated_text(const std::string& text) { return {buffer_of(text), {{0, text.size()}}}; }

}  // namespace headrace::zarr
