// Pictures to look at: a tensor as 8-bit RGB, normalisation undone; many of them on one sheet; PNG files.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/tensor.h"

namespace headrace::cli {

struct Picture {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> rgb;  // rows of width * 3
};

// The effect of `normalize`: out = (x * scale - mean) / std, with one mean and std per channel, or one for
// all.
struct Normalization {
  double scale = 1.0 / 255;
  std::vector<double> mean{0.0}, std{1.0};
};

// Whether a tensor of this spec can be shown: numbers of rank 3, channels (1, 3 or 4) last or first; or rank
// 2, grey.
bool is_picture(const TensorSpec& spec);
// REQUIRES: is_picture. Without `undo`, floats are shown from 0 to 1 if they are in that range, else from
// their minimum to their maximum; integers from 0 to 255.
Picture picture_of(View pixels, const std::optional<Normalization>& undo);

// No larger than `edge` on either side: areas are averaged.
Picture shrink(const Picture& picture, int64_t edge);
// Draw a red frame inside the picture: it replaces another one.
void draw_frame(Picture& picture);
// All on one sheet, `columns` per row, each centred in a square as large as the largest.
Picture contact_sheet(const std::vector<Picture>& pictures, int64_t columns);

Result<std::string> encode_png(const Picture& picture);

}  // namespace headrace::cli
