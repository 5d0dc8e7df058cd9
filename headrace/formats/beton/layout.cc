#include "headrace/formats/beton/layout.h"

#include <algorithm>
#include <bit>

#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"
#include "headrace/core/value.h"

namespace headrace::beton {
namespace {

constexpr uint64_t kNameBytes = 16, kArgs = 1 + kNameBytes;  // of a field
constexpr uint64_t kDims = 32;
constexpr uint64_t kLeastPage = uint64_t{1} << 21;

std::string text_until_nul(std::span<const std::byte> bytes) {
  std::string out(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  out.resize(std::min(out.find('\0'), out.size()));
  return out;
}

// NumPy's description of a dtype as JSON: "<f4" or [["", "<f4"]].
Result<DType> array_dtype(const std::string& json) {
  HEADRACE_ASSIGN(const Value value, Value::parse(json));
  const Value* text = &value;
  if (const Value::List* list = value.list(); list && list->size() == 1)
    if (const Value::List* pair = (*list)[0].list(); pair && pair->size() == 2) text = &(*pair)[1];
  const std::string descr = text->text() ? *text->text() : "";
  const bool is_big_endian = descr.starts_with('>');
  std::string name = descr.size() > 2 ? descr.substr(1) : "";
  if (name.size() == 2 && (name[0] == 'u' || name[0] == 'i' || name[0] == 'f') && !is_big_endian)
    if (const auto dtype = parse_dtype(name[0] + std::to_string(8 * (name[1] - '0'))); dtype.ok())
      return *dtype;
  if (name == "b1") return DType::boolean;
  return Status(Code::unavailable,
                {.expected = "an array of little-endian numbers", .got = std::string(json.substr(0, 60))});
}

Result<TensorSpec> array_spec(std::span<const std::byte> args) {
  TensorSpec out;
  std::vector<int64_t> dims;
  for (uint64_t i = 0; i < kDims; ++i) {
    const auto dim = load<uint64_t>(args, 8 * i);
    if (dim == 0) break;
    if (dims.size() == static_cast<size_t>(kMaxRank) || dim > uint64_t{1} << 32)
      return corrupt("expected an array of at most 8 dimensions below 2^32");
    dims.push_back(static_cast<int64_t>(dim));
  }
  out.shape = Shape(std::span<const int64_t>(dims));
  const auto length = load<uint64_t>(args, 8 * kDims);
  const std::span<const std::byte> rest = args.subspan(8 * kDims + 8);
  if (length > rest.size())
    return corrupt({.expected = "a dtype", .got = "a description of " + std::to_string(length) + " bytes"});
  HEADRACE_ASSIGN(out.dtype, array_dtype(text_until_nul(rest.first(length))));
  if (out.size_bytes() > uint64_t{1} << 31)
    return corrupt({.expected = "an array of at most 2 GiB", .got = out.text()});
  return out;
}

struct Slot {
  uint64_t bytes = 8, alignment = 8;
};

// The slot of a field of this type in a record.
Result<Slot> read_field(int type, std::span<const std::byte> args, BetonField& out) {
  using Kind = BetonField::Kind;
  out.kind = static_cast<Kind>(type);
  switch (type) {
    case 0: out.spec = {DType::f64, {}}; return Slot{};
    case 1: out.spec = {DType::i64, {}}; return Slot{};
    case 2: out.spec = {DType::bytes, {kAny}}; return Slot{13, 1};
    case 3: out.spec = {DType::bytes, {kAny}}; return Slot{16, 1};
    case 4: {
      HEADRACE_ASSIGN(out.spec, array_spec(args));
      return Slot{};
    }
    case 5: out.spec = {DType::str, {kAny}}; return Slot{16, 1};
    default: break;
  }
  const char* what = type == 6     ? "a torch tensor"
                     : type == 255 ? "a field of the user's own class"
                                   : "an unknown type";
  return Status(Code::unavailable, {.expected = "a float, an int, an RGB image, bytes, an array or JSON",
                                    .got = "type " + std::to_string(type) + ", " + what});
}

uint64_t aligned(uint64_t at, uint64_t alignment) { return (at + alignment - 1) / alignment * alignment; }

}  // namespace

Result<BetonHeader> BetonHeader::parse(std::span<const std::byte> bytes, uint64_t file_size) {
  if (bytes.size() < kBetonHeader)
    return corrupt({.expected = "a header of 24 bytes", .got = std::to_string(bytes.size())});
  if (load<uint16_t>(bytes) != 2)
    return corrupt({.expected = "version 2 at byte 0", .got = std::to_string(load<uint16_t>(bytes))});
  BetonHeader out{load<uint16_t>(bytes, 2), load<uint32_t>(bytes, 4), load<uint64_t>(bytes, 8),
                  load<uint64_t>(bytes, 16)};
  if (out.num_fields == 0) return corrupt({.expected = "at least one field", .got = "none"});
  if (out.page_size < kLeastPage || !std::has_single_bit(out.page_size))
    return corrupt({.expected = "a page size that is a power of two and at least 2 MiB",
                    .got = std::to_string(out.page_size) + " bytes"});
  if (out.records() > file_size || out.num_samples > file_size - out.records())
    return corrupt(std::to_string(out.num_fields) + " fields and " + std::to_string(out.num_samples) +
                   " samples do not fit into a file of " + std::to_string(file_size) + " bytes");
  if (out.table < out.records() || out.table > file_size || (file_size - out.table) % 24 != 0)
    return corrupt(
        {.expected = "a table of allocations from byte " + std::to_string(out.table) + " to the end",
         .got = "a file of " + std::to_string(file_size) + " bytes"});
  return out;
}

Result<BetonLayout> BetonLayout::parse(std::span<const std::byte> bytes) {
  BetonLayout out;
  uint64_t most = 1;
  for (; bytes.size() >= kBetonField; bytes = bytes.subspan(kBetonField)) {
    BetonField field;
    field.name = text_until_nul(bytes.subspan(1, kNameBytes));
    for (const BetonField& other : out.fields)
      if (other.name == field.name)
        return corrupt({.expected = "each field once", .got = in_quotes(field.name) + " twice"});
    const auto slot =
        read_field(std::to_integer<int>(bytes[0]), bytes.subspan(kArgs, kBetonField - kArgs), field);
    if (!slot.ok()) return slot.status().in_field(field.name);
    field.at = aligned(out.record, slot->alignment);
    out.record = field.at + slot->bytes;
    most = std::max(most, slot->alignment);
    out.fields.push_back(std::move(field));
  }
  out.record = aligned(out.record, most);
  return out;
}

BetonImage beton_image(const std::byte* at) {
  return {std::to_integer<int>(at[0]) != 0, load<uint16_t>(at + 1), load<uint16_t>(at + 3),
          load<uint64_t>(at + 5)};
}

}  // namespace headrace::beton
