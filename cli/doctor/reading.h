// How fast this machine reads the data as stored, and from one file: measured on some of the samples.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/doctor/look.h"

namespace headrace::cli {

// Numbers of concurrent reads to try: one is best for a single hard disk, many for storage with high latency.
// The first is always tried, the others while there is time.
inline constexpr std::array<size_t, 4> kReaders{16, 64, 4, 1};

struct ReadRate {
  double bytes_per_s = 0;
  double samples_per_s = 0;
  size_t readers = 0;    // concurrent reads, the fastest of kReaders
  double cpu_s = 0;      // CPU time per sample
  double from_disk = 0;  // share of the bytes that came from a disk, as counted by the system
};
// The same bytes read three ways, each with the best number of concurrent reads.
struct Layouts {
  ReadRate as_they_lie;        // samples in random order, from the files as stored
  ReadRate one_file_shuffled;  // in the same order, from one file
  ReadRate one_file_in_order;  // from the start to the end of that file
};
struct Reading {
  uint64_t samples = 0, bytes = 0, files = 0;  // measured
  double samples_a_block = 1;                  // samples that come with each read
  // Even in random order, a block is read once for all of its samples: a loader has room for all blocks, or
  // copies samples out of files that are in memory.
  bool once_each = true;
  std::optional<Layouts> disk;  // if nearly all bytes came from a disk
  std::optional<Layouts> memory;
  std::string folder;         // of the one file, which is deleted
  bool on_same_disk = false;  // as the data
  std::string skipped;        // why nothing was measured, or nothing from the disk
};

// Samples to measure: kMeasuredSamples, more if they have less than kEnoughBytes, up to the maxima.
inline constexpr uint64_t kMeasuredSamples = 500, kMostMeasuredSamples = 20'000;
inline constexpr uint64_t kEnoughBytes = uint64_t{16} << 20, kMostMeasuredBytes = uint64_t{128} << 20;
// Fewer bytes are read too quickly to measure.
inline constexpr uint64_t kLeastBytes = uint64_t{4} << 20;

Reading measure_reading(const Source& source, const Look& look);

}  // namespace headrace::cli
