// Which decoder takes a file: our own what it can, libjpeg-turbo everything else.
#include "headrace/codecs/codec.h"
#include "headrace/codecs/jpeg/baseline.h"
#include "headrace/codecs/jpeg/jpeg.h"
#include "headrace/codecs/jpeg/markers.h"
#include "headrace/codecs/jpeg/planes.h"
#include "headrace/codecs/jpeg/turbo.h"

namespace headrace {
namespace {

// Whether the file ends as a whole one does: with its end marker, or with zeros after it.
bool has_end(std::span<const std::byte> bytes) {
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
  const size_t size = bytes.size();
  return size >= 2 && jpeg::word_at(bytes, size - 2) == (0xFF00 | jpeg::kEoi);
}

}  // namespace

Status decode_jpeg(std::span<const std::byte> bytes, const ImageHeader& header, Color color, const Box& part,
                   uint8_t* out, size_t row_stride, Scratch& scratch) {
  const Box needed = has_end(bytes) ? part : header.whole();
  if (jpeg::decode_baseline(bytes, header, color, needed, out, row_stride, scratch)) return {};
  return jpeg::decode_with_turbo(bytes, header, color, needed, out, row_stride, scratch);
}

bool resample_jpeg(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                   std::span<const Resampled> pictures, std::span<RowSink* const> sinks, PointStore* store,
                   Scratch& scratch) {
  for (const Resampled& picture : pictures)
    if (picture.interpolation != kernels::Interpolation::bilinear &&
        picture.interpolation != kernels::Interpolation::bicubic)
      return false;
  if (!has_end(bytes)) return false;
  const auto resample = [&](const EntropyPoints& known, EntropyPoints* found) {
    return jpeg::resample_planes(bytes, header, color, pictures, sinks, known, found, scratch);
  };
  if (!store) return resample({}, nullptr);
  PointStore::Known known = store->find(bytes);
  const bool knows = !known.points.points.empty();
  const std::optional<int64_t> step = store->wanted_step();
  EntropyPoints found{knows ? known.points.step : step.value_or(0), {}};
  if (!resample(known.points, step ? &found : nullptr))  // once more without points, lest they are wrong
    return knows && resample({}, nullptr);
  if (found.points.empty()) return true;
  found.points.insert(found.points.begin(), known.points.points.begin(), known.points.points.end());
  store->keep(known.key, std::move(found));
  return true;
}

namespace {
const CodecRegistration registered({.name = "JPEG",
                                    .endings = {".jpg", ".jpeg"},
                                    .recognise = is_jpeg,
                                    .read_header = read_jpeg_header,
                                    .decode = decode_jpeg,
                                    .resample = resample_jpeg,
                                    .find_points = jpeg::find_points});
}  // namespace

}  // namespace headrace
