// Caffe's Datum, the protobuf message in its LMDB files: an encoded image, or raw planes of uint8 in BGR.
#pragma once
#include <cstdint>
#include <span>

#include "headrace/core/sample.h"
#include "headrace/core/status.h"

namespace headrace {

struct Datum {
  int64_t channels = 0, height = 0, width = 0, label = 0;
  std::span<const std::byte> data;
  bool encoded = false, has_floats = false;
};

// Fields may come in any order; unknown ones are skipped, the last of a kind counts.
Result<Datum> parse_datum(std::span<const std::byte> message);

// The kind of the first value; all values of a source must have it.
struct DatumKind {
  enum Form : uint32_t { none, encoded, raw };  // none: not a Datum
  uint32_t form = none;
  uint32_t channels = 0;  // of a raw one: 1 or 3
  bool operator==(const DatumKind&) const = default;
};
DatumKind datum_kind(std::span<const std::byte> message);

// {"image", "label"}: the image's file as bytes, or uint8 (height, width, channels) in RGB.
Schema datum_schema(DatumKind kind);
// `value`: bytes; an encoded image shares them.
Status read_datum(const Tensor& value, DatumKind kind, std::vector<Tensor>& fields);

}  // namespace headrace
