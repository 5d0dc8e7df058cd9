// Re-encoded images: written by `headrace convert --max-side --quality`, and measured by `headrace doctor`
// before it suggests that.
#pragma once
#include <string>
#include <vector>

#include "headrace/headrace.h"

namespace headrace::cli {

inline constexpr int64_t kQuality = 90;  // default JPEG quality

// Field `image` decoded upright, its longer side at most max_side (0: unchanged), encoded as JPEG, 4:2:0.
// Upright, since the new file has no EXIF orientation.
Dataset encoded_again(const Dataset& data, const Schema& schema, int image, uint64_t max_side,
                      uint64_t quality);

// Fields beside the image whose numbers, or pixels, belong to its size by their names: boxes, areas, masks,
// keypoints, heights and widths. They would no longer fit an image that was shrunk.
std::vector<std::string> sized_fields(const Schema& schema, int image);

}  // namespace headrace::cli
