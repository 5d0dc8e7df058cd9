// The entropy-coded data of a baseline scan, block by block: from its beginning, or from a checkpoint of an
// earlier reading. What becomes of the coefficients is the caller's business.
//
//   EntropyReader reader(scan, tables);
//   reader.pass_over(mcus_before);
//   if (!reader.begin_mcu()) ...                  // then its blocks, component by component
//   int end = reader.read_block(component, block, places);
//   if (!reader.is_in_order()) ...                // at the end of every row of MCUs
//
// Stuffing is taken out a piece at a time, so that what is not read costs nothing. Any data is safe to read:
// what is not in order is answered by false or kBroken, after which only start and start_at may be called.
#pragma once
#include "headrace/codecs/jpeg/huffman.h"
#include "headrace/codecs/jpeg/scan.h"

namespace headrace::jpeg {

// Where an MCU begins, and what its differences are counted from.
struct Checkpoint {
  size_t offset = 0;  // of the byte that holds its first bit, from the first one of Scan::data on
  int bit = 0;        // which bit of that byte: 0 for the most significant
  std::array<int16_t, 3> dc{};
};

// Where coefficient k of the zigzag goes in a block: to [k], for k to 63. Greater ones, of damaged data, go
// to the one after the last row. Twice, for k + 128 is a k that ends the block.
using Places = std::array<uint8_t, 256>;
constexpr Places places(int stride) {  // from one row of the block to the next
  Places places{};
  for (size_t k = 0; k < places.size(); ++k) {
    const size_t at = k % 128;
    places[k] = static_cast<uint8_t>(at < 64 ? stride * (kNaturalOrder[at] >> 3) + (kNaturalOrder[at] & 7)
                                             : 8 * stride);
  }
  return places;
}

class EntropyReader {
 public:
  static constexpr int kBroken = -1;

  // Stands before the first MCU. REQUIRES: `scan` and `tables` outlive it.
  EntropyReader(const Scan& scan, const Tables& tables) : scan_(scan), tables_(tables) { start(); }
  EntropyReader(const EntropyReader&) = delete;
  EntropyReader& operator=(const EntropyReader&) = delete;

  void start();
  // Stand before MCU number `mcu`, which begins at `checkpoint`. False when no scan like this has such a one.
  bool start_at(const Checkpoint& checkpoint, int64_t mcu);

  // To be called before the blocks of each MCU: goes over a restart marker if one is due.
  bool begin_mcu();
  // The checkpoint of the MCU that was begun. REQUIRES: none of its blocks was read.
  Checkpoint checkpoint();
  // Read a block into `block`, its first coefficient included; all others are zeros before. Answers an index
  // behind the last coefficient that is not zero, or kBroken. REQUIRES: blocks come in the scan's order.
  int read_block(int component, int16_t* block, const Places& places);
  bool pass_over_block(int component);
  // The next `mcus` as a whole, begin_mcu included.
  bool pass_over(int64_t mcus);
  // Whether what was read is there: the last MCU may have gone on where no data is.
  bool is_in_order() const { return !is_last_ || bits_.position(window_.data()) <= end_ * 8; }

 private:
  // The most bytes that an MCU takes: 6 blocks of 64 codes and values of 31 bits; and what is read ahead.
  static constexpr size_t kMostMcu = 6 * 64 * 31 / 8 + 48;
  static constexpr size_t kPiece = 4096;

  void start_interval(size_t offset);
  bool little_is_left() const {
    return bits_.position(window_.data()) > (end_ - static_cast<int64_t>(kMostMcu)) * 8;
  }
  bool fill();
  bool restart();
  bool dc_coefficient(int component);
  const AcTable& ac_of(int component) const {
    return tables_.ac[static_cast<size_t>(scan_.component[static_cast<size_t>(component)].ac)];
  }

  const Scan& scan_;
  const Tables& tables_;
  int64_t mcu_ = 0, restart_at_ = 0;  // the next MCU, and the one before which a restart marker is due
  std::array<int, 3> dc_{};           // predictors
  Bits bits_;

  // The data between two restart markers, without stuffing: what of it is at hand. Zeros follow the last.
  std::array<uint8_t, kMostMcu + kPiece + kMostMcu> window_;
  int64_t end_ = 0;      // of what is at hand
  bool is_last_ = true;  // no more to come before a marker
  size_t next_ = 0;      // the offset in the file's data where the window ends
  int64_t before_ = 0;   // bytes without stuffing from the start of reading to that of the window

  // A byte with and without stuffing before it: from here the offsets of checkpoints are found.
  size_t known_offset_ = 0;
  int64_t known_byte_ = 0;
};

}  // namespace headrace::jpeg
