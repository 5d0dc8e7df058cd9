#include "headrace/codecs/png/direct_rows.h"

#include <cstring>

#include "headrace/codecs/color.h"
#include "headrace/core/stop_flag.h"
#include "headrace/kernels/unfilter.h"

namespace headrace::png {
namespace {

constexpr int64_t kRowsPerLook = 64;  // between checks of the stop flag

}  // namespace

bool is_plain(const Ihdr& ihdr, const ImageHeader& header, Color color) {
  if (ihdr.depth != 8 || ihdr.is_interlaced || ihdr.kind == Ihdr::kPalette) return false;
  const int wanted = decoded_channels(header, color);  // with a transparent colour more than are stored
  return wanted == 1 || wanted == 3 || wanted == static_cast<int>(ihdr.samples());
}

Result<bool> decode_rows(const Ihdr& ihdr, const Inflated& inflated, const ImageHeader& header, Color color,
                         const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch) {
  const auto samples = static_cast<int>(ihdr.samples()), wanted = decoded_channels(header, color);
  const size_t size = ihdr.row_bytes(ihdr.width), step = size + 1;
  const uint8_t* const filtered = inflated.pixels().data();
  for (int64_t y = 0; y < header.height; ++y)
    if (filtered[static_cast<size_t>(y) * step] > static_cast<uint8_t>(kernels::RowFilter::paeth))
      return false;
  // The rows before the first one, and where they must be converted, two alternating ones.
  const size_t room = size * (samples == wanted ? 1 : 3);
  const auto rows = scratch.take<uint8_t>(room);
  if (rows.empty()) return scratch.over_budget(room, "rows of a PNG");
  std::memset(rows.data(), 0, size);
  const uint8_t* above = rows.data();
  for (int64_t y = 0; y < part.bottom(); ++y) {
    if (y % kRowsPerLook == 0 && scratch.is_stopped()) return stopped();
    const uint8_t* const in = filtered + static_cast<size_t>(y) * step;
    uint8_t* const place = out + static_cast<size_t>(y) * row_stride;
    uint8_t* const row = samples == wanted ? place : rows.data() + static_cast<size_t>(1 + y % 2) * size;
    kernels::unfilter(static_cast<kernels::RowFilter>(in[0]), in + 1, above, size,
                      static_cast<size_t>(samples), row);
    if (samples != wanted && y >= part.y) convert_channels(row, samples, ihdr.width, place, wanted);
    above = row;
  }
  return true;
}

}  // namespace headrace::png
