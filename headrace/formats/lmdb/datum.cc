#include "headrace/formats/lmdb/datum.h"

#include <string>

#include "headrace/codecs/protobuf.h"

namespace headrace {
namespace {

int64_t* number_of(Datum& datum, uint64_t field, int64_t& encoded) {
  switch (field) {
    case 1: return &datum.channels;
    case 2: return &datum.height;
    case 3: return &datum.width;
    case 5: return &datum.label;
    case 7: return &encoded;
    default: return nullptr;
  }
}

std::string dims(const Datum& datum) {
  return std::to_string(datum.channels) + " x " + std::to_string(datum.height) + " x " +
         std::to_string(datum.width);
}

// Whether the bytes of a raw image match its dimensions, without overflow.
bool has_its_bytes(const Datum& datum) {
  const auto size = static_cast<int64_t>(datum.data.size());
  if (datum.height <= 0 || datum.width <= 0 || datum.height > size || datum.width > size / datum.height)
    return false;
  const int64_t plane = datum.height * datum.width;
  return size % plane == 0 && size / plane == datum.channels;
}

Tensor bgr_planes_to_rgb(const Datum& datum) {
  const size_t plane = static_cast<size_t>(datum.height * datum.width);
  MutableBufferPtr buffer = HeapBuffer::make(3 * plane);
  std::byte* out = buffer->mutable_data();
  const std::byte *blue = datum.data.data(), *green = blue + plane, *red = green + plane;
  for (size_t i = 0; i < plane; ++i) {
    out[3 * i] = red[i];
    out[3 * i + 1] = green[i];
    out[3 * i + 2] = blue[i];
  }
  return {std::move(buffer), 0, DType::u8, {datum.height, datum.width, 3}, nullptr};
}

Status check_raw(const Datum& datum, int64_t channels) {
  if (datum.has_floats)
    return {Code::unavailable, Mismatch{.expected = "a Datum with bytes", .got = "one with float_data"}};
  if (!has_its_bytes(datum))
    return corrupt(
        {.expected = "the bytes of a Datum of " + dims(datum), .got = std::to_string(datum.data.size())});
  if (datum.channels != channels)
    return corrupt({.expected = std::to_string(channels) + " channels as in the first value",
                    .got = std::to_string(datum.channels)});
  return {};
}

}  // namespace

Result<Datum> parse_datum(std::span<const std::byte> message) {
  Datum out;
  WireReader reader(message, message.data());
  for (WireField field; reader.next(field);) {
    if (field.wire == Wire::varint) {
      int64_t encoded = out.encoded;
      if (int64_t* number = number_of(out, field.number, encoded))
        *number = static_cast<int64_t>(field.value);
      out.encoded = encoded != 0;
    }
    if (field.is_bytes(4)) out.data = field.bytes;
    out.has_floats |= field.number == 6;
  }
  HEADRACE_TRY(reader.status("a Datum"));
  return out;
}

DatumKind datum_kind(std::span<const std::byte> message) {
  const auto datum = parse_datum(message);
  if (!datum.ok() || datum->data.empty()) return {};
  if (datum->encoded) return {DatumKind::encoded, 0};
  if ((datum->channels != 1 && datum->channels != 3) || !check_raw(*datum, datum->channels).ok()) return {};
  return {DatumKind::raw, static_cast<uint32_t>(datum->channels)};
}

Schema datum_schema(DatumKind kind) {
  const TensorSpec raw{DType::u8, {kAny, kAny, kind.channels}}, encoded{DType::bytes, {kAny}};
  return Schema::of({"image", "label"}, {kind.form == DatumKind::raw ? raw : encoded, {DType::i64, {}}});
}

Status read_datum(const Tensor& value, DatumKind kind, std::vector<Tensor>& fields) {
  const auto message = value.view().bytes();
  HEADRACE_ASSIGN(const Datum datum, parse_datum(message));
  if (datum.encoded != (kind.form == DatumKind::encoded))
    return corrupt(datum.encoded ? "expected raw pixels as in the first value, got an encoded image"
                                 : "expected an encoded image as in the first value, got raw pixels");
  if (!datum.encoded) HEADRACE_TRY(check_raw(datum, kind.channels));
  fields.resize(2);
  fields[1] = scalar(datum.label);
  if (!datum.encoded && datum.channels == 3) {
    fields[0] = bgr_planes_to_rgb(datum);
    return {};
  }
  fields[0] = {value.buffer, value.offset, DType::bytes, {static_cast<int64_t>(datum.data.size())}, nullptr};
  if (!datum.data.empty()) fields[0].offset += static_cast<size_t>(datum.data.data() - message.data());
  if (!datum.encoded) fields[0].dtype = DType::u8, fields[0].shape = {datum.height, datum.width, 1};
  return {};
}

}  // namespace headrace
