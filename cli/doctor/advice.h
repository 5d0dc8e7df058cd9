// What would make training on this data faster on this machine: predictions from measurements.
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
  std::string verdict;  // a sentence with the figures behind it
  std::string how;      // the command or the line of Python; "" if there is nothing to do
  double part = 1;      // how much faster that part gets: reading, or decoding
  // How much faster samples come overall, with reading and decoding in parallel: while they are read from the
  // disk, and from the second epoch on, when they are in memory if they fit.
  double first_epoch = 1, later_epochs = 1;
  bool mends = false;  // samples are broken without it; it comes first

  static constexpr double kWorth = 1.1;  // less is not a gain: measurements vary by as much
  bool is_worth_it() const { return first_epoch >= kWorth || later_epochs >= kWorth; }
  bool is_advised() const { return (mends || is_worth_it()) && !how.empty(); }
};

struct Machine {
  size_t cores = 0, memory = 0;  // bytes
};

struct Measured {
  Machine machine;
  double data_bytes = 0;   // of all samples, estimated from those looked at
  double pixel_bytes = 0;  // of all images, decoded to RGB
  Reading reading;
  Containers containers;
  PixelCosts pixels;  // pixels.images is 0 if there are none
  // Samples per second that the cores and the disk can give, for random crops of images; 0: not known.
  double cpu_rate = 0, disk_rate = 0;
  double cpu_rate_later = 0;      // from the second epoch on, with the entropy points found in the first
  std::string limit = "unknown";  // or "cpu" or "disk": the slower of the two in the first epoch
  std::string skipped;  // why there is no advice about the CPU time of reading and decoding; "" if there is
  std::vector<Advice> advice;

  bool is_too_little() const { return !skipped.empty() && !reading.disk && !reading.memory; }
};

// `input`: as given by the user, for the suggested commands.
Measured measure(const SourcePtr& source, const SampleReader& reader, const Look& look,
                 const InputArguments& input);

}  // namespace headrace::cli
