#include "headrace/formats/beton/sample_table.h"

#include <algorithm>
#include <cstring>

#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/records/value_tensors.h"

namespace headrace::beton {
namespace {

constexpr uint64_t kUnknown = ~uint64_t{0};
constexpr uint64_t kMostBetween = 4096;  // unused bytes read between the fields of a sample

struct Allocation {
  uint64_t pointer = 0, size = 0;
};

// Sorted by pointer.
std::vector<Allocation> allocations_of(std::span<const std::byte> bytes) {
  std::vector<Allocation> out(bytes.size() / 24);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = {load<uint64_t>(bytes, 24 * i + 8), load<uint64_t>(bytes, 24 * i + 16)};
  std::ranges::sort(out, {}, &Allocation::pointer);
  return out;
}

// How the images of a field are stored.
struct Modes {
  bool any_raw = false, any_file = false, one_size = true;
  BetonImage first;
};

Modes modes_of(const BetonTable& table, const BetonField& field) {
  Modes out;
  if (table.num_samples > 0) out.first = beton_image(table.slot(0, field));
  for (uint64_t i = 0; i < table.num_samples; ++i) {
    const BetonImage image = beton_image(table.slot(i, field));
    (image.is_raw ? out.any_raw : out.any_file) = true;
    out.one_size = out.one_size && image.width == out.first.width && image.height == out.first.height;
  }
  return out;
}

uint64_t pixel_bytes(const BetonImage& image) { return uint64_t{image.width} * image.height * 3; }

// A BMP of 24 bits, top row first: any decoder gives the same pixels back.
Tensor bmp_of(const BetonImage& image, const std::byte* pixels) {
  constexpr size_t kHead = 54;
  const size_t row = size_t{image.width} * 3, padded = (row + 3) / 4 * 4,
               size = kHead + padded * image.height;
  const MutableBufferPtr out = HeapBuffer::make(size);
  std::byte* to = out->mutable_data();
  std::memset(to, 0, kHead);
  const auto put = [&](size_t at, auto value) { std::memcpy(to + at, &value, sizeof value); };
  put(0, uint16_t{0x4d42}), put(2, static_cast<uint32_t>(size)), put(10, uint32_t{kHead});
  put(14, uint32_t{40}), put(18, int32_t{image.width}), put(22, -int32_t{image.height});
  put(26, uint16_t{1}), put(28, uint16_t{24});
  for (size_t y = 0; y < image.height; ++y) {
    std::byte* line = to + kHead + y * padded;
    const std::byte* from = pixels + y * row;
    for (size_t x = 0; x < row; x += 3)
      line[x] = from[x + 2], line[x + 1] = from[x + 1], line[x + 2] = from[x];
    std::memset(line + row, 0, padded - row);
  }
  return {out, 0, DType::bytes, {static_cast<int64_t>(size)}, nullptr};
}

}  // namespace

Result<BetonTable> BetonTable::make(SourceFile file, BetonLayout layout, const BetonHeader& header,
                                    BufferPtr records, std::span<const std::byte> allocations,
                                    bool auto_images) {
  BetonTable out{std::move(file), std::move(layout), header.num_samples, std::move(records)};
  const std::vector<Allocation> table = allocations_of(allocations);
  for (BetonField& field : out.layout.fields) {
    out.images.push_back(Images::files), out.sizes.emplace_back();
    if (field.kind != BetonField::Kind::image) continue;
    std::vector<uint64_t>& sizes = out.sizes.back();
    for (uint64_t i = 0; i < out.num_samples; ++i) {
      const uint64_t pointer = beton_image(out.slot(i, field)).pointer;
      const auto found = std::ranges::lower_bound(table, pointer, {}, &Allocation::pointer);
      sizes.push_back(found != table.end() && found->pointer == pointer ? found->size : kUnknown);
    }
    const Modes modes = modes_of(out, field);
    if (!auto_images || !modes.any_raw || modes.any_file) continue;
    out.images.back() = Images::pixels;
    field.spec = {DType::u8, {kAny, kAny, 3}};
    if (modes.one_size) field.spec.shape = {modes.first.height, modes.first.width, 3};
  }
  return out;
}

Schema BetonTable::schema() const {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (const BetonField& field : layout.fields) names.push_back(field.name), specs.push_back(field.spec);
  return Schema::of(std::move(names), std::move(specs));
}

Result<RecordExtent> BetonTable::extent(uint64_t sample, size_t index) const {
  const BetonField& field = layout.fields[index];
  const std::byte* at = slot(sample, field);
  RecordExtent out{load<uint64_t>(at), 0};
  const auto wrong = [&](const std::string& why) {
    return corrupt("field " + in_quotes(field.name) + " of sample " + std::to_string(sample) + ": expected " +
                   why);
  };
  switch (field.kind) {
    case BetonField::Kind::image: {
      const BetonImage image = beton_image(at);
      out = {image.pointer, sizes[index][sample]};
      if (out.length == kUnknown)
        return wrong("an allocation at byte " + std::to_string(image.pointer) + ", but the table has none");
      if (image.is_raw && out.length != pixel_bytes(image))
        return wrong(std::to_string(pixel_bytes(image)) + " bytes of pixels, got " +
                     std::to_string(out.length));
      break;
    }
    case BetonField::Kind::array: out.length = field.spec.size_bytes(); break;
    default: out.length = load<uint64_t>(at + 8); break;
  }
  if (out.length == 0) return RecordExtent{0, 0};  // an empty value may point anywhere
  if (out.offset > file.size || out.length > file.size - out.offset)
    return wrong(std::to_string(out.length) + " bytes at byte " + std::to_string(out.offset) +
                 ", but the file has " + std::to_string(file.size));
  return out;
}

Result<Tensor> BetonTable::read(uint64_t sample, size_t index, const Record& bytes) const {
  const BetonField& field = layout.fields[index];
  const std::byte* at = slot(sample, field);
  const auto run = [&](DType dtype, size_t length) {
    return Tensor{bytes.buffer, bytes.offset, dtype, {static_cast<int64_t>(length)}, nullptr};
  };
  switch (field.kind) {
    case BetonField::Kind::real:
    case BetonField::Kind::whole: return make_tensor({field.spec.dtype, {}, at});
    case BetonField::Kind::bytes: return run(DType::bytes, bytes.length);
    case BetonField::Kind::json: {  // ends with a NUL
      const bool has_end = bytes.length > 0 && bytes.bytes().back() == std::byte{0};
      return run(DType::str, bytes.length - (has_end ? 1 : 0));
    }
    case BetonField::Kind::array: {
      return record_part(bytes, 0, field.spec.dtype, field.spec.shape);
    }
    case BetonField::Kind::image: break;
  }
  const BetonImage image = beton_image(at);
  if (images[index] == Images::pixels)
    return Tensor{bytes.buffer, bytes.offset, DType::u8, {image.height, image.width, 3}, nullptr};
  return image.is_raw ? bmp_of(image, bytes.bytes().data()) : run(DType::bytes, bytes.length);
}

Status find_fields(const BetonTable& table, uint64_t sample, Whereabouts& out) {
  uint64_t begin = ~uint64_t{0}, end = 0, sum = 0;
  out.fields.resize(table.layout.fields.size());
  for (size_t i = 0; i < out.fields.size(); ++i) {
    RecordExtent& extent = out.fields[i] = {};
    if (!table.layout.fields[i].is_pointed()) continue;
    HEADRACE_ASSIGN(extent, table.extent(sample, i));
    if (extent.length == 0) continue;
    begin = std::min(begin, extent.offset), end = std::max(end, extent.offset + extent.length);
    sum += extent.length;
  }
  out.stand_together = sum == 0 || end - begin <= sum + kMostBetween;
  out.all = sum == 0 ? RecordExtent{} : RecordExtent{begin, end - begin};
  return {};
}

}  // namespace headrace::beton
