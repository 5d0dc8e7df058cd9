#include "headrace/codecs/resampled.h"

#include <array>
#include <vector>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/exif.h"
#include "headrace/kernels/planes.h"
#include "headrace/kernels/resize.h"

namespace headrace {
namespace {

constexpr int kMostChannels = 4;

struct Pixels {
  const uint8_t* data = nullptr;
  int64_t row = 0;  // bytes
  int channels = 3;
};

bool is_turned(const ImageHeader& header, bool upright) { return upright && header.orientation != 1; }

// The upright image, or as much of it as the pictures need.
Result<Pixels> decode_pixels(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                             bool upright, std::span<const Resampled> pictures, Scratch& scratch,
                             std::string_view& decoder) {
  const int channels = decoded_channels(header, color);
  const auto row = static_cast<size_t>(header.width * channels),
             size = row * static_cast<size_t>(header.height);
  const bool turned = is_turned(header, upright);
  Box part = header.whole();  // of the image as it is stored; boxes of pictures are upright
  if (!turned) {
    part = {};
    for (const Resampled& picture : pictures) part = part.around(picture.from);
  }
  const auto stored = scratch.take<uint8_t>(size);
  if (stored.empty()) return scratch.over_budget(size, "decoded pixels");
  HEADRACE_TRY(decode_image(bytes, header, color, part, stored.data(), row, scratch, &decoder));
  if (!turned) return Pixels{stored.data(), static_cast<int64_t>(row), channels};
  const auto straight = scratch.take<uint8_t>(size);
  if (straight.empty()) return scratch.over_budget(size, "an image to turn");
  apply_orientation(stored.data(), header.height, header.width, channels, header.orientation,
                    straight.data());
  const int64_t width = orientation_transposes(header.orientation) ? header.height : header.width;
  return Pixels{straight.data(), width * channels, channels};
}

Status resize_pixels(const Pixels& pixels, const Resampled& picture, RowSink& sink, Scratch& scratch) {
  const int channels = pixels.channels;
  const kernels::Resize resize{picture.from.h, picture.from.w,        picture.height,   picture.width,
                               channels,       picture.interpolation, picture.antialias};
  const int64_t row = picture.width * channels;
  const auto grid_size = static_cast<size_t>(picture.height * row);
  const auto planes_size = static_cast<size_t>(picture.window.w * channels);
  const size_t scratch_size = kernels::resize_scratch_bytes(resize);
  const auto memory = scratch.take(scratch_size);
  const auto grid = scratch.take<uint8_t>(grid_size);
  const auto mirrored = scratch.take<std::byte>(planes_size);
  const auto planes = scratch.take<uint8_t>(planes_size);
  if (memory.empty() || grid.empty() || mirrored.empty() || planes.empty())
    return scratch.over_budget(scratch_size + grid_size, "an image to resize");
  kernels::resize_u8(resize, pixels.data + picture.from.y * pixels.row + picture.from.x * channels,
                     pixels.row, grid.data(), row, memory.data());
  std::array<const uint8_t*, kMostChannels> channel{};
  for (int c = 0; c < channels; ++c) channel[static_cast<size_t>(c)] = planes.data() + c * picture.window.w;
  for (int64_t y = 0; y < picture.window.h; ++y) {
    const uint8_t* from = grid.data() + (picture.window.y + y) * row + picture.window.x * channels;
    if (picture.mirrored) {
      kernels::mirror_row(reinterpret_cast<const std::byte*>(from), picture.window.w,
                          static_cast<size_t>(channels), mirrored.data());
      from = reinterpret_cast<const uint8_t*>(mirrored.data());
    }
    kernels::to_planes(from, picture.window.w, channels, planes.data(), picture.window.w);
    sink.take(y, channel.data());
  }
  return {};
}

// Decode the image, then resize.
Status resize_decoded(std::span<const std::byte> bytes, const ImageHeader& header, Color color, bool upright,
                      std::span<const Resampled> pictures, std::span<RowSink* const> sinks, Scratch& scratch,
                      std::string_view& decoder) {
  const Scratch::Mark mark = scratch.mark();
  auto pixels = decode_pixels(bytes, header, color, upright, pictures, scratch, decoder);
  Status status = pixels.status();
  for (size_t i = 0; i < pictures.size() && status.ok(); ++i) {
    const Scratch::Mark one = scratch.mark();
    status = resize_pixels(*pixels, pictures[i], *sinks[i], scratch);
    scratch.reset(one);
  }
  scratch.reset(mark);
  return status;
}

}  // namespace

Status decode_resampled(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                        bool upright, std::span<const Resampled> pictures, std::span<RowSink* const> sinks,
                        Scratch& scratch, PointStore* store, std::string_view* decoder) {
  std::string_view unasked;
  std::string_view& by = decoder ? *decoder : unasked;
  const auto resample = header.codec->resample;
  if (!resample || is_turned(header, upright))
    return resize_decoded(bytes, header, color, upright, pictures, sinks, scratch, by);
  HEADRACE_ASSIGN(const bool all_done, resample(bytes, header, color, pictures, sinks, store, scratch, by));
  if (all_done) return {};
  if (pictures.size() == 1)
    return resize_decoded(bytes, header, color, upright, pictures, sinks, scratch, by);
  // One by one, so that a picture that needs the other way does not change the others.
  std::vector<Resampled> left;
  std::vector<RowSink*> their_sinks;
  for (size_t i = 0; i < pictures.size(); ++i) {
    HEADRACE_ASSIGN(const bool done, resample(bytes, header, color, pictures.subspan(i, 1),
                                              sinks.subspan(i, 1), store, scratch, by));
    if (!done) left.push_back(pictures[i]), their_sinks.push_back(sinks[i]);
  }
  if (left.empty()) return {};
  return resize_decoded(bytes, header, color, upright, left, their_sinks, scratch, by);
}

EntropyPoints find_entropy_points(std::span<const std::byte> bytes, int64_t step, const Scratch& scratch) {
  const auto header = read_image_header(bytes);
  return header.ok() && header->codec->find_points ? header->codec->find_points(bytes, step, scratch)
                                                   : EntropyPoints{};
}

}  // namespace headrace
