#include "headrace/formats/recordio/framing.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "headrace/core/little_endian.h"
#include "headrace/core/text/hex.h"
#include "headrace/formats/recordio/ir_header.h"

namespace headrace {
namespace {

std::string hex(const std::byte* bytes) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += (i == 0 ? "" : " ") + hex_of(bytes[i]);
  return out;
}

RecordioPart part_of(uint32_t word) {
  return {static_cast<PartKind>(word >> 29), word & ((uint32_t{1} << 29) - 1)};
}

// Calls `take(data)` for each part of a record. An error if the parts do not fill the bytes exactly.
template <class Take> Status each_part(std::span<const std::byte> bytes, const Take& take) {
  bool inside = false;
  do {
    if (bytes.size() < kRecordioHeader)
      return corrupt("expected the last part of the record, but its bytes end");
    HEADRACE_ASSIGN(const RecordioPart part, recordio_part(bytes, bytes.size()));
    HEADRACE_TRY(follows(part, inside));
    take(bytes.subspan(kRecordioHeader, part.length));
    bytes = bytes.subspan(part.framed());
    inside = !part.ends();
  } while (inside);
  if (!bytes.empty())
    return corrupt({.expected = "a record as long as when it was indexed",
                    .got = "one that is " + std::to_string(bytes.size()) + " bytes shorter"});
  return {};
}

// Finds the parts once: the bytes may change meanwhile.
Result<Tensor> joined(std::span<const std::byte> bytes) {
  std::vector<std::span<const std::byte>> parts;
  HEADRACE_TRY(each_part(bytes, [&](std::span<const std::byte> data) { parts.push_back(data); }));
  size_t length = (parts.size() - 1) * sizeof kRecordioMagic;
  for (const auto& data : parts) length += data.size();
  const MutableBufferPtr buffer = HeapBuffer::make(length);
  std::byte* out = buffer->mutable_data();
  for (const auto& data : parts) {
    if (&data != parts.data()) {
      std::memcpy(out, &kRecordioMagic, sizeof kRecordioMagic);
      out += sizeof kRecordioMagic;
    }
    if (!data.empty()) std::memcpy(out, data.data(), data.size());
    out += data.size();
  }
  return Tensor{buffer, 0, DType::bytes, {static_cast<int64_t>(length)}, nullptr};
}

}  // namespace

Result<RecordioPart> recordio_part(std::span<const std::byte> header, uint64_t left) {
  if (load<uint32_t>(header) != kRecordioMagic)
    return corrupt({.expected = "the magic word 0a 23 d7 ce", .got = hex(header.data())});
  const uint32_t word = load<uint32_t>(header, 4);
  if (word >> 29 > 3)
    return corrupt({.expected = "a part of kind 0 to 3", .got = std::to_string(word >> 29)});
  const RecordioPart part = part_of(word);
  if (part.framed() <= left) return part;
  const uint64_t there = left - std::min(left, kRecordioHeader), padded = part.framed() - kRecordioHeader;
  return corrupt("expected a part of " +
                 (there < part.length ? std::to_string(part.length) + " bytes"
                                      : std::to_string(padded) + " bytes with its padding") +
                 ", but only " + std::to_string(there) + " are left");
}

Status follows(const RecordioPart& part, bool inside) {
  if (part.begins() != inside) return {};
  return corrupt(inside ? "expected the next part of the record, got the first of another"
                        : "expected the first part of a record, got one from the middle");
}

Result<Tensor> recordio_data(const Record& record) {
  const auto bytes = record.bytes();
  if (bytes.size() < kRecordioHeader)
    return corrupt({.expected = "a record of at least 8 bytes", .got = std::to_string(bytes.size())});
  HEADRACE_ASSIGN(const RecordioPart part, recordio_part(bytes, bytes.size()));
  if (!part.is_all_of(bytes.size())) return joined(bytes);
  return Tensor{record.buffer,
                record.offset + kRecordioHeader,
                DType::bytes,
                {static_cast<int64_t>(part.length)},
                nullptr};
}

std::optional<std::span<const std::byte>> whole_recordio_data(std::span<const std::byte> record) {
  if (record.size() < kRecordioHeader || load<uint32_t>(record) != kRecordioMagic) return std::nullopt;
  const RecordioPart part = part_of(load_once<uint32_t>(record, 4));
  if (!part.is_all_of(record.size())) return std::nullopt;
  return record.subspan(kRecordioHeader, part.length);
}

std::string recordio_prefix(std::span<const std::byte> bytes, size_t count) {
  std::string out;
  while (out.size() < count && bytes.size() >= kRecordioHeader && load<uint32_t>(bytes) == kRecordioMagic) {
    const uint32_t word = load<uint32_t>(bytes, 4);
    const RecordioPart part{static_cast<PartKind>(word >> 29 & 3), word & ((uint32_t{1} << 29) - 1)};
    const auto data = bytes.subspan(kRecordioHeader);
    out.append(reinterpret_cast<const char*>(data.data()), std::min<uint64_t>(part.length, data.size()));
    if (part.ends() || part.framed() > bytes.size()) break;
    bytes = bytes.subspan(part.framed());
    out.append(reinterpret_cast<const char*>(&kRecordioMagic), sizeof kRecordioMagic);
  }
  out.resize(std::min(out.size(), count));
  return out;
}

bool may_have_headers(std::span<const std::byte> bytes) {
  size_t seen = 0, may_have = 0;
  while (bytes.size() >= kRecordioHeader) {
    const auto part = recordio_part(bytes, kMostRecordio);
    if (!part.ok() || part->kind != PartKind::whole) break;
    if (IrHeader header; part->length >= sizeof header) {
      if (bytes.size() < kRecordioHeader + sizeof header) break;  // the rest was not read
      std::memcpy(&header, bytes.data() + kRecordioHeader, sizeof header);
      may_have += header.fits(part->length) && header.id2 == 0;
    }
    ++seen;
    if (part->framed() > bytes.size()) break;
    bytes = bytes.subspan(part->framed());
  }
  return seen == 0 || 2 * may_have > seen;
}

}  // namespace headrace
