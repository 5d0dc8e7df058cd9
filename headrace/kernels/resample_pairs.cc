#include "headrace/kernels/resample_pairs.h"

#include <algorithm>
#include <cstring>

#include "headrace/kernels/resample_rows.h"
#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/resample_pairs.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After Highway.
#include "headrace/kernels/blocks-inl.h"

#ifndef HEADRACE_KERNELS_RESAMPLE_PAIRS_ONCE
#define HEADRACE_KERNELS_RESAMPLE_PAIRS_ONCE
namespace headrace::kernels {
namespace {

constexpr int32_t kOne = 1 << kPrecisionBits;

// weight = high * 2^16 + low, both signed 16 bits.
constexpr int16_t low_half(int32_t weight) { return static_cast<int16_t>(weight); }
constexpr int16_t high_half(int32_t weight) {
  return static_cast<int16_t>((weight - low_half(weight)) >> 16);
}

}  // namespace
}  // namespace headrace::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

void across(const PairPlan& plan, const uint8_t* const* rows, int64_t count, uint8_t* out,
            int64_t out_stride) {
  resample_across_scalar(rows, count, plan.channels, plan.taps, plan.out_width, out, out_stride);
}
int64_t down(const uint8_t*, const uint8_t*, int32_t, uint8_t*, int64_t) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::Repartition<int16_t, D8>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<D16>;

// b + (a - b) * weight, rounded. Partial sums lose nothing: what the low half leaves below 2^16 cannot change
// how the sum is rounded.
HWY_INLINE V16 mix(V16 a, V16 b, V16 high, V16 low) {
  constexpr int kLeftBits = kPrecisionBits - 16;
  const V16 difference = hn::Sub(a, b);
  const V16 sum = hn::Add(hn::Mul(difference, high), hn::MulHigh(difference, low));
  // (sum + half) >> kLeftBits
  return hn::Add(b, hn::MulFixedPoint15(sum, hn::Set(D16(), int16_t{1 << (15 - kLeftBits)})));
}

// Bytes a.0 b.0 a.1 b.1 ...
HWY_INLINE V8 zip_bytes(V16 a, V16 b) { return hn::BitCast(D8(), hn::Or(a, hn::ShiftLeft<8>(b))); }

HWY_INLINE V16 across_block(const PairPlan& plan, int64_t block, const uint8_t* const* rows) {
  const D8 d8;
  const D16 d16;
  const PairBlock& b = plan.blocks[block];
  const V8 bytes = load_blocks(d8, rows, plan.offsets[block]);
  const V16 first = hn::BitCast(d16, hn::TableLookupBytesOr0(bytes, hn::LoadDup128(d8, b.first)));
  const V16 second = hn::BitCast(d16, hn::TableLookupBytesOr0(bytes, hn::LoadDup128(d8, b.second)));
  return mix(first, second, hn::LoadDup128(d16, b.high), hn::LoadDup128(d16, b.low));
}

// Rows of one channel, neighbours in pairs: one mean each. Memory bandwidth is better used when several rows
// are read.
constexpr int64_t kHalvedRows = 4;
void across_halves(const PairPlan& plan, const uint8_t* const* rows, int64_t count, uint8_t* out,
                   int64_t out_stride) {
  const D8 d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d8));
  const hn::Repartition<uint16_t, D8> neighbours;
  const auto means = [&](const uint8_t* at) {  // in the even lanes
    const V8 pixels = hn::LoadU(d8, at);
    return hn::AverageRound(pixels, hn::BitCast(d8, hn::ShiftRight<8>(hn::BitCast(neighbours, pixels))));
  };
  for (int64_t y = 0; y < count; y += kHalvedRows)
    for (int64_t x = 0; x < plan.out_width; x += lanes)
      for (int64_t r = y; r < std::min(y + kHalvedRows, count); ++r) {
        const uint8_t* row = rows[r] + 2 * x;
        uint8_t* to = out + r * out_stride + x;
        if (x + lanes <= plan.out_width)
          hn::StoreU(hn::ConcatEven(d8, means(row + lanes), means(row)), d8, to);
        else
          for (int64_t i = 0; x + i < plan.out_width; ++i)
            to[i] = static_cast<uint8_t>((row[2 * i] + row[2 * i + 1] + 1) / 2);
      }
}

void across(const PairPlan& plan, const uint8_t* const* rows, int64_t count, uint8_t* out,
            int64_t out_stride) {
  if (plan.halves) return across_halves(plan, rows, count, out, out_stride);
  const D8 d8;
  alignas(16) uint8_t both[16] = {};  // from two interleaved blocks to consecutive bytes
  for (int64_t i = 0; i < 2 * plan.block_bytes; ++i)
    both[i] = static_cast<uint8_t>(i < plan.block_bytes ? 2 * i : 2 * (i - plan.block_bytes) + 1);
  const V8 join = hn::LoadDup128(d8, both);
  for (int64_t y = 0; y < count; y += kBlocks) {
    const BlockRows block_rows(rows, count, y, out, out_stride);
    for (int64_t block = 0, at = 0; at < plan.out_bytes; block += 2, at += 2 * plan.block_bytes) {
      const V16 a = across_block(plan, block, block_rows.from),
                b = across_block(plan, block + 1, block_rows.from);
      store_blocks(d8, hn::TableLookupBytes(zip_bytes(a, b), join), block_rows.to, at, plan.out_bytes);
    }
  }
}

