#include "headrace/formats/coco/object_masks.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "headrace/codecs/image.h"
#include "headrace/core/saturate.h"
#include "headrace/formats/coco/outline.h"

namespace headrace {
namespace {

constexpr uint64_t kMostMaskBytes = uint64_t{2} << 30;    // per sample
constexpr uint64_t kFreeMaskBytes = uint64_t{256} << 20;  // allowed for any input size
constexpr uint64_t kMostMaskRatio = 1000;

}  // namespace

Result<ObjectMasks> ObjectMasks::make(int64_t height, int64_t width, size_t objects, bool is_map,
                                      uint64_t from_bytes) {
  HEADRACE_TRY(check_mask_size(height, width).before("masks: "));
  ObjectMasks out;
  out.size_ = {static_cast<uint32_t>(height), static_cast<uint32_t>(width)};
  out.is_map_ = is_map;
  const Shape shape = is_map ? Shape{height, width} : Shape{static_cast<int64_t>(objects), height, width};
  const DType dtype = is_map ? DType::i32 : DType::u8;
  const size_t bytes = shape.size_bytes(dtype);
  out.most_ = std::clamp(saturating_mul(from_bytes, kMostMaskRatio), kFreeMaskBytes, kMostMaskBytes);
  if (bytes > out.most_)
    return Status(Code::exhausted, {.expected = "masks of at most " + std::to_string(out.most_) + " bytes",
                                    .got = shape.text(),
                                    .fix = "masks=\"map\" uses one plane for all objects"});
  out.buffer_ = HeapBuffer::make(bytes);
  if (bytes > 0) std::memset(out.buffer_->mutable_data(), 0, bytes);
  out.tensor_ = {out.buffer_, 0, dtype, shape, nullptr};
  return out;
}

Status ObjectMasks::paint(size_t object, std::string_view segmentation) {
  HEADRACE_ASSIGN(const std::vector<MaskRun> runs, read_outline(segmentation, size_, outline_));
  for (const MaskRun& run : runs) painted_ += run.end - run.begin;
  if (painted_ > most_)
    return {Code::exhausted, "expected objects of at most " + std::to_string(most_) + " pixels in an image"};
  if (!is_map_) {
    auto* const plane = reinterpret_cast<uint8_t*>(buffer_->mutable_data()) + object * size_.pixels();
    paint_runs(runs, size_, plane, size_.width, uint8_t{1});
  } else {
    paint_runs(runs, size_, reinterpret_cast<int32_t*>(buffer_->mutable_data()), size_.width,
               static_cast<int32_t>(object + 1));
  }
  return {};
}

Result<ObjectMasks> ObjectMasks::of_segments(std::span<const std::byte> png, std::span<const int64_t> ids,
                                             bool is_map) {
  HEADRACE_ASSIGN(const ImageHeader header, read_image_header(png));
  if (header.dtype != DType::u8)
    return corrupt(
        {.expected = "a panoptic image of 8 bits a channel", .got = std::to_string(header.bit_depth)});
  HEADRACE_ASSIGN(ObjectMasks out, make(header.height, header.width, ids.size(), is_map, png.size()));
  std::vector<uint8_t> rgb(out.size_.pixels() * 3);
  Scratch scratch;
  HEADRACE_TRY(decode_image(png, header, Color::rgb, header.whole(), rgb.data(), size_t{out.size_.width} * 3,
                            scratch));
  out.paint_segments(rgb, ids);
  return out;
}

void ObjectMasks::paint_segments(std::span<const uint8_t> rgb, std::span<const int64_t> ids) {
  std::vector<std::pair<int64_t, size_t>> objects;
  for (size_t i = 0; i < ids.size(); ++i) objects.emplace_back(ids[i], i);
  std::ranges::sort(objects);
  // Adjacent pixels are mostly of the same segment.
  int64_t last = -1;
  auto at = objects.end();
  for (size_t i = 0; i < size_.pixels(); ++i) {
    const int64_t id = rgb[3 * i] + 256 * rgb[3 * i + 1] + 65536 * rgb[3 * i + 2];
    if (id != std::exchange(last, id)) {
      at = std::ranges::lower_bound(objects, std::pair(id, size_t{0}));
      if (at != objects.end() && at->first != id) at = objects.end();
    }
    if (at == objects.end()) continue;
    if (is_map_)
      reinterpret_cast<int32_t*>(buffer_->mutable_data())[i] = static_cast<int32_t>(at->second + 1);
    else
      buffer_->mutable_data()[at->second * size_.pixels() + i] = std::byte{1};
  }
}

}  // namespace headrace
