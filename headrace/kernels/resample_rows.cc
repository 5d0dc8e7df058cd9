#include "headrace/kernels/resample_rows.h"

#include <algorithm>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/resample_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After Highway.
#include "headrace/kernels/blocks-inl.h"
#include "headrace/kernels/products-inl.h"

// The 32-bit words that the vectors multiply with: two 16-bit halves of weights side by side.
#ifndef HEADRACE_KERNELS_RESAMPLE_ROWS_ONCE
#define HEADRACE_KERNELS_RESAMPLE_ROWS_ONCE
namespace headrace::kernels {
namespace {

constexpr int kLowBits = 15;
constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);

int32_t low_pair(const int32_t* weights) {
  constexpr int32_t mask = (1 << kLowBits) - 1;
  return (weights[0] & mask) | (weights[1] & mask) << 16;
}
int32_t high_pair(const int32_t* weights) {
  return ((weights[0] >> kLowBits) & 0xffff) |
         static_cast<int32_t>(static_cast<uint32_t>(weights[1] >> kLowBits) << 16);
}

// Byte shuffles within a block of 16: four interleaved pixels <-> one 32-bit lane per channel. 0x80 gives
// zero.
struct Shuffles {
  alignas(16) uint8_t pixels01[16], pixels23[16], join[16];
  explicit Shuffles(int channels) {
    for (int lane = 0; lane < 4; ++lane)
      for (int byte = 0; byte < 4; ++byte) {
        const bool used = lane < channels && byte % 2 == 0;
        const int at = lane + byte / 2 * channels;
        pixels01[4 * lane + byte] = static_cast<uint8_t>(used ? at : 0x80);
        pixels23[4 * lane + byte] = static_cast<uint8_t>(used ? at + 2 * channels : 0x80);
      }
    std::fill_n(join, 16, uint8_t{0x80});
    for (int pixel = 0; pixel < 4; ++pixel)
      for (int c = 0; c < channels; ++c)
        join[pixel * channels + c] = static_cast<uint8_t>(2 * (4 * (pixel % 2) + c) + pixel / 2);
  }
};

}  // namespace
}  // namespace headrace::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

void across(const AcrossPlan& plan, const uint8_t* const* rows, int64_t count, uint8_t* out,
            int64_t out_stride) {
  resample_across_scalar(rows, count, plan.channels, plan.taps, plan.out_width, out, out_stride);
}
bool down_row(const uint8_t* const*, const int32_t*, int64_t, uint8_t*, int64_t) { return false; }

#else
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::Repartition<int16_t, D8>;
using D32 = hn::Repartition<int32_t, D8>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;

// The value of a pair of half sums, of which the low one began with half a unit, for rounding; clamped later.
HWY_INLINE V32 join_sums(V32 low, V32 high) {
  return hn::ShiftRight<kPrecisionBits>(hn::Add(hn::ShiftLeft<kLowBits>(high), low));
}

// Within each block: bytes of a.0 b.0 a.1 b.1 ... where a holds the clamped lanes of v0, v1 and b those of
// v2, v3.
HWY_INLINE V8 clamp_to_bytes(V32 v0, V32 v1, V32 v2, V32 v3) {
  const D16 d16;
  const V16 zero = hn::Zero(d16), most = hn::Set(d16, int16_t{255});
  const V16 a = hn::Min(hn::Max(hn::ReorderDemote2To(d16, v0, v1), zero), most);
  const V16 b = hn::Min(hn::Max(hn::ReorderDemote2To(d16, v2, v3), zero), most);
  return hn::BitCast(D8(), hn::Or(a, hn::ShiftLeft<8>(b)));
}

