#include "headrace/codecs/jpeg/entropy.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/jpeg/markers.h"

namespace headrace::jpeg {

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
  expected_end_ = kNoEnd;
  start_interval(0);
}

bool EntropyReader::start_at(const Checkpoint& checkpoint, int64_t mcu, size_t expected_end) {
  if (checkpoint.offset >= scan_.data.size() || checkpoint.bit < 0 || checkpoint.bit > 7) return false;
  if (mcu < 0 || mcu >= scan_.mcus_across() * scan_.mcus_down()) return false;
  const int64_t interval = scan_.restart_interval;
  mcu_ = mcu, restart_at_ = interval > 0 ? (mcu / interval + 1) * interval : 0;
  std::copy(checkpoint.dc.begin(), checkpoint.dc.end(), dc_.begin());
  expected_end_ = expected_end;
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

// How much to take at once: up to the expected end, then small pieces.
size_t EntropyReader::piece() const {
  constexpr size_t kBehind = kReadBehind + 16;  // what a refill may have read when the last MCU is there
  const size_t left = expected_end_ > next_ ? expected_end_ - next_ : 0;
  return left < kPiece - kBehind ? std::max(left + kBehind, kLeastPiece) : kPiece;
}

// Takes more of the data. REQUIRES: there is more, and up to kReadBehind bytes are left.
void EntropyReader::fill() {
  const int64_t used = at_.bits.rebase(window_.data());
  std::memmove(window_.data(), window_.data() + used, static_cast<size_t>(end_ - used));
  before_ += used, end_ -= used;
  const Bytes data = scan_.data.subspan(next_);
  const kernels::Unstuffed more = kernels::unstuff(reinterpret_cast<const uint8_t*>(data.data()), data.size(),
                                                   window_.data() + end_, piece());
  next_ += more.read, end_ += static_cast<int64_t>(more.written), is_last_ = more.stopped;
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

// Handles the reason for which decoding stopped.
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
