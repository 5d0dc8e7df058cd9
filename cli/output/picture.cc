#include "cli/output/picture.h"

#include <spng.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

namespace headrace::cli {
namespace {

constexpr int64_t kGap = 4;
constexpr uint8_t kPaper = 235;

bool is_channels(int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }

// Where pixel (y, x, c) of a tensor is.
struct Layout {
  int64_t height, width, channels, row, column, channel;
};

Layout layout_of(const Shape& shape) {
  if (shape.rank() == 2) return {shape[0], shape[1], 1, shape[1], 1, 0};
  if (is_channels(shape[2])) return {shape[0], shape[1], shape[2], shape[1] * shape[2], shape[2], 1};
  return {shape[1], shape[2], shape[0], shape[2], 1, shape[1] * shape[2]};
}

std::vector<double> as_doubles(View pixels) {
  std::vector<double> out(static_cast<size_t>(pixels.shape.count()));
  visit_dtype(pixels.dtype, [&]<class T>() {
    const T* in = pixels.as<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, half_t>)
        out[i] = f16_to_f32(in[i].bits);
      else if constexpr (std::is_same_v<T, bfloat_t>)
        out[i] = bf16_to_f32(in[i].bits);
      else
        out[i] = static_cast<double>(in[i]);
    }
  });
  return out;
}

uint8_t to_byte(double v) {
  return static_cast<uint8_t>(std::clamp(std::isfinite(v) ? v : 0.0, 0.0, 255.0) + 0.5);
}

// value * gain + offset is in 0 to 255, for each channel.
struct Tone {
  std::array<double, 4> gain{1, 1, 1, 1}, offset{};
};

Tone tone_of(const std::vector<double>& values, DType dtype, const std::optional<Normalization>& undo) {
  Tone out;
  if (undo) {
    for (size_t c = 0; c < 4; ++c) {
      const auto of = [c](const std::vector<double>& list) { return list[std::min(c, list.size() - 1)]; };
      out.gain[c] = of(undo->std) / undo->scale, out.offset[c] = of(undo->mean) / undo->scale;
    }
  } else if (is_float(dtype) && !values.empty()) {
    const auto [least, greatest] = std::ranges::minmax(values);
    const bool unit = least >= 0 && greatest <= 1;
    const double low = unit ? 0 : least, range = unit ? 1 : std::max(greatest - least, 1e-12);
    out.gain.fill(255 / range), out.offset.fill(-low * 255 / range);
  }
  return out;
}

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};

}  // namespace

bool is_picture(const TensorSpec& spec) {
  if (is_text(spec.dtype)) return false;
  const Shape& shape = spec.shape;
  if (shape.rank() == 2) return shape[0] != 0 && shape[1] > 4;  // not a list of boxes
  return shape.rank() == 3 && (is_channels(shape[2]) || is_channels(shape[0]));
}

Picture picture_of(View pixels, const std::optional<Normalization>& undo) {
  const Layout at = layout_of(pixels.shape);
  const std::vector<double> values = as_doubles(pixels);
  const Tone tone = tone_of(values, pixels.dtype, undo);
  Picture out{at.height, at.width, {}};
  out.rgb.reserve(static_cast<size_t>(at.height * at.width * 3));
  for (int64_t y = 0; y < at.height; ++y)
    for (int64_t x = 0; x < at.width; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const auto channel = static_cast<size_t>(at.channels >= 3 ? c : 0);
        const double v = values[static_cast<size_t>(y * at.row + x * at.column) +
                                channel * static_cast<size_t>(at.channel)];
        out.rgb.push_back(to_byte(v * tone.gain[channel] + tone.offset[channel]));
      }
  return out;
}

Picture shrink(const Picture& picture, int64_t edge) {
  const int64_t longest = std::max(picture.height, picture.width);
  if (longest <= edge) return picture;
  Picture out{std::max<int64_t>(1, picture.height * edge / longest),
              std::max<int64_t>(1, picture.width * edge / longest),
              {}};
  for (int64_t y = 0; y < out.height; ++y)
    for (int64_t x = 0; x < out.width; ++x) {
      const int64_t top = y * picture.height / out.height,
                    bottom = std::max(top + 1, (y + 1) * picture.height / out.height);
      const int64_t left = x * picture.width / out.width,
                    right = std::max(left + 1, (x + 1) * picture.width / out.width);
      std::array<int64_t, 3> sum{};
      for (int64_t v = top; v < bottom; ++v)
        for (int64_t u = left; u < right; ++u)
          for (size_t c = 0; c < 3; ++c)
            sum[c] += picture.rgb[static_cast<size_t>(v * picture.width + u) * 3 + c];
      for (const int64_t s : sum)
        out.rgb.push_back(static_cast<uint8_t>(s / ((bottom - top) * (right - left))));
    }
  return out;
}

void draw_frame(Picture& picture) {
  constexpr int64_t kThick = 4;
  constexpr std::array<uint8_t, 3> kRed{220, 20, 20};
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x) {
      const int64_t to_edge = std::min({y, x, picture.height - 1 - y, picture.width - 1 - x});
      if (to_edge < kThick)
        std::ranges::copy(kRed, &picture.rgb[static_cast<size_t>(y * picture.width + x) * 3]);
    }
}

Picture contact_sheet(const std::vector<Picture>& pictures, int64_t columns) {
  int64_t edge = 1;
  for (const Picture& p : pictures) edge = std::max({edge, p.height, p.width});
  const auto count = static_cast<int64_t>(pictures.size());
  columns = std::clamp<int64_t>(columns, 1, std::max<int64_t>(1, count));
  const int64_t rows = (count + columns - 1) / columns;
  Picture out{rows * (edge + kGap) + kGap, columns * (edge + kGap) + kGap, {}};
  out.rgb.assign(static_cast<size_t>(out.height * out.width * 3), kPaper);
  for (int64_t i = 0; i < count; ++i) {
    const Picture& p = pictures[static_cast<size_t>(i)];
    const int64_t top = kGap + i / columns * (edge + kGap) + (edge - p.height) / 2;
    const int64_t left = kGap + i % columns * (edge + kGap) + (edge - p.width) / 2;
    for (int64_t y = 0; y < p.height; ++y)
      std::memcpy(&out.rgb[static_cast<size_t>((top + y) * out.width + left) * 3],
                  &p.rgb[static_cast<size_t>(y * p.width * 3)], static_cast<size_t>(p.width * 3));
  }
  return out;
}

Result<std::string> encode_png(const Picture& picture) {
  const std::unique_ptr<spng_ctx, FreeContext> context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (!context) return Status(Code::exhausted, "PNG: no memory");
  spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  spng_ihdr header{};
  header.width = static_cast<uint32_t>(picture.width), header.height = static_cast<uint32_t>(picture.height);
  header.bit_depth = 8, header.color_type = SPNG_COLOR_TYPE_TRUECOLOR;
  int error = spng_set_ihdr(context.get(), &header);
  if (!error)
    error = spng_encode_image(context.get(), picture.rgb.data(), picture.rgb.size(), SPNG_FMT_PNG,
                              SPNG_ENCODE_FINALIZE);
  if (error) return internal_error(std::string("PNG: ") + spng_strerror(error));
  size_t size = 0;
  const std::unique_ptr<void, decltype(&std::free)> bytes(spng_get_png_buffer(context.get(), &size, &error),
                                                          &std::free);
  if (!bytes) return internal_error(std::string("PNG: ") + spng_strerror(error));
  return std::string(static_cast<const char*>(bytes.get()), size);
}

}  // namespace headrace::cli