// One output pixel of kBlocks rows: a block per row, a 32-bit lane per channel.
HWY_INLINE V32 across_pixel(const AcrossPlan& plan, int64_t x, const uint8_t* const* rows, int64_t step,
                            V8 pixels01, V8 pixels23) {
  const D32 d32;
  const int32_t* word = plan.words + 4 * x * plan.groups;
  const auto weights = [&](int i) { return hn::BitCast(D16(), hn::Set(d32, word[i])); };
  V32 low = hn::Set(d32, kHalf), high = hn::Zero(d32);
  for (int64_t group = 0, at = plan.offsets[x]; group < plan.groups; ++group, at += step, word += 4) {
    const V8 bytes = load_blocks(D8(), rows, at);
    const V16 first = hn::BitCast(D16(), hn::TableLookupBytesOr0(bytes, pixels01));
    const V16 second = hn::BitCast(D16(), hn::TableLookupBytesOr0(bytes, pixels23));
    low = add_products(add_products(low, first, weights(0)), second, weights(1));
    high = add_products(add_products(high, first, weights(2)), second, weights(3));
  }
  return join_sums(low, high);
}

void across(const AcrossPlan& plan, const uint8_t* const* rows, int64_t count, uint8_t* out,
            int64_t out_stride) {
  const Shuffles shuffles(plan.channels);
  const D8 d8;
  const V8 pixels01 = hn::LoadDup128(d8, shuffles.pixels01), pixels23 = hn::LoadDup128(d8, shuffles.pixels23);
  const V8 join = hn::LoadDup128(d8, shuffles.join);
  const int64_t step = 4 * plan.channels, size = plan.out_width * plan.channels;
  for (int64_t y = 0; y < count; y += kBlocks) {
    const BlockRows block(rows, count, y, out, out_stride);
    for (int64_t x = 0; x < plan.out_width; x += 4) {
      const V32 v0 = across_pixel(plan, x, block.from, step, pixels01, pixels23);
      const V32 v1 = across_pixel(plan, x + 1, block.from, step, pixels01, pixels23);
      const V32 v2 = across_pixel(plan, x + 2, block.from, step, pixels01, pixels23);
      const V32 v3 = across_pixel(plan, x + 3, block.from, step, pixels01, pixels23);
      const V8 bytes = hn::TableLookupBytesOr0(clamp_to_bytes(v0, v1, v2, v3), join);
      store_blocks(d8, bytes, block.to, x * plan.channels, size);
    }
  }
}

// One vector of an output row: pairs of rows, `words` holds the low and the high word of each pair.
HWY_INLINE V8 down_vector(const uint8_t* const* rows, const int32_t* words, int64_t pairs, int64_t at,
                          V8 unzip) {
  const D8 d8;
  const D32 d32;
  const V8 zero = hn::Zero(d8);
  V32 l0 = hn::Set(d32, kHalf), l1 = l0, l2 = l0, l3 = l0;
  V32 h0 = hn::Zero(d32), h1 = h0, h2 = h0, h3 = h0;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const V8 a = hn::LoadU(d8, rows[2 * pair] + at), b = hn::LoadU(d8, rows[2 * pair + 1] + at);
    const V8 lower = hn::InterleaveLower(d8, a, b), upper = hn::InterleaveUpper(d8, a, b);
    const V16 p0 = hn::BitCast(D16(), hn::InterleaveLower(d8, lower, zero));
    const V16 p1 = hn::BitCast(D16(), hn::InterleaveUpper(d8, lower, zero));
    const V16 p2 = hn::BitCast(D16(), hn::InterleaveLower(d8, upper, zero));
    const V16 p3 = hn::BitCast(D16(), hn::InterleaveUpper(d8, upper, zero));
    const V16 low = hn::BitCast(D16(), hn::Set(d32, words[2 * pair]));
    const V16 high = hn::BitCast(D16(), hn::Set(d32, words[2 * pair + 1]));
    l0 = add_products(l0, p0, low), l1 = add_products(l1, p1, low);
    l2 = add_products(l2, p2, low), l3 = add_products(l3, p3, low);
    h0 = add_products(h0, p0, high), h1 = add_products(h1, p1, high);
    h2 = add_products(h2, p2, high), h3 = add_products(h3, p3, high);
  }
  const V8 mixed = clamp_to_bytes(join_sums(l0, h0), join_sums(l1, h1), join_sums(l2, h2), join_sums(l3, h3));
  return hn::TableLookupBytes(mixed, unzip);
}