// How many bytes were mixed: all or none.
int64_t down(const uint8_t* first, const uint8_t* second, int32_t weight, uint8_t* out, int64_t size) {
  const D8 d8;
  const D16 d16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d8));
  if (size < lanes) return 0;
  const auto each = [&](auto&& mix_at) {
    int64_t at = 0;
    for (; at + lanes <= size; at += lanes) hn::StoreU(mix_at(at), d8, out + at);
    if (at < size) hn::StoreU(mix_at(size - lanes), d8, out + size - lanes);  // overlaps the one before
    return size;
  };
  if (weight == kOne / 2)
    return each(
        [&](int64_t at) { return hn::AverageRound(hn::LoadU(d8, first + at), hn::LoadU(d8, second + at)); });
  alignas(16) static constexpr uint8_t kUnzip[16] = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
  const V8 unzip = hn::LoadDup128(d8, kUnzip), zero = hn::Zero(d8);
  const V16 high = hn::Set(d16, high_half(weight)), low = hn::Set(d16, low_half(weight));
  const auto lower = [&](V8 v) { return hn::BitCast(d16, hn::InterleaveLower(d8, v, zero)); };
  const auto upper = [&](V8 v) { return hn::BitCast(d16, hn::InterleaveUpper(d8, v, zero)); };
  return each([&](int64_t at) {
    const V8 a = hn::LoadU(d8, first + at), b = hn::LoadU(d8, second + at);
    const V8 mixed = zip_bytes(mix(lower(a), lower(b), high, low), mix(upper(a), upper(b), high, low));
    return hn::TableLookupBytes(mixed, unzip);
  });
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(across);
HWY_EXPORT(down);

// The most pixels whose windows are within 16 bytes, from any place where a block starts.
int64_t pixels_of_a_block(const Taps<int32_t>& taps, int64_t out_width, int channels) {
  const auto fits = [&](int64_t pixels) {
    for (int64_t x = 0; x < out_width; x += pixels) {
      const int64_t last = std::min(x + pixels, out_width) - 1;
      if ((taps.first[last] + taps.count[last] - taps.first[x]) * channels > 16) return false;
    }
    return true;
  };
  int64_t pixels = channels == 3 ? 2 : 8 / channels;
  while (pixels > 1 && !fits(pixels)) pixels /= 2;
  return pixels;
}

bool are_halves(const Taps<int32_t>& taps, int64_t out_width) {
  for (int64_t x = 0; x < out_width; ++x)
    if (taps.first[x] != 2 * x || taps.weights[x * taps.stride] != kOne / 2) return false;
  return true;
}

PairBlock make_block(const PairPlan& plan, int64_t x, int64_t offset) {
  const Taps<int32_t>& taps = plan.taps;
  PairBlock block{};
  std::fill_n(block.first, 16, uint8_t{0x80}), std::fill_n(block.second, 16, uint8_t{0x80});
  for (int64_t i = 0; i < plan.block_bytes; ++i) {
    const int64_t pixel = std::min(x + i / plan.channels, plan.out_width - 1);
    const int64_t byte = taps.first[pixel] * plan.channels + i % plan.channels - offset;
    block.first[2 * i] = static_cast<uint8_t>(byte);
    block.second[2 * i] = static_cast<uint8_t>(byte + (taps.count[pixel] - 1) * plan.channels);
    const int32_t weight = taps.weights[pixel * taps.stride];
    block.high[i] = high_half(weight), block.low[i] = low_half(weight);
  }
  return block;
}

}  // namespace

bool are_pairs(const Taps<int32_t>& taps, int64_t out) {
  for (int64_t i = 0; i < out; ++i) {
    const int32_t* weights = taps.weights + i * taps.stride;
    if (taps.count[i] > 2 || weights[0] < 0 || weights[1] < 0 || weights[0] + weights[1] != kOne)
      return false;
  }
  return true;
}

size_t pair_plan_bytes(int64_t out_width) {
  return static_cast<size_t>(out_width + 1) * (sizeof(PairBlock) + sizeof(int32_t));
}

PairPlan plan_pairs(const Taps<int32_t>& taps, int64_t in_width, int64_t out_width, int channels,
                    std::byte* memory) {
  const int64_t pixels = pixels_of_a_block(taps, out_width, channels);
  const int64_t count = (out_width + 2 * pixels - 1) / (2 * pixels) * 2;
  auto* blocks = reinterpret_cast<PairBlock*>(memory);
  auto* offsets = reinterpret_cast<int32_t*>(blocks + count);
  const PairPlan plan{blocks, offsets,   pixels * channels, out_width * channels,
                      taps,   out_width, channels,          channels == 1 && are_halves(taps, out_width)};
  if (plan.halves) return plan;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t x = std::min(i * pixels, out_width - 1);
    const int64_t offset = std::min<int64_t>(taps.first[x] * channels, in_width * channels - 16);
    offsets[i] = static_cast<int32_t>(offset);
    blocks[i] = make_block(plan, x, offset);
  }
  return plan;
}

void pairs_across(const PairPlan& plan, const uint8_t* const* rows, int64_t count, uint8_t* out,
                  int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(across)(plan, rows, count, out, out_stride);
}

void pairs_down(const uint8_t* first, const uint8_t* second, int32_t weight, uint8_t* out, int64_t size) {
  if (weight == kOne || weight == 0) {
    std::memcpy(out, weight == 0 ? second : first, static_cast<size_t>(size));
    return;
  }
  for (int64_t i = HWY_DYNAMIC_DISPATCH(down)(first, second, weight, out, size); i < size; ++i)
    out[i] =
        static_cast<uint8_t>((first[i] * weight + second[i] * (kOne - weight) + kOne / 2) >> kPrecisionBits);
}

}  // namespace headrace::kernels
#endif
