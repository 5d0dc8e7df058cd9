// Resamples planes in a JPEG decoder: for codecs/jpeg/planes.cc.
//
// The arithmetic is 16 bits wide throughout, which makes it fast; it is a definition, equal on every target:
//
//   product(a, w) = (a * w + 2^14) >> 15                  (pmulhrsw; weights have 14 bits, one is 2^14)
//   across: the sum over a window of columns of product(sample << 7, weight)        6 fraction bits
//   down:   the sum over a window of rows of product(that, weight)                  5 fraction bits
//   On an axis where windows of more than kMostProducts may come, sums are those of 32 bits, rounded and
//   shifted once.
//   RGB:    the matrix of JFIF in the same products, rounded to 8 bits and clamped.
//
// Chroma that is coarser than luma is resampled as it is, and converted to RGB afterwards. Where all planes
// are equally fine, samples are converted to RGB first and rounded to 8 bits between across and down, as in a
// plain resize, so that the result is closer to its result. Each product is off by half a unit of its last
// bit at most, a pixel by an eighth. Free functions on borrowed memory, any thread.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/kernels/idct.h"
#include "headrace/kernels/plane_taps.h"

namespace headrace::kernels {

// Size of rows that hold results, in elements: what the functions below write to must have this much room.
inline constexpr int64_t kRowStep = 32;
constexpr int64_t padded(int64_t width) { return (width + kRowStep - 1) / kRowStep * kRowStep; }

// A strip holds kStripRows rows column by column (idct.h); strip[0] is the sample of column `origin` in its
// first row. Output row r goes to rows[r], which has padded(taps.count) elements. REQUIRES: taps.window
// columns are readable from taps.first[i] on, whatever the last of them hold. `rounded`: the results are
// rounded to 8 bits, still with 6 fraction bits.
void resample_strip(const int16_t* strip, int64_t origin, const PlaneTaps& taps, bool rounded,
                    int16_t* const* rows);
void resample_strip_scalar(const int16_t* strip, int64_t origin, const PlaneTaps& taps, bool rounded,
                           int16_t* const* rows);

// Y, Cb and Cr become R, G and B, in place. `columns` of strips that are aligned to 32 bytes.
void strips_to_rgb(int16_t* y, int16_t* cb, int16_t* cr, int64_t columns);
void strips_to_rgb_scalar(int16_t* y, int16_t* cb, int16_t* cr, int64_t columns);

// One row of a plane: the sum of rows[k] * weights[k].
struct MixedRow {
  const int16_t* const* rows = nullptr;
  const int32_t* weights = nullptr;  // as in PlaneTaps
  int32_t window = 1;
  bool is_long = false;  // as in PlaneTaps
};

// Rows of bytes with room for padded(width).
void mix_to_bytes(const MixedRow& row, int64_t width, uint8_t* out);
void mix_to_rgb(const MixedRow& luma, const MixedRow& cb, const MixedRow& cr, int64_t width,
                uint8_t* const* rgb);
void mix_to_bytes_scalar(const MixedRow& row, int64_t width, uint8_t* out);
void mix_to_rgb_scalar(const MixedRow& luma, const MixedRow& cb, const MixedRow& cr, int64_t width,
                       uint8_t* const* rgb);

}  // namespace headrace::kernels
