#include "headrace/codecs/jpeg/entropy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "headrace/codecs/jpeg/markers.h"

namespace headrace::jpeg {
namespace {

struct Copied {
  size_t read = 0, written = 0;
  bool stopped = false;  // at a marker, or at the end
};

// Copies 16 bytes. Answers how many stand before the first 0xFF, 16 when there is none.
size_t copy_plain(const uint8_t* from, uint8_t* to) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t bytes[2], found[2];
  std::memcpy(bytes, from, 16);
  std::memcpy(to, bytes, 16);
  for (int i = 0; i < 2; ++i) {
    if constexpr (std::endian::native == std::endian::big) bytes[i] = __builtin_bswap64(bytes[i]);
    found[i] = (~bytes[i] - kOnes) & bytes[i] & (kOnes << 7);
  }
  if ((found[0] | found[1]) == 0) [[likely]]
    return 16;
  return static_cast<size_t>(found[0] != 0 ? std::countr_zero(found[0]) : 64 + std::countr_zero(found[1])) /
         8;
}

// Copies data without its stuffing, until `room` bytes are written, or up to 16 more.
Copied unstuff(Bytes data, uint8_t* to, size_t room) {
  const auto* const from = reinterpret_cast<const uint8_t*>(data.data());
  Copied copied;
  while (copied.written < room && copied.read < data.size()) {
    if (data.size() - copied.read >= 16) {  // most stuffing is some hundred bytes from the next
      const size_t plain = copy_plain(from + copied.read, to + copied.written);
      copied.read += plain, copied.written += plain;
      if (plain == 16) continue;
    } else if (from[copied.read] != 0xFF) {
      to[copied.written++] = from[copied.read++];
      continue;
    }
    if (copied.read + 1 >= data.size() || from[copied.read + 1] != 0) {
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

EntropyReader::EntropyReader(const Scan& scan, const Tables& tables) : scan_(scan), tables_(tables) {
  size_t count = 0;
  for (int c = 0; c < scan.components; ++c) {
    first_[static_cast<size_t>(c)] = 64 * blocks_ * Coefficients::kMostMcus;
    blocks_ += static_cast<size_t>(scan.blocks_of(c));
  }
  for (int mcu = 0; mcu < Coefficients::kMostMcus; ++mcu)
    for (size_t c = 0; c < static_cast<size_t>(scan.components); ++c) {
      const Component& component = scan.component[c];
      const int blocks = scan.blocks_of(static_cast<int>(c));
      for (int block = mcu * blocks; block < (mcu + 1) * blocks; ++block)
        turns_[count++] = {&tables.dc[static_cast<size_t>(component.dc)],
                           &tables.ac[static_cast<size_t>(component.ac)], nullptr, c,
                           first_[c] + static_cast<size_t>(block / 2 * 128 + block % 2 * 8)};
    }
  start();
}

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
  at_.bits.refill();
  at_.bits.skip(checkpoint.bit);
  return true;
}

void EntropyReader::start_interval(size_t offset) {
  next_ = known_offset_ = offset;
  before_ = known_byte_ = 0;
  end_ = 0, is_last_ = false;
  at_.bits.seek(window_.data());
  fill();
}

// More of the data. REQUIRES: there is more, and up to kReadBehind bytes are left.
void EntropyReader::fill() {
  const int64_t used = at_.bits.rebase(window_.data());
  std::memmove(window_.data(), window_.data() + used, static_cast<size_t>(end_ - used));
  before_ += used, end_ -= used;
  const Copied copied = unstuff(scan_.data.subspan(next_), window_.data() + end_, kPiece);
  next_ += copied.read, end_ += static_cast<int64_t>(copied.written), is_last_ = copied.stopped;
  if (is_last_) std::memset(window_.data() + end_, 0, kAhead);
  at_.limit = window_.data() + (is_last_ ? end_ + 16 : end_ - kReadBehind);
}

// An interval must end within its last byte, and its marker must be there.
bool EntropyReader::restart_if_due() {
  if (mcu_ != restart_at_ || mcu_ == 0) return true;
  if (!is_last_ && at_.bits.is_behind(at_.limit)) fill();
  const bool at_end = is_last_ && is_in_order() && at_.bits.position(window_.data()) > (end_ - 1) * 8;
  if (!at_end || scan_.data.size() - next_ < 2) return false;
  const int64_t interval = scan_.restart_interval;
  if (word_at(scan_.data, next_) != 0xFF00 + kRst0 + (mcu_ / interval - 1) % 8) return false;
  restart_at_ += interval;
  dc_ = {};
  start_interval(next_ + 2);
  return true;
}

bool EntropyReader::checkpoint(Checkpoint& out) {
  if (!restart_if_due() || !is_in_order()) return false;
  const int64_t at = at_.bits.position(window_.data());
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
  out = {known_offset_, static_cast<int>(at & 7), {}};
  for (size_t c = 0; c < dc_.size(); ++c) out.dc[c] = static_cast<int16_t>(dc_[c]);
  return true;
}

bool EntropyReader::set_out(int64_t mcus, Coefficients* out) {
  left_ = mcus, out_ = out;
  at_.end = turns_.data();
  if (out) {
    out->first_ = first_;
    for (size_t c = 0; c < static_cast<size_t>(scan_.components); ++c) {
      const auto blocks = static_cast<size_t>(mcus * scan_.blocks_of(static_cast<int>(c)));
      std::memset(out->values_.data() + first_[c], 0, (blocks + 1) / 2 * 128 * sizeof(int16_t));
    }
  }
  if (!out && !passes_) look_up_passing();
  return left_ == 0 || begin_stretch();
}

void EntropyReader::look_up_passing() {
  for (Turn& turn : turns_)
    if (turn.ac) turn.passing = &tables_.passing(scan_.component[turn.component].ac);
  passes_ = true;
}

bool EntropyReader::begin_stretch() {
  if (!restart_if_due()) return false;
  stretch_ = until_restart(std::min<int64_t>(left_, Coefficients::kMostMcus));
  begin_ = at_.turn = out_ ? at_.end : turns_.data();
  at_.end = begin_ + static_cast<size_t>(stretch_) * blocks_;
  at_.k = 0;
  at_.values = out_ ? out_->values_.data() : differences_.data();
  at_.ends = out_ ? out_->ends_.data() : nullptr;
  return true;
}

// From differences to the values themselves.
bool EntropyReader::end_stretch() {
  std::array<int, 3> dc = dc_;
  bool fit = true;
  int16_t* difference = differences_.data();
  for (const Turn* turn = begin_; turn < at_.end; ++turn) {
    int16_t& value = out_ ? out_->values_[turn->place] : *difference++;
    int& sum = dc[turn->component];
    sum += value;
    value = static_cast<int16_t>(sum);
    fit = fit && value == sum;
  }
  dc_ = dc;
  mcu_ += stretch_, left_ -= stretch_;
  return fit && (left_ == 0 || begin_stretch());
}

// Does what decoding stopped for.
bool EntropyReader::heed(Stop stop) {
  switch (stop) {
    case Stop::none: return true;
    case Stop::complete: return end_stretch();
    case Stop::data:
      if (is_last_) return false;
      fill();
      return true;
    case Stop::damage: break;
  }
  return false;
}

bool EntropyReader::go_on(EntropyReader& one, EntropyReader& other) {
  const auto [stop, other_stop] = decode_blocks(one.at_, other.at_);
  return one.heed(stop) && other.heed(other_stop);
}

bool EntropyReader::read(int64_t mcus, Coefficients& out) {
  if (!set_out(mcus, &out)) return false;
  while (!has_arrived())
    if (!go_on()) return false;
  return true;
}

bool EntropyReader::pass_over(int64_t mcus) {
  if (!set_out(mcus, nullptr)) return false;
  while (!has_arrived())
    if (!go_on()) return false;
  return true;
}

}  // namespace headrace::jpeg
