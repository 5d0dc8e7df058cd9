#include "headrace/formats/tfrecord/framing.h"

#include <algorithm>
#include <string>

#include "headrace/codecs/crc32c.h"
#include "headrace/core/little_endian.h"

namespace headrace {

uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

Result<uint64_t> framed_length(std::span<const std::byte> header, uint64_t left) {
  if (masked_crc32c(header.first(8)) != load<uint32_t>(header, 8))
    return corrupt("a record's length does not match its checksum");
  const auto length = load<uint64_t>(header);
  const uint64_t room = left - std::min(left, kTfrecordFrame);
  if (left < kTfrecordFrame || length > room)
    return corrupt("expected a record of " + std::to_string(length) + " bytes, but only " +
                   std::to_string(room) + " are left");
  if (length > kMostTfrecord)
    return Status(Code::exhausted,
                  {.expected = "a record of at most " + std::to_string(kMostTfrecord) + " bytes",
                   .got = std::to_string(length)});
  return length + kTfrecordFrame;
}

Result<std::span<const std::byte>> tfrecord_data(std::span<const std::byte> framed, bool verify) {
  if (framed.size() < kTfrecordFrame)
    return corrupt({.expected = "a record of at least 16 bytes", .got = std::to_string(framed.size())});
  const auto length = load_once<uint64_t>(framed);
  if (length != framed.size() - kTfrecordFrame)
    return corrupt({.expected = "a record of " + std::to_string(framed.size() - kTfrecordFrame) +
                                " bytes as when it was indexed",
                    .got = std::to_string(length)});
  const auto data = framed.subspan(kTfrecordHeader, length);
  if (verify && !is_tfrecord_data(data, framed))
    return corrupt("the record's data does not match its checksum");
  return data;
}

bool is_tfrecord_data(std::span<const std::byte> data, std::span<const std::byte> framed) {
  return masked_crc32c(data) == load<uint32_t>(framed, framed.size() - kTfrecordFooter);
}

}  // namespace headrace
