#include "headrace/codecs/jpeg/entropy.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/jpeg/markers.h"

namespace headrace::jpeg {
namespace {

// The AC coefficients of a block, into `block` unless that is null. Answers the index after the last one, or
// kBroken.
template <bool kStore>
int ac_coefficients(const AcTable& table, Bits& caller, int16_t* block, const Places& places) {
  Bits bits = caller;  // in registers
  int k = 1;
  while (true) {
    bits.refill();
    bool slow = false;
    for (int i = 0; i < 56 / kLookBits; ++i) {
      const AcEntry found = table.look[bits.peek(kLookBits)];
      const int first = k + found.run();
      const int next = first + 1 + found.steps();
      if (found.is_slow() || next > 63) [[unlikely]] {
        slow = true;
        break;
      }
      bits.skip(found.used());
      if constexpr (kStore) {  // without a second value, the first overwrites what stands for it
        block[places[static_cast<size_t>(next - 1)]] = found.second_value();
        block[places[static_cast<size_t>(first)]] = found.first_value();
      }
      k = next;
      if (found.ends_block()) {
        caller = bits;
        return k;
      }
    }
    if (!slow) continue;
    bits.refill();
    const int symbol = next_symbol(table.codes, bits);
    if (symbol < 0) return EntropyReader::kBroken;
    const int size = symbol & 15, run = symbol >> 4;
    if (size == 0 && run != 15) break;
    if (size == 0) {
      k += 16;
    } else {
      k += run;
      if (k > 63) return EntropyReader::kBroken;
      const int value = next_value(bits, size);
      if constexpr (kStore) block[places[static_cast<size_t>(k)]] = static_cast<int16_t>(value);
      ++k;
    }
    if (k > 63) break;
  }
  caller = bits;
  return k;
}

struct Copied {
  size_t read = 0, written = 0;
  bool stopped = false;  // at a marker, or at the end
};

// Copies data without its stuffing, until `room` bytes are written.
Copied unstuff(Bytes data, uint8_t* to, size_t room) {
  const auto* const begin = reinterpret_cast<const uint8_t*>(data.data());
  Copied copied;
  while (copied.written < room && copied.read < data.size()) {
    const uint8_t* const from = begin + copied.read;
    const size_t most = std::min(room - copied.written, data.size() - copied.read);
    const auto* const stuffed = static_cast<const uint8_t*>(std::memchr(from, 0xFF, most));
    const size_t plain = stuffed ? static_cast<size_t>(stuffed - from) : most;
    std::memcpy(to + copied.written, from, plain);
    copied.read += plain, copied.written += plain;
    if (!stuffed) continue;
    if (copied.read + 1 >= data.size() || stuffed[1] != 0) {
      copied.stopped = true;
      return copied;
    }
    to[copied.written++] = 0xFF;
    copied.read += 2;
  }
  copied.stopped = copied.read == data.size();
  return copied;
}

}  // namespace

void EntropyReader::start() {
  mcu_ = 0, restart_at_ = scan_.restart_interval;
  dc_ = {};
  start_interval(0);
}

bool EntropyReader::start_at(const Checkpoint& checkpoint, int64_t mcu) {
  if (checkpoint.offset >= scan_.data.size() || checkpoint.bit < 0 || checkpoint.bit > 7) return false;
  if (mcu < 0 || mcu >= scan_.mcus_across() * scan_.mcus_down()) return false;
  const int64_t interval = scan_.restart_interval;
  mcu_ = mcu, restart_at_ = interval > 0 ? (mcu / interval + 1) * interval : 0;
  std::copy(checkpoint.dc.begin(), checkpoint.dc.end(), dc_.begin());
  start_interval(checkpoint.offset);
  bits_.refill();
  bits_.skip(checkpoint.bit);
  return true;
}

void EntropyReader::start_interval(size_t offset) {
  next_ = known_offset_ = offset;
  before_ = known_byte_ = 0;
  end_ = 0, is_last_ = false;
  bits_.seek(window_.data());
  fill();
}

// More of the data. False when more was read than there is. REQUIRES: little is left.
bool EntropyReader::fill() {
  if (is_last_) return is_in_order();
  const int64_t used = bits_.rebase(window_.data());
  std::memmove(window_.data(), window_.data() + used, static_cast<size_t>(end_ - used));
  before_ += used, end_ -= used;
  const Copied copied = unstuff(scan_.data.subspan(next_), window_.data() + end_, kPiece);
  next_ += copied.read, end_ += static_cast<int64_t>(copied.written), is_last_ = copied.stopped;
  if (is_last_) std::memset(window_.data() + end_, 0, kMostMcu);
  return true;
}

bool EntropyReader::begin_mcu() {
  if (mcu_ == restart_at_ && mcu_ > 0 && !restart()) return false;
  ++mcu_;
  return !little_is_left() || fill();
}

// An interval must end within its last byte, and its marker must be there.
bool EntropyReader::restart() {
  if (little_is_left() && !fill()) return false;
  const bool at_end = is_last_ && bits_.position(window_.data()) > (end_ - 1) * 8;
  if (!at_end || scan_.data.size() - next_ < 2) return false;
  const int64_t interval = scan_.restart_interval;
  if (word_at(scan_.data, next_) != 0xFF00 + kRst0 + (mcu_ / interval - 1) % 8) return false;
  restart_at_ += interval;
  dc_ = {};
  start_interval(next_ + 2);
  return true;
}

Checkpoint EntropyReader::checkpoint() {
  const int64_t at = bits_.position(window_.data());
  const int64_t byte = before_ + (at >> 3);
  const auto* const data = reinterpret_cast<const uint8_t*>(scan_.data.data());
  while (known_byte_ < byte) {
    const auto most = static_cast<size_t>(byte - known_byte_);
    const auto* const from = data + known_offset_;
    const auto* const stuffed = static_cast<const uint8_t*>(std::memchr(from, 0xFF, most));
    const size_t bytes = stuffed ? static_cast<size_t>(stuffed - from) + 1 : most;
    known_byte_ += static_cast<int64_t>(bytes);
    known_offset_ += stuffed ? bytes + 1 : bytes;
  }
  Checkpoint checkpoint{known_offset_, static_cast<int>(at & 7), {}};
  for (size_t c = 0; c < dc_.size(); ++c) checkpoint.dc[c] = static_cast<int16_t>(dc_[c]);
  return checkpoint;
}

bool EntropyReader::dc_coefficient(int component) {
  bits_.refill();
  const Component& of = scan_.component[static_cast<size_t>(component)];
  const int size = next_symbol(tables_.dc[static_cast<size_t>(of.dc)], bits_);
  if (size < 0) return false;
  int& dc = dc_[static_cast<size_t>(component)];
  dc += next_value(bits_, size);
  return dc == static_cast<int16_t>(dc);
}

int EntropyReader::read_block(int component, int16_t* block, const Places& places) {
  if (!dc_coefficient(component)) return kBroken;
  block[0] = static_cast<int16_t>(dc_[static_cast<size_t>(component)]);
  return ac_coefficients<true>(ac_of(component), bits_, block, places);
}

bool EntropyReader::pass_over_block(int component) {
  return dc_coefficient(component) && ac_coefficients<false>(ac_of(component), bits_, nullptr, {}) != kBroken;
}

bool EntropyReader::pass_over(int64_t mcus) {
  for (; mcus > 0; --mcus) {
    if (!begin_mcu()) return false;
    for (int c = 0; c < scan_.components; ++c)
      for (int blocks = scan_.blocks_of(c); blocks > 0; --blocks)
        if (!pass_over_block(c)) return false;
  }
  return true;
}

}  // namespace headrace::jpeg
