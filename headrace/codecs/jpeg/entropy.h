// The entropy-coded data of a baseline scan, some MCUs at a time: from its beginning, or from a checkpoint
// (an entropy point) of an earlier pass. The caller processes the coefficients.
//
//   EntropyReader reader(scan, tables);
//   reader.pass_over(mcus_before);
//   reader.read(8, coefficients);
//   if (!reader.is_in_order()) ...                // at the end of every row of MCUs
//
// Stuffing is removed a piece at a time, so that data that is not read costs nothing. Any data is safe to
// read: for invalid data the functions return false, after which only start and start_at may be called.
#pragma once
#include <algorithm>

#include "headrace/codecs/jpeg/baseline_header.h"
#include "headrace/codecs/jpeg/blocks.h"
#include "headrace/kernels/unstuff.h"

namespace headrace::jpeg {

// Where an MCU begins, and its DC predictors.
struct Checkpoint {
  size_t offset = 0;  // of the byte that holds its first bit, relative to the first byte of Scan::data
  int bit = 0;        // which bit of that byte: 0 for the most significant
  std::array<int16_t, 3> dc{};
};

// The coefficients of some MCUs. Consecutive blocks of a component are stored side by side in pairs, as
// kernels/idct.h needs them.
class Coefficients {
 public:
  static constexpr int kMostMcus = 8;

  // Blocks 2 * pair and 2 * pair + 1 of a component; the missing last one of an odd number is zeros.
  const int16_t* pair(int component, int pair) const { return values_.data() + at(component, 2 * pair); }
  // The first coefficient of a block.
  int16_t dc(int component, int block) const { return values_[at(component, block)]; }
  // Whether it has no other.
  bool is_flat(int component, int block) const {
    const size_t place = at(component, block);
    return ends_[Turn{nullptr, nullptr, nullptr, 0, place}.number()] == 2 + Entry::kEnd &&
           values_[place + 1] == 0;
  }

 private:
  friend class EntropyReader;
  static constexpr size_t kMostBlocks = Scan::kMostBlocks;

  size_t at(int component, int block) const {
    return first_[static_cast<size_t>(component)] + static_cast<size_t>(block / 2 * 128 + block % 2 * 8);
  }

  alignas(64) std::array<int16_t, 64 * kMostBlocks * kMostMcus> values_;
  std::array<uint8_t, 2 * kMostBlocks * kMostMcus> ends_;  // [2 * pair + block]: the last k of each block
  std::array<size_t, 3> first_{};                          // where the components begin
};

class EntropyReader {
 public:
  // Positioned before the first MCU. REQUIRES: `scan` and `tables` outlive it.
  EntropyReader(const Scan& scan, const Tables& tables);
  EntropyReader(const EntropyReader&) = delete;
  EntropyReader& operator=(const EntropyReader&) = delete;

  void start();
  // Positions before MCU number `mcu`, which begins at `checkpoint`. False when such a checkpoint is
  // impossible in this scan. What will be read is expected to end before the byte at `expected_end`; it need
  // not.
  static constexpr size_t kNoEnd = ~size_t{0};
  bool start_at(const Checkpoint& checkpoint, int64_t mcu, size_t expected_end = kNoEnd);

  // Reads the next MCUs, up to Coefficients::kMostMcus.
  bool read(int64_t mcus, Coefficients& out);
  // Skips the next MCUs.
  bool pass_over(int64_t mcus);

  // The same in steps, for two readers that run side by side: set_out starts on the next MCUs, which are
  // skipped without `out`; then call go_on until has_arrived, for one reader or for two of which neither has
  // arrived.
  bool set_out(int64_t mcus, Coefficients* out);
  bool has_arrived() const { return left_ == 0; }
  bool go_on() { return heed(decode_blocks(at_)); }
  static bool go_on(EntropyReader& one, EntropyReader& other);

  // The checkpoint of the next MCU.
  bool checkpoint(Checkpoint& out);
  // Whether what was read is valid: the last MCU may have run past the data.
  bool is_in_order() const { return !is_last_ || at_.bits.position(window_.data()) <= end_ * 8; }

 private:
  static constexpr size_t kPiece = 4096, kLeastPiece = 512;
  static constexpr size_t kAhead = 128;  // zeros after the last of the data

  void start_interval(size_t offset);
  size_t piece() const;
  void fill();
  bool restart_if_due();
  int64_t until_restart(int64_t mcus) const {
    return restart_at_ > 0 ? std::min(mcus, restart_at_ - mcu_) : mcus;
  }
  bool begin_stretch();
  void look_up_passing();
  bool end_stretch();
  bool heed(Stop stop);

  const Scan& scan_;
  const Tables& tables_;
  bool passes_ = false;               // turns_ hold what skipping needs
  int64_t mcu_ = 0, restart_at_ = 0;  // the next MCU, and the one before which a restart marker is due
  std::array<int, 3> dc_{};           // predictors
  size_t blocks_ = 0;                 // of an MCU
  std::array<Turn, Coefficients::kMostBlocks * Coefficients::kMostMcus> turns_;
  std::array<size_t, 3> first_{};

  // In progress: MCUs are decoded in stretches without restart markers inside.
  Progress at_;
  Coefficients* out_ = nullptr;  // null: skipped
  int64_t left_ = 0;             // MCUs, with those of the stretch
  int64_t stretch_ = 0;
  const Turn* begin_ = nullptr;                                                           // of the stretch
  std::array<int16_t, Coefficients::kMostBlocks * Coefficients::kMostMcus> differences_;  // of skipped blocks

  // The data between two restart markers, without stuffing: the available part. Zeros follow the last.
  std::array<uint8_t, kReadBehind + kPiece + kernels::kUnstuffMore + kAhead> window_;
  int64_t end_ = 0;      // of the available part
  bool is_last_ = true;  // no more to come before a marker
  size_t next_ = 0;      // the offset in the file's data where the window ends
  size_t expected_end_ = kNoEnd;
  int64_t before_ = 0;  // bytes without stuffing from the start of reading to that of the window

  // A byte position with and without stuffing: the base for the offsets of checkpoints.
  size_t known_offset_ = 0;
  int64_t known_byte_ = 0;
};

}  // namespace headrace::jpeg
