// The samples that take far longer than most, each measured again before it is named.
#pragma once
#include <vector>

#include "cli/doctor/look.h"

namespace headrace::cli {

struct Slow {
  struct One {
    uint64_t sample = 0;  // position in Look::samples
    double read_s = 0;    // by the clock
    double decode_s = 0;  // CPU time of the thread
  };
  static constexpr double kFar = 10;            // times the median
  static constexpr double kLeastRead = 2e-3;    // s: less is not worth a line
  static constexpr double kLeastDecode = 1e-3;  // s

  double median_read_s = 0, median_decode_s = 0;  // of ordinary samples, measured in the same way
  double read_threshold_s = 0, decode_threshold_s = 0;
  bool shares_blocks = false;  // samples are read together with others: reading is nobody's own then
  uint64_t candidates = 0;     // that were slow the first time
  std::vector<One> samples;    // the slowest first
};

// Candidates are the greatest times of the look. Each is read and decoded three times more, alone, after the
// system was asked to forget its bytes, with ordinary samples between; the least of these counts.
Slow find_slow(const SampleReader& reader, const Look& look);

// How many samples are read at once, on average: 1 for files of their own and records.
double samples_a_block(const Source& source);

}  // namespace headrace::cli
