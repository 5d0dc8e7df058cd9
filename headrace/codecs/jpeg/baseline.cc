// One pass over the file: read the blocks of an MCU row (entropy.h), transform those that the part touches,
// and write the rows of pixels that are complete. Other blocks are skipped without being stored; nothing
// below the part is read.
#include "headrace/codecs/jpeg/baseline.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/jpeg/transform.h"
#include "headrace/kernels/ycc.h"

namespace headrace::jpeg {
namespace {

// Rows of samples of one component: three MCU rows, each reusing the place of the row three before.
struct Plane {
  uint8_t* base = nullptr;
  size_t stride = 0;
  int64_t rows_per_mcu = 8;
  int across = 1, down = 1;  // pixels that a sample covers
  int64_t width = 0,
          height = 0;      // of the samples that belong to the image, from the first column that is there on
  bool is_smooth = false;  // where it is doubled across
  uint8_t* stretched = nullptr;  // a row of pixels
  uint8_t* row(int64_t y) const {
    return base + static_cast<size_t>(y / rows_per_mcu % 3 * rows_per_mcu + y % rows_per_mcu) * stride;
  }
};

class Decoder {
 public:
  Decoder(const Scan& scan, const Tables& tables, const Box& part, int channels)
      : scan_(scan), reader_(scan, tables), part_(part), channels_(channels) {
    used_ = channels == 1 ? 1 : scan.components;
    // Smooth upsampling, which doubles, reads one more sample.
    int64_t more_x = 0;
    for (int c = 0; c < used_; ++c) {
      if (scan.across_of(c) == 2) more_x = 2;
      if (scan.down_of(c) == 2) more_y_ = 2;
    }
    first_column_ = std::max<int64_t>(part.x - more_x, 0) / scan.mcu_width();
    end_column_ =
        std::min(scan.mcus_across(), (part.right() + more_x + scan.mcu_width() - 1) / scan.mcu_width());
    first_row_ = std::max<int64_t>(part.y - more_y_, 0) / scan.mcu_height();
    end_row_ =
        std::min(scan.mcus_down(), (part.bottom() + more_y_ + scan.mcu_height() - 1) / scan.mcu_height());
  }

  bool run(Scratch& scratch, uint8_t* out, size_t row_stride) {
    if (!take_planes(scratch)) return false;
    int64_t y = part_.y;
    for (int64_t row = 0; row < end_row_; ++row) {
      if (scratch.is_stopped() || !decode_row(row)) return false;
      if (row < first_row_) continue;
      const int64_t decoded = (row + 1) * scan_.mcu_height() - (more_y_ > 0 ? 1 : 0);
      const int64_t complete = row + 1 == end_row_ ? part_.bottom() : std::min(decoded, part_.bottom());
      for (; y < complete; ++y)
        write_row(y, out + static_cast<size_t>(y) * row_stride + static_cast<size_t>(part_.x * channels_));
    }
    return true;
  }

 private:
  static constexpr size_t kMost = 3;  // components

  bool take_planes(Scratch& scratch) {
    const int64_t across = end_column_ - first_column_;
    for (int c = 0; c < used_; ++c) {
      const Component& component = scan_.component[static_cast<size_t>(c)];
      Plane& plane = planes_[static_cast<size_t>(c)];
      plane.stride = static_cast<size_t>(across * 8 * component.h);
      plane.rows_per_mcu = 8 * component.v;
      const auto samples = scratch.take<uint8_t>(plane.stride * static_cast<size_t>(3 * plane.rows_per_mcu));
      const auto stretched = scratch.take<uint8_t>(static_cast<size_t>(across * scan_.mcu_width()));
      if (samples.empty() || stretched.empty()) return false;
      plane.base = samples.data(), plane.stretched = stretched.data();
      plane.across = scan_.across_of(c), plane.down = scan_.down_of(c);
      const int64_t first = first_column_ * 8 * component.h, end = end_column_ * 8 * component.h;
      plane.width = std::min(end, scan_.width_of(c)) - first, plane.height = scan_.height_of(c);
      plane.is_smooth = plane.across == 2 && scan_.width_of(c) > 2;
      quant_[static_cast<size_t>(c)].set(scan_.quant[static_cast<size_t>(component.quant)]);
    }
    return true;
  }

  bool decode_row(int64_t row) {
    const bool in_part = row >= first_row_;
    // Nothing is needed below the last row of the part, nor to the right of the part in its last rows.
    const int64_t end = row + 1 == end_row_ ? end_column_ : scan_.mcus_across();
    if (!in_part) return reader_.pass_over(end) && reader_.is_in_order();
    if (!reader_.pass_over(first_column_)) return false;
    for (int64_t column = first_column_; column < end_column_; column += Coefficients::kMostMcus)
      if (!decode_mcus(row, column, std::min<int64_t>(end_column_ - column, Coefficients::kMostMcus)))
        return false;
    return reader_.pass_over(end - end_column_) && reader_.is_in_order();
  }

