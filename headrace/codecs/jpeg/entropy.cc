#include "headrace/codecs/jpeg/entropy.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/jpeg/markers.h"

namespace headrace::jpeg {
namespace {

constexpr size_t kFull = 64;  // and above: no more coefficients
constexpr int kBroken = -1;

// Where in a pair of blocks the coefficient before index k goes; the block may end there.
constexpr auto kPlaces = [] {
  std::array<uint8_t, kFull + 1 + Entry::kEnd> places{};
  for (size_t k = 1; k <= kFull; ++k)
    places[k] = places[k + Entry::kEnd] =
        static_cast<uint8_t>(16 * (kNaturalOrder[k - 1] >> 3) + (kNaturalOrder[k - 1] & 7));
  return places;
}();

// One symbol of any length, into `block` unless that is null. Answers the index behind it, or kBroken.
[[gnu::noinline, gnu::cold]] int long_dc_symbol(const Codes& codes, Bits& bits, int16_t* block) {
  bits.refill();
  const int size = next_symbol(codes, bits);
  if (size < 0) return kBroken;
  *block = static_cast<int16_t>(next_value(bits, size));
  return 1;
}

[[gnu::noinline, gnu::cold]] int long_ac_symbol(const Codes& codes, Bits& bits, int k, int16_t* block) {
  bits.refill();
  const int symbol = next_symbol(codes, bits);
  if (symbol < 0) return kBroken;
  const int size = symbol & 15, run = symbol >> 4;
  if (size == 0) return run == 15 ? std::min(k + 16, 64) : k + 1 + Entry::kEnd;
  k += run + 1;
  if (k > 64) return kBroken;
  const int value = next_value(bits, size);
  if (block) block[kPlaces[static_cast<size_t>(k)]] = static_cast<int16_t>(value);
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

// Where decoding stands, from block to block and within one.
struct EntropyReader::Progress {
  Bits bits;
  const Turn* turn;  // of the next block
  size_t k = 0;      // of the next coefficient in the block before; 0: that one is whole
};

// Decodes until all is there, more data is needed, or a symbol must be read the long way. With !kStore only
// the differences of first coefficients are stored, one after the other.
//
// Blocks follow each other without leaving the loop, for setting out anew cost as much as half a block.
template <bool kStore> EntropyReader::Stop EntropyReader::decode(Progress& progress, const Turn* end,
                                                                 int16_t* values, uint8_t* ends) const {
  Bits bits = progress.bits;  // in registers
  const Turn* turn = progress.turn;
  const uint8_t* const limit = this->limit();
  size_t k = progress.k;
  while (!bits.is_behind(limit)) {
    bits.refill();
#pragma GCC unroll 3
    for (int i = 0; i < kLookUps; ++i) {
      const uint32_t index = bits.peek(kLookBits);
      Entry found;
      if (k == 0) {
        if (turn == end) {
          progress = {bits, turn, 0};
          return Stop::complete;
        }
        found = turn->dc->look[index];
        ++turn;
        if constexpr (!kStore) *values++ = found.last(bits.behind(kLookBits));
      } else {
        found = turn[-1].ac->look[index];
      }
      const size_t next = k + found.steps();
      if (!Entry::is_plain(next)) [[unlikely]] {
        progress = {bits, turn, k};
        return Stop::symbol;
      }
      if constexpr (kStore) {
        int16_t* const block = values + turn[-1].place;
        block[kPlaces[k + found.to_first()]] = found.first();
        block[kPlaces[next]] = found.last(bits.behind(kLookBits));
        ends[turn[-1].place / 64 * 2 + turn[-1].place % 16 / 8] = static_cast<uint8_t>(next);
      }
      bits.skip(found.used());
      k = next < kFull ? next : 0;
    }
  }
  progress = {bits, turn, k};
  return Stop::data;
}

template <bool kStore>
bool EntropyReader::run(const Turn* turn, const Turn* end, int16_t* values, uint8_t* ends) {
  Progress progress{bits_, turn};
  while (true) {
    const Stop stop = decode<kStore>(progress, end, kStore ? values : values + (progress.turn - turn), ends);
    if (stop == Stop::complete) break;
    if (progress.bits.is_behind(limit())) {
      if (is_last_) return false;
      bits_ = progress.bits;
      fill();
      progress.bits = bits_;
    }
    if (stop == Stop::data) continue;
    const Turn& of = progress.turn[-1];
    int16_t* const block = kStore ? values + of.place : progress.k == 0 ? values + (&of - turn) : nullptr;
    const int k = progress.k == 0
                      ? long_dc_symbol(of.dc->codes, progress.bits, block)
                      : long_ac_symbol(of.ac->codes, progress.bits, static_cast<int>(progress.k), block);
    if (k == kBroken) return false;
    if constexpr (kStore) ends[of.place / 64 * 2 + of.place % 16 / 8] = static_cast<uint8_t>(k);
    progress.k = static_cast<size_t>(k) < kFull ? static_cast<size_t>(k) : 0;
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
    if (!run<true>(turn, end, out.values_.data(), out.ends_.data())) return false;
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
    if (!run<false>(turns_.data(), end, differences.data(), nullptr)) return false;
    for (const Turn* turn = turns_.data(); turn < end; ++turn)
      if (!add_up(*turn, differences[static_cast<size_t>(turn - turns_.data())])) return false;
    mcu_ += now, mcus -= now;
  }
  return true;
}

}  // namespace headrace::jpeg
