// The masks of all objects of an image, in one tensor. One caller.
#pragma once
#include <span>
#include <string_view>

#include "headrace/core/tensor.h"
#include "headrace/formats/coco/masks.h"

namespace headrace {

class ObjectMasks {
 public:
  // uint8 (objects, height, width), 1 inside. `is_map`: int32 (height, width), 0 or 1 + the object's index;
  // later objects cover earlier ones. `from_bytes`: size of the image and its annotations; masks may have a
  // thousand times as many bytes, or 256 MiB if that is more, but never more than 2 GiB.
  static Result<ObjectMasks> make(int64_t height, int64_t width, size_t objects, bool is_map,
                                  uint64_t from_bytes);

  // From a panoptic PNG, whose pixels are ids: R + 256 G + 65536 B. ids[i] is that of object i.
  static Result<ObjectMasks> of_segments(std::span<const std::byte> png, std::span<const int64_t> ids,
                                         bool is_map);

  Status paint(size_t object, std::string_view segmentation);  // as in the JSON

  const Tensor& tensor() const { return tensor_; }

 private:
  void paint_segments(std::span<const uint8_t> rgb, std::span<const int64_t> ids);

  MaskSize size_;
  bool is_map_ = false;
  uint64_t outline_ = kMostOutline, painted_ = 0, most_ = 0;
  MutableBufferPtr buffer_;
  Tensor tensor_;
};

}  // namespace headrace
