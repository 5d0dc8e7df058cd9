// The samples that take far longer than most, each measured again before it is reported.
#pragma once
#include <vector>

#include "cli/doctor/look.h"

namespace headrace::cli {

struct Slow {
  struct One {
    uint64_t sample = 0;  // position in Look::samples
    double read_s = 0;    // wall-clock time
    double decode_s = 0;  // CPU time of the thread
  };
  static constexpr double kFar = 10;            // times the median
  static constexpr double kLeastRead = 2e-3;    // s: less is not worth reporting
  static constexpr double kLeastDecode = 1e-3;  // s

  double median_read_s = 0, median_decode_s = 0;  // of ordinary samples, measured in the same way
  double read_threshold_s = 0, decode_threshold_s = 0;
  bool shares_blocks = false;  // samples are read together with others, so reading is not judged
  uint64_t candidates = 0;     // samples that were slow the first time
  std::vector<One> samples;    // the slowest first
};

// Candidates are the samples with the longest times in `look`. Each is read and decoded three more times,
// alone, after the system was asked to drop its bytes, alternating with ordinary samples; the least time
// counts.
Slow find_slow(const SampleReader& reader, const Look& look);

// How many samples are read together, on average: 1 for records and one file per sample.
double samples_a_block(const Source& source);

}  // namespace headrace::cli
