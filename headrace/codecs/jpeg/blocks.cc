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

inline constexpr size_t kFull = 64;  // this k and larger ones: no more coefficients

// Where in a pair of blocks the coefficient before index k goes; the block may end there.
static constexpr auto kPlaces = [] {
  std::array<uint8_t, kFull + 1 + Entry::kEnd> places{};
  for (size_t k = 1; k <= kFull; ++k)
    places[k] = places[k + Entry::kEnd] =
        static_cast<uint8_t>(16 * (kNaturalOrder[k - 1] >> 3) + (kNaturalOrder[k - 1] & 7));
  return places;
}();

// The next symbol of a block that has begun, on the slow path. False when there is none.
inline bool decode_symbol(const Codes& codes, Bits& bits, size_t& k, int& value) {
  const int symbol = next_symbol(codes, bits);
  if (symbol < 0) return false;
  const int size = symbol & 15, run = symbol >> 4;
  value = next_value(bits, size);
  if (size == 0) {
    k = run == 15 ? std::min(k + 16, kFull) : k + 1 + Entry::kEnd;
    return true;
  }
  k += static_cast<size_t>(run + 1);
  return k <= kFull;
}

}  // namespace headrace::jpeg
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::jpeg {
namespace HWY_NAMESPACE {

// The decoding state, in registers.
template <bool kStore> class Stream {
 public:
  explicit HWY_INLINE Stream(const Progress& from)
      : bits_(from.bits),
        turn_(from.turn),
        end_(from.end),
        k_(from.k),
        values_(from.values),
        ends_(from.ends),
        limit_(from.limit) {
    if (!is_complete()) open_block();
  }
  HWY_INLINE void leave(Progress& to) const { to = {bits_, turn_, end_, k_, values_, ends_, limit_}; }

  HWY_INLINE bool is_complete() const { return turn_ == end_; }
  HWY_INLINE bool is_behind() const { return bits_.is_behind(limit_); }
  HWY_INLINE void refill() { bits_.refill(); }

  // Resumes within a block. This and look_up return false where all is complete, or where no code fits.
  HWY_INLINE bool enter() {
    if (is_complete()) return false;
    bits_.refill();
    return k_ > 0 || begin_block();
  }
  // May be called kLookUps times after each refill.
  HWY_INLINE bool look_up() {
    size_t next;
    if constexpr (kStore) {
      const Entry found = ac_[bits_.peek(kLookBits)];
      next = k_ + found.steps();
      if (!Entry::is_plain(next)) [[unlikely]]
        return look_long();
      block_[kPlaces[k_ + found.to_first()]] = found.first();
      block_[kPlaces[next]] = found.last(bits_.behind(kLookBits));
      bits_.skip(found.used());
    } else {
      const uint32_t found = (*passing_)[bits_.peek(kPassBits)];
      next = k_ + (found >> 8);
      if (!Entry::is_plain(next)) [[unlikely]]
        return look_long();
      bits_.skip(static_cast<int>(found & 63));
    }
    k_ = next;
    if (next >= kFull) [[unlikely]]  // keeps it out of the loop: 3 %
      return end_block();
    return true;
  }

 private:
  // One symbol of any length.
  HWY_INLINE bool look_long() {
    int value;
    bits_.refill();
    if (!decode_symbol(turn_->ac->codes, bits_, k_, value)) return false;
    if constexpr (kStore) block_[kPlaces[k_]] = static_cast<int16_t>(value);
    if (k_ >= kFull) return end_block();
    bits_.refill();
    return true;
  }
  // Blocks follow each other without leaving the loop, because setting it up costs as much as half a block.
  HWY_INLINE bool end_block() {
    if constexpr (kStore) ends_[turn_->number()] = static_cast<uint8_t>(k_);
    k_ = 0;
    ++turn_;
    if (is_complete()) return false;
    bits_.refill();
    open_block();
    return begin_block();
  }
  HWY_INLINE void open_block() {
    if constexpr (kStore) {
      ac_ = turn_->ac->look.data();
      block_ = values_ + turn_->place;
    } else {
      passing_ = turn_->passing;
    }
  }
  // The first coefficient.
  HWY_INLINE bool begin_block() {
    const Entry found = turn_->dc->look[bits_.peek(kLookBits)];
    int16_t value = found.last(bits_.behind(kLookBits));
    if (found.used() == 0) [[unlikely]] {
      const int size = next_symbol(turn_->dc->codes, bits_);
      if (size < 0) return false;
      value = static_cast<int16_t>(next_value(bits_, size));
      bits_.refill();
    }
    if constexpr (kStore)
      block_[0] = value;
    else
      *values_++ = value;
    bits_.skip(found.used());
    k_ = 1;
    return true;
  }

  Bits bits_;
  const Turn* turn_;
  const Turn* end_;
  size_t k_;
  int16_t* values_;
  uint8_t* ends_;
  const uint8_t* limit_;
  const Entry* ac_ = nullptr;  // of the block
  const Passing* passing_ = nullptr;
  int16_t* block_ = nullptr;
};

// Saves where a stream is and, unless it could go on, why it stops.
template <bool kStore> HWY_INLINE Stop leave(const Stream<kStore>& stream, bool goes_on, Progress& to) {
  stream.leave(to);
  if (stream.is_complete()) return Stop::complete;
  if (!goes_on) return Stop::damage;
  return stream.is_behind() ? Stop::data : Stop::none;
}

template <bool kStore> HWY_NOINLINE Stop decode_one(Progress& progress) {
  Stream<kStore> stream(progress);
  bool goes_on = stream.is_behind() || stream.enter();
  while (goes_on && !stream.is_behind()) {
    stream.refill();
#pragma GCC unroll 3
    for (int i = 0; i < kLookUps && goes_on; ++i) goes_on = stream.look_up();
  }
  return leave(stream, goes_on, progress);
}

template <bool kStore, bool kStoreOther>
HWY_NOINLINE std::pair<Stop, Stop> decode_two(Progress& a, Progress& b) {
  Stream<kStore> one(a);
  Stream<kStoreOther> other(b);
  bool goes_on = one.is_behind() || one.enter(), other_goes_on = other.is_behind() || other.enter();
  while (goes_on && other_goes_on && !one.is_behind() && !other.is_behind()) {
    one.refill();
    other.refill();
#pragma GCC unroll 3
    for (int i = 0; i < kLookUps && goes_on && other_goes_on; ++i) {
      goes_on = one.look_up();
      if (goes_on) other_goes_on = other.look_up();
    }
  }
  return {leave(one, goes_on, a), leave(other, other_goes_on, b)};
}

Stop decode_blocks(Progress& progress) {
  return progress.ends ? decode_one<true>(progress) : decode_one<false>(progress);
}

std::pair<Stop, Stop> decode_two_blocks(Progress& one, Progress& other) {
  if (one.ends) return other.ends ? decode_two<true, true>(one, other) : decode_two<true, false>(one, other);
  return other.ends ? decode_two<false, true>(one, other) : decode_two<false, false>(one, other);
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::jpeg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::jpeg {
namespace {

HWY_EXPORT(decode_blocks);
HWY_EXPORT(decode_two_blocks);

}  // namespace

Stop decode_blocks(Progress& progress) { return HWY_DYNAMIC_DISPATCH(decode_blocks)(progress); }

std::pair<Stop, Stop> decode_blocks(Progress& one, Progress& other) {
  return HWY_DYNAMIC_DISPATCH(decode_two_blocks)(one, other);
}

}  // namespace headrace::jpeg
#endif