  bool decode_mcus(int64_t row, int64_t column, int64_t mcus) {
    if (!reader_.read(mcus, coefficients_)) return false;
    for (int c = 0; c < used_; ++c) {
      const Component& component = scan_.component[static_cast<size_t>(c)];
      const Plane& plane = planes_[static_cast<size_t>(c)];
      uint8_t* out[Scan::kMostBlocks * Coefficients::kMostMcus];
      int blocks = 0;
      for (int64_t mcu = column - first_column_; mcu < column - first_column_ + mcus; ++mcu)
        for (int v = 0; v < component.v; ++v)
          for (int h = 0; h < component.h; ++h)
            out[blocks++] = plane.row((row * component.v + v) * 8) + (mcu * component.h + h) * 8;
      if (!transform_blocks(c, out, blocks)) return false;
    }
    return true;
  }

  bool transform_blocks(int c, uint8_t* const* out, int blocks) {
    const uint16_t* const quant = quant_[static_cast<size_t>(c)].data();
    const size_t stride = planes_[static_cast<size_t>(c)].stride;
    const auto flat = [&](int16_t dc, uint8_t* to) { return kernels::idct_dc(dc, quant[0], to, stride); };
    const auto pair = [&](const int16_t* coefficients, uint8_t* out0, uint8_t* out1) {
      if (out1) return kernels::idct_pair(coefficients, quant, out0, out1, stride);
      const bool plain = kernels::idct_pair(coefficients, quant, spare_[0], spare_[1], 8);
      for (size_t y = 0; y < 8; ++y) std::memcpy(out0 + y * stride, spare_[0] + 8 * y, 8);
      return plain;
    };
    return transform(coefficients_, c, out, blocks, flat, pair);
  }

  void write_row(int64_t y, uint8_t* out) {
    const auto left = static_cast<size_t>(part_.x - first_column_ * scan_.mcu_width());
    const uint8_t* const luma = full_row(0, y) + left;
    const auto width = static_cast<size_t>(part_.w);
    if (channels_ == 1) {
      std::memcpy(out, luma, width);
    } else if (scan_.components == 1) {
      for (size_t x = 0; x < width; ++x) out[3 * x] = out[3 * x + 1] = out[3 * x + 2] = luma[x];
    } else {
      kernels::ycc_to_rgb(luma, full_row(1, y) + left, full_row(2, y) + left, part_.w, out);
    }
  }

  // A row of a component at full resolution, from the part's first column of MCUs on: as in libjpeg-turbo,
  // smooth where it doubles, unless it is one or two samples wide; otherwise samples are repeated.
  const uint8_t* full_row(int c, int64_t y) {
    const Plane& plane = planes_[static_cast<size_t>(c)];
    if (plane.across == 1 && plane.down == 1) return plane.row(y);
    uint8_t* const out = plane.stretched;
    const int64_t mine = y / plane.down, below = y % plane.down;
    const int64_t other = std::clamp<int64_t>(below ? mine + 1 : mine - 1, 0, plane.height - 1);
    if (plane.is_smooth && plane.down == 1)
      kernels::upsample_h2(plane.row(mine), plane.width, out);
    else if (plane.is_smooth && plane.down == 2)
      kernels::upsample_h2v2(plane.row(mine), plane.row(other), plane.width, out);
    else if (plane.across == 1 && plane.down == 2)
      kernels::upsample_v2(plane.row(mine), plane.row(other), plane.width, below ? 2 : 1, out);
    else
      repeat(plane.row(mine), plane.width, plane.across, out);
    return out;
  }

  static void repeat(const uint8_t* in, int64_t width, int times, uint8_t* out) {
    for (int64_t x = 0; x < width; ++x, out += times) std::memset(out, in[x], static_cast<size_t>(times));
  }

  const Scan& scan_;
  EntropyReader reader_;
  Box part_;
  int channels_, used_ = 1;  // components whose samples are needed
  int64_t first_column_ = 0, end_column_ = 0, first_row_ = 0, end_row_ = 0;  // MCUs that the part touches
  int64_t more_y_ = 0;  // pixels above and below that smooth upsampling reads
  std::array<Plane, kMost> planes_;
  Coefficients coefficients_;
  std::array<PairTable, kMost> quant_;
  uint8_t spare_[2][64];
};

}  // namespace

bool decode_baseline(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                     const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch) {
  const std::optional<Scan> scan = read_scan_of(bytes, header);
  if (!scan) return false;
  const Tables* tables = tables_of(*scan);
  if (!tables) return false;
  const Scratch::Mark mark = scratch.mark();
  Decoder decoder(*scan, *tables, part, decoded_channels(header, color));
  const bool done = decoder.run(scratch, out, row_stride);
  scratch.reset(mark);
  return done;
}

}  // namespace headrace::jpeg
