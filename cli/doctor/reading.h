// How fast this machine reads the data as they lie, and as one file would be read: measured on some of them.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/doctor/look.h"

namespace headrace::cli {

// Reads at once that are tried: one is best for a lone turning disk, and a loader comes to many where a store
// takes its time to answer. The first is tried always, the others while there is time.
inline constexpr std::array<size_t, 4> kReaders{16, 64, 4, 1};

struct ReadRate {
  double bytes_per_s = 0;
  double samples_per_s = 0;
  size_t readers = 0;    // reads at once, of kReaders: those that were fastest
  double cpu_s = 0;      // CPU time a sample
  double from_disk = 0;  // share of the bytes that came from a disk, as the system counts them
};
// The same bytes three ways, each with the number of reads at once that is best for it.
struct Layouts {
  ReadRate as_they_lie;        // samples in random order, from where they are
  ReadRate one_file_shuffled;  // in the same order from one file
  ReadRate one_file_in_order;  // from its begin to its end
};
struct Reading {
  uint64_t samples = 0, bytes = 0, files = 0;  // measured
  double samples_a_block = 1;                  // as many come with each read
  // In random order, too, a block is read once for all of its samples: a loader has room for all blocks, or
  // copies samples out of files that are in memory.
  bool once_each = true;
  std::optional<Layouts> disk;  // where nearly all of it came from there
  std::optional<Layouts> memory;
  std::string folder;         // of the one file, which is deleted
  bool on_same_disk = false;  // as the data
  std::string skipped;        // why nothing was measured, or nothing from the disk
};

// So many samples, of small ones more until they are enough bytes to measure; never more than the most.
inline constexpr uint64_t kMeasuredSamples = 500, kMostMeasuredSamples = 20'000;
inline constexpr uint64_t kEnoughBytes = uint64_t{16} << 20, kMostMeasuredBytes = uint64_t{128} << 20;
// Fewer are read before anything could be told apart.
inline constexpr uint64_t kLeastBytes = uint64_t{4} << 20;

Reading measure_reading(const Source& source, const Look& look);

}  // namespace headrace::cli
