// After John Keiser and Daniel Lemire, "Validating UTF-8 in less than one instruction per byte": errors in
// two adjacent bytes are found in three tables, by the halves of the first byte and the upper half of the
// second.
#include "headrace/kernels/is_utf8.h"

#include <cstring>

#include "headrace/core/text/utf8.h"
#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/is_utf8.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef HEADRACE_KERNELS_IS_UTF8_ONCE
#define HEADRACE_KERNELS_IS_UTF8_ONCE
namespace headrace::kernels {
namespace {

// Possible errors in two adjacent bytes, a bit each; an error occurred where all three tables have its bit.
constexpr uint8_t kTooShort = 1, kTooLong = 2, kOverlong3 = 4, kTooLarge = 8, kSurrogate = 16,
                  kOverlong2 = 32, kTooLargeOrOverlong4 = 64, kTwoContinuations = 128;
constexpr uint8_t kCarry = kTooShort | kTooLong | kTwoContinuations;  // whatever the lower half is

// By the upper half of the first byte: ASCII, continuations, leading bytes of two, three and four.
[[maybe_unused]] constexpr uint8_t kByFirstHigh[16] = {kTooLong,
                                                       kTooLong,
                                                       kTooLong,
                                                       kTooLong,
                                                       kTooLong,
                                                       kTooLong,
                                                       kTooLong,
                                                       kTooLong,
                                                       kTwoContinuations,
                                                       kTwoContinuations,
                                                       kTwoContinuations,
                                                       kTwoContinuations,
                                                       kTooShort | kOverlong2,
                                                       kTooShort,
                                                       kTooShort | kOverlong3 | kSurrogate,
                                                       kTooShort | kTooLarge | kTooLargeOrOverlong4};
// By its lower half.
[[maybe_unused]] constexpr uint8_t kByFirstLow[16] = {kCarry | kOverlong3 | kOverlong2 | kTooLargeOrOverlong4,
                                                      kCarry | kOverlong2,
                                                      kCarry,
                                                      kCarry,
                                                      kCarry | kTooLarge,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4 | kSurrogate,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4,
                                                      kCarry | kTooLarge | kTooLargeOrOverlong4};
// By the upper half of the second byte.
constexpr uint8_t kContinued = kTooLong | kOverlong2 | kTwoContinuations;
[[maybe_unused]] constexpr uint8_t kBySecondHigh[16] = {kTooShort,
                                                        kTooShort,
                                                        kTooShort,
                                                        kTooShort,
                                                        kTooShort,
                                                        kTooShort,
                                                        kTooShort,
                                                        kTooShort,
                                                        kContinued | kOverlong3 | kTooLargeOrOverlong4,
                                                        kContinued | kOverlong3 | kTooLarge,
                                                        kContinued | kSurrogate | kTooLarge,
                                                        kContinued | kSurrogate | kTooLarge,
                                                        kTooShort,
                                                        kTooShort,
                                                        kTooShort,
                                                        kTooShort};

}  // namespace
}  // namespace headrace::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

bool check_utf8(const uint8_t* text, int64_t count) { return is_utf8_scalar(text, count); }

#else
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<uint8_t, 64>;
using V = hn::Vec<D>;

HWY_INLINE V look_up(D d, const uint8_t* table, V by) {
  return hn::TableLookupBytes(hn::LoadDup128(d, table), by);
}

// Not zero where a byte at `at` or one of the three before it is invalid.
HWY_INLINE V errors_at(D d, const uint8_t* at) {
  const V here = hn::LoadU(d, at), before = hn::LoadU(d, at - 1);
  const V halves = hn::Set(d, 15);
  const V wrong = hn::And(hn::And(look_up(d, kByFirstHigh, hn::ShiftRight<4>(before)),
                                  look_up(d, kByFirstLow, hn::And(before, halves))),
                          look_up(d, kBySecondHigh, hn::ShiftRight<4>(here)));
  // Two continuations in a row are valid, and required, as third and fourth byte of a character.
  const V third = hn::SaturatedSub(hn::LoadU(d, at - 2), hn::Set(d, 0xE0 - 0x80));
  const V fourth = hn::SaturatedSub(hn::LoadU(d, at - 3), hn::Set(d, 0xF0 - 0x80));
  return hn::Xor(wrong, hn::And(hn::Or(third, fourth), hn::Set(d, 0x80)));
}

bool check_utf8(const uint8_t* text, int64_t count) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kBefore = 3;
  if (count < lanes + kBefore) return is_utf8_scalar(text, count);
  // The beginning and the end again, padded with zeros: nothing precedes the beginning, and a truncated
  // character shows.
  uint8_t edge[kBefore + 3 * 64] = {};
  std::memcpy(edge + kBefore, text, static_cast<size_t>(lanes));
  V errors = errors_at(d, edge + kBefore);
  int64_t i = lanes;
  for (; i + lanes <= count; i += lanes) {
    const V here = hn::LoadU(d, text + i - kBefore), last = hn::LoadU(d, text + i);
    if (hn::AllFalse(d, hn::Gt(hn::Or(here, last), hn::Set(d, 0x7F)))) continue;  // ASCII
    errors = hn::Or(errors, errors_at(d, text + i));
  }
  std::memset(edge, 0, sizeof edge);
  std::memcpy(edge, text + i - kBefore, static_cast<size_t>(count - i + kBefore));
  errors = hn::Or(errors, errors_at(d, edge + kBefore));
  return hn::AllTrue(d, hn::Eq(errors, hn::Zero(d)));
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(check_utf8);

}  // namespace

bool is_utf8(const uint8_t* text, int64_t count) { return HWY_DYNAMIC_DISPATCH(check_utf8)(text, count); }

bool is_utf8_scalar(const uint8_t* text, int64_t count) {
  const std::string_view all(reinterpret_cast<const char*>(text), static_cast<size_t>(count));
  return utf8_prefix(all) == all.size();
}

}  // namespace headrace::kernels
#endif
