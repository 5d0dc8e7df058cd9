#include "headrace/codecs/jpeg/entropy.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/jpeg/markers.h"

namespace headrace::jpeg {
namespace {

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

EntropyReader::EntropyReader(const Scan& scan, const Tables& tables) : scan_(scan) {
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
                           &tables.ac[static_cast<size_t>(component.ac)], c,
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

// More of the data. REQUIRES: there is more, and up to 8 bytes are left.
void EntropyReader::fill() {
  const int64_t used = bits_.rebase(window_.data());
  std::memmove(window_.data(), window_.data() + used, static_cast<size_t>(end_ - used));
  before_ += used, end_ -= used;
  const Copied copied = unstuff(scan_.data.subspan(next_), window_.data() + end_, kPiece);
  next_ += copied.read, end_ += static_cast<int64_t>(copied.written), is_last_ = copied.stopped;
  if (is_last_) std::memset(window_.data() + end_, 0, kAhead);
}

// An interval must end within its last byte, and its marker must be there.
bool EntropyReader::restart_if_due() {
  if (mcu_ != restart_at_ || mcu_ == 0) return true;
  if (!is_last_ && bits_.is_behind(limit())) fill();
  const bool at_end = is_last_ && is_in_order() && bits_.position(window_.data()) > (end_ - 1) * 8;
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
  out = {known_offset_, static_cast<int>(at & 7), {}};
  for (size_t c = 0; c < dc_.size(); ++c) out.dc[c] = static_cast<int16_t>(dc_[c]);
  return true;
}

bool EntropyReader::decode(const Turn* turn, const Turn* end, int16_t* values, uint8_t* ends) {
  Progress progress{bits_, turn, 0, values, ends};
  while (true) {
    const Stop stop = decode_blocks(progress, end, limit());
    if (stop == Stop::complete) break;
    if (progress.bits.is_behind(limit())) {
      if (is_last_) return false;
      bits_ = progress.bits;
      fill();
      progress.bits = bits_;
    }
    if (stop == Stop::symbol && !decode_symbol(progress)) return false;
  }
  bits_ = progress.bits;
  return true;
}

// From a difference to the value itself.
bool EntropyReader::add_up(const Turn& turn, int16_t& difference) {
  int& dc = dc_[turn.component];
  dc += difference;
  difference = static_cast<int16_t>(dc);
  return dc == difference;
}

bool EntropyReader::read(int64_t mcus, Coefficients& out) {
  out.first_ = first_;
  for (size_t c = 0; c < static_cast<size_t>(scan_.components); ++c) {
    const auto blocks = static_cast<size_t>(mcus * scan_.blocks_of(static_cast<int>(c)));
    std::memset(out.values_.data() + first_[c], 0, (blocks + 1) / 2 * 128 * sizeof(int16_t));
  }
  const Turn* turn = turns_.data();
  while (mcus > 0) {
    if (!restart_if_due()) return false;
    const int64_t now = until_restart(mcus);
    const Turn* const end = turn + static_cast<size_t>(now) * blocks_;
    if (!decode(turn, end, out.values_.data(), out.ends_.data())) return false;
    for (; turn < end; ++turn)
      if (!add_up(*turn, out.values_[turn->place])) return false;
    mcu_ += now, mcus -= now;
  }
  return true;
}

bool EntropyReader::pass_over(int64_t mcus) {
  std::array<int16_t, Coefficients::kMostBlocks * Coefficients::kMostMcus> differences;
  while (mcus > 0) {
    if (!restart_if_due()) return false;
    const int64_t now = until_restart(std::min<int64_t>(mcus, Coefficients::kMostMcus));
    const Turn* const end = turns_.data() + static_cast<size_t>(now) * blocks_;
    if (!decode(turns_.data(), end, differences.data(), nullptr)) return false;
    for (const Turn* turn = turns_.data(); turn < end; ++turn)
      if (!add_up(*turn, differences[static_cast<size_t>(turn - turns_.data())])) return false;
    mcu_ += now, mcus -= now;
  }
  return true;
}

}  // namespace headrace::jpeg
