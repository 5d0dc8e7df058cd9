// Which decoder decodes a file: our own if it can, otherwise libjpeg-turbo.
#include <algorithm>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/jpeg/baseline.h"
#include "headrace/codecs/jpeg/baseline_header.h"
#include "headrace/codecs/jpeg/jpeg.h"
#include "headrace/codecs/jpeg/markers.h"
#include "headrace/codecs/jpeg/planes.h"
#include "headrace/codecs/jpeg/turbo.h"
#include "headrace/kernels/resample_planes.h"

namespace headrace {
namespace {

constexpr std::string_view kOwnDecoder = "headrace (baseline JPEG)";
constexpr std::string_view kOwnFromPoints = "headrace (baseline JPEG, entropy points)";

// Whether the end marker is there: at the end of the file, or before what cameras and phones append. Nothing
// in entropy-coded data looks like it; the end of a thumbnail in the headers does.
bool has_end(std::span<const std::byte> bytes) {
  constexpr int kEnd = 0xFF00 | jpeg::kEoi;
  if (bytes.size() >= 2 && jpeg::word_at(bytes, bytes.size() - 2) == kEnd) return true;
  const std::optional<jpeg::Scan> scan = jpeg::read_scan(bytes);
  if (!scan) return false;
  for (size_t at = scan->data.size(); at >= 2; --at)
    if (jpeg::word_at(scan->data, at - 2) == kEnd) return true;
  return false;
}

// A window of thousands of 14-bit weights would round samples to zero.
bool is_planar(const Resampled& picture) {
  constexpr int64_t kMostShrinking = 1000;
  return kernels::is_for_planes(picture.interpolation) && picture.from.h <= kMostShrinking * picture.height &&
         picture.from.w <= kMostShrinking * picture.width;
}

}  // namespace

Status decode_jpeg(std::span<const std::byte> bytes, const ImageHeader& header, Color color, const Box& part,
                   uint8_t* out, size_t row_stride, Scratch& scratch, std::string_view& decoder) {
  const Box needed = has_end(bytes) ? part : header.whole();
  if (jpeg::decode_baseline(bytes, header, color, needed, out, row_stride, scratch)) {
    decoder = kOwnDecoder;
    return {};
  }
  return jpeg::decode_with_turbo(bytes, header, color, needed, out, row_stride, scratch);
}

Result<bool> resample_jpeg(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                           std::span<const Resampled> pictures, std::span<RowSink* const> sinks,
                           PointStore* store, Scratch& scratch, std::string_view& decoder) {
  if (!std::all_of(pictures.begin(), pictures.end(), is_planar) || !has_end(bytes)) return false;
  const auto resample = [&](const EntropyPoints& known, EntropyPoints* found) {
    decoder = known.points.empty() ? kOwnDecoder : kOwnFromPoints;
    return jpeg::resample_planes(bytes, header, color, pictures, sinks, known, found, scratch);
  };
  if (!store) return resample({}, nullptr);
  PointStore::Known known = store->find(bytes);
  const bool knows = !known.points.points.empty();
  const std::optional<int64_t> step = known.may_be_kept ? store->wanted_step() : std::nullopt;
  EntropyPoints found{knows ? known.points.step : step.value_or(0), {}};
  HEADRACE_ASSIGN(const bool done, resample(known.points, step ? &found : nullptr));
  if (!done) {  // again without points, in case they are wrong
    if (!knows) return false;
    return resample({}, nullptr);
  }
  if (found.points.empty()) return true;
  store->keep(known.key, std::move(found));
  return true;
}

namespace {
const CodecRegistration registered({.name = "JPEG",
                                    .library = "libjpeg-turbo",
                                    .endings = {".jpg", ".jpeg"},
                                    .recognise = is_jpeg,
                                    .read_header = read_jpeg_header,
                                    .decode = decode_jpeg,
                                    .resample = resample_jpeg,
                                    .find_points = jpeg::find_points});
}  // namespace

}  // namespace headrace
