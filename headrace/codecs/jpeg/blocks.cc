#include "headrace/codecs/jpeg/blocks.h"

#include <algorithm>

#include "headrace/kernels/simd.h"

// Compiled per target not for vectors, but for the shifts of BMI2: storing is 8 % faster with them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/codecs/jpeg/blocks.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef HEADRACE_CODECS_JPEG_BLOCKS
#define HEADRACE_CODECS_JPEG_BLOCKS
namespace headrace::jpeg {

inline constexpr size_t kFull = 64;  // this k and those above: no more coefficients

// Where in a pair of blocks the coefficient before index k goes; the block may end there.
static constexpr auto kPlaces = [] {
  std::array<uint8_t, kFull + 1 + Entry::kEnd> places{};
  for (size_t k = 1; k <= kFull; ++k)
    places[k] = places[k + Entry::kEnd] =
        static_cast<uint8_t>(16 * (kNaturalOrder[k - 1] >> 3) + (kNaturalOrder[k - 1] & 7));
  return places;
}();

}  // namespace headrace::jpeg
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::jpeg {
namespace HWY_NAMESPACE {

// Blocks follow each other without leaving the loop, for setting out anew cost as much as half a block.
template <bool kStore> HWY_INLINE Stop decode(Progress& progress, const Turn* end, const uint8_t* limit) {
  Bits bits = progress.bits;  // in registers
  const Turn* turn = progress.turn;
  size_t k = progress.k;
  int16_t* values = progress.values;
  uint8_t* const ends = progress.ends;
  const auto stop = [&](Stop why) {
    progress = {bits, turn, k, values, ends};
    return why;
  };
  while (!bits.is_behind(limit)) {
    bits.refill();
#pragma GCC unroll 3
    for (int i = 0; i < kLookUps; ++i) {
      const uint32_t index = bits.peek(kLookBits);
      Entry found;
      if (k == 0) {
        if (turn == end) return stop(Stop::complete);
        found = turn->dc->look[index];
        ++turn;
        if constexpr (!kStore) *values++ = found.last(bits.behind(kLookBits));
      } else {
        found = turn[-1].ac->look[index];
      }
      const size_t next = k + found.steps();
      if (!Entry::is_plain(next)) [[unlikely]]
        return stop(Stop::symbol);
      if constexpr (kStore) {
        int16_t* const block = values + turn[-1].place;
        block[kPlaces[k + found.to_first()]] = found.first();
        block[kPlaces[next]] = found.last(bits.behind(kLookBits));
        ends[turn[-1].number()] = static_cast<uint8_t>(next);
      }
      bits.skip(found.used());
      k = next < kFull ? next : 0;
    }
  }
  return stop(Stop::data);
}

Stop decode_blocks(Progress& progress, const Turn* end, const uint8_t* limit) {
  return progress.ends ? decode<true>(progress, end, limit) : decode<false>(progress, end, limit);
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::jpeg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::jpeg {
namespace {

HWY_EXPORT(decode_blocks);

bool decode_first(const Codes& codes, Progress& progress) {
  const int size = next_symbol(codes, progress.bits);
  if (size < 0) return false;
  int16_t* const to = progress.ends ? progress.values + progress.turn[-1].place : progress.values - 1;
  *to = static_cast<int16_t>(next_value(progress.bits, size));
  progress.k = 1;
  return true;
}

bool decode_other(const Codes& codes, Progress& progress) {
  const int symbol = next_symbol(codes, progress.bits);
  if (symbol < 0) return false;
  const auto size = static_cast<int>(symbol & 15), run = static_cast<int>(symbol >> 4);
  if (size == 0) {
    progress.k = run == 15 ? std::min(progress.k + 16, kFull) : progress.k + 1 + Entry::kEnd;
    return true;
  }
  progress.k += static_cast<size_t>(run + 1);
  if (progress.k > kFull) return false;
  const int value = next_value(progress.bits, size);
  if (progress.ends)
    progress.values[progress.turn[-1].place + kPlaces[progress.k]] = static_cast<int16_t>(value);
  return true;
}

}  // namespace

Stop decode_blocks(Progress& progress, const Turn* end, const uint8_t* limit) {
  return HWY_DYNAMIC_DISPATCH(decode_blocks)(progress, end, limit);
}

bool decode_symbol(Progress& progress) {
  const Turn& turn = progress.turn[-1];
  progress.bits.refill();
  if (!(progress.k == 0 ? decode_first(turn.dc->codes, progress) : decode_other(turn.ac->codes, progress)))
    return false;
  if (progress.ends) progress.ends[turn.number()] = static_cast<uint8_t>(progress.k);
  if (progress.k >= kFull) progress.k = 0;
  return true;
}

}  // namespace headrace::jpeg
#endif