// One output row of `size` bytes. False when it is shorter than a vector.
bool down_row(const uint8_t* const* rows, const int32_t* words, int64_t pairs, uint8_t* out, int64_t size) {
  const D8 d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d8));
  if (size < lanes) return false;
  alignas(16) static constexpr uint8_t kUnzip[16] = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
  const V8 unzip = hn::LoadDup128(d8, kUnzip);
  int64_t at = 0;
  for (; at + lanes <= size; at += lanes)
    hn::StoreU(down_vector(rows, words, pairs, at, unzip), d8, out + at);
  if (at < size)  // the last vector overlaps the one before
    hn::StoreU(down_vector(rows, words, pairs, size - lanes, unzip), d8, out + size - lanes);
  return true;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(across);
HWY_EXPORT(down_row);

uint8_t clamp_to_byte(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255)); }

}  // namespace

size_t across_plan_bytes(int64_t out_width, int64_t stride) {
  return static_cast<size_t>((out_width + 3) * 4 * (1 + stride));
}

AcrossPlan plan_across(const Taps<int32_t>& taps, int64_t out_width, int channels, std::byte* memory) {
  const int64_t pixels = (out_width + 3) / 4 * 4;  // the extra ones have zero weights
  auto* offsets = reinterpret_cast<int32_t*>(memory);
  int32_t* word = offsets + pixels;
  const AcrossPlan plan{offsets, word, taps.stride / 4, taps, out_width, channels};
  for (int64_t x = 0; x < pixels; ++x) {
    offsets[x] = taps.first[std::min(x, out_width - 1)] * channels;
    for (int64_t k = 0; k < taps.stride; k += 4, word += 4) {
      const int32_t* weights = taps.weights + x * taps.stride + k;
      const bool real = x < out_width;
      word[0] = real ? low_pair(weights) : 0;
      word[1] = real ? low_pair(weights + 2) : 0;
      word[2] = real ? high_pair(weights) : 0;
      word[3] = real ? high_pair(weights + 2) : 0;
    }
  }
  return plan;
}

int64_t across_read_slack(const Taps<int32_t>& taps, int64_t in_width, int64_t out_width, int channels) {
  const int32_t last = *std::max_element(taps.first, taps.first + out_width);
  return std::max<int64_t>(0, (last + taps.stride - 4) * channels + 16 - in_width * channels);
}

void resample_across(const AcrossPlan& plan, const uint8_t* const* rows, int64_t count, uint8_t* out,
                     int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(across)(plan, rows, count, out, out_stride);
}

void resample_down(const uint8_t** rows, const int32_t* weights, int32_t count, uint8_t* out, int64_t size,
                   int32_t* words) {
  rows[count] = rows[count - 1];  // an odd window ends with its last row again, weight zero
  const int32_t pairs = (count + 1) / 2;
  for (int32_t k = 0; k < 2 * pairs; k += 2)
    words[k] = low_pair(weights + k), words[k + 1] = high_pair(weights + k);
  if (!HWY_DYNAMIC_DISPATCH(down_row)(rows, words, pairs, out, size))
    resample_down_scalar(rows, weights, count, out, size);
}

void resample_across_scalar(const uint8_t* const* rows, int64_t count, int channels,
                            const Taps<int32_t>& taps, int64_t out_width, uint8_t* out, int64_t out_stride) {
  for (int64_t y = 0; y < count; ++y)
    for (int64_t x = 0; x < out_width; ++x)
      for (int c = 0; c < channels; ++c) {
        const uint8_t* pixel = rows[y] + taps.first[x] * channels + c;
        const int32_t* weights = taps.weights + x * taps.stride;
        int32_t sum = kHalf;
        for (int32_t k = 0; k < taps.count[x]; ++k) sum += pixel[k * channels] * weights[k];
        out[y * out_stride + x * channels + c] = clamp_to_byte(sum);
      }
}

void resample_down_scalar(const uint8_t* const* rows, const int32_t* weights, int32_t count, uint8_t* out,
                          int64_t size) {
  for (int64_t x = 0; x < size; ++x) {
    int32_t sum = kHalf;
    for (int32_t k = 0; k < count; ++k) sum += rows[k][x] * weights[k];
    out[x] = clamp_to_byte(sum);
  }
}

}  // namespace headrace::kernels
#endif
