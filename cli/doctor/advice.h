// What would make training on this data faster on this machine: predictions from what was measured.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/containers.h"
#include "cli/doctor/pixels.h"
#include "cli/doctor/reading.h"

namespace headrace::cli {

struct Advice {
  std::string name;     // "one_file"
  std::string verdict;  // a sentence with the figures it rests on
  std::string how;      // the command or the line of Python; "" where there is nothing to do
  double part = 1;      // how much faster that part gets: reading, or decoding
  // How much faster samples come, with reading and decoding at the same time: while they are read from the
  // disk, and when they lie in memory, which they do from the second epoch on where they fit.
  double first_epoch = 1, later_epochs = 1;
  bool mends = false;  // samples are broken without it; it comes first

  static constexpr double kWorth = 1.1;  // what is less is no gain: measurements differ by as much
  bool is_worth_it() const { return first_epoch >= kWorth || later_epochs >= kWorth; }
  bool is_advised() const { return (mends || is_worth_it()) && !how.empty(); }
};

struct Machine {
  size_t cores = 0, memory = 0;  // bytes
};

struct Measured {
  Machine machine;
  double data_bytes = 0;   // of all samples, from those looked at
  double pixel_bytes = 0;  // of all images, decoded to RGB
  Reading reading;
  Containers containers;
  PixelCosts pixels;  // of no images where there are none
  // Samples a second that the cores and the disk give, for random crops where there are images; 0: not known.
  double cpu_rate = 0, disk_rate = 0;
  double cpu_rate_later = 0;      // from the second epoch on, with the entropy points found in the first
  std::string limit = "unknown";  // or "cpu" or "disk": the slower of the two in the first epoch
  std::string skipped;  // why nothing is said about reading's and decoding's CPU time; "" when it is
  std::vector<Advice> advice;

  bool is_too_little() const { return !skipped.empty() && !reading.disk && !reading.memory; }
};

// `input`: as the user gave it, for the commands.
Measured measure(const SourcePtr& source, const SampleReader& reader, const Look& look,
                 const InputArguments& input);

}  // namespace headrace::cli
