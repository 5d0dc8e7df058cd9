// Names of samples: reports and traces store numbers and look up names on demand.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "headrace/core/status.h"

namespace headrace {

class Source;
struct LeafPlan;
struct Position;
struct Level;

// A sample of a read.
struct SampleRef {
  uint32_t read = 0;  // ordinal of the read in the user's graph
  uint64_t index = 0;
  bool operator==(const SampleRef&) const = default;
};

// A sample as messages name it: "sample 17 of photos/cat/3.jpg"; of a batch or zip, "batch 3".
std::string name_of(const Source& source, uint64_t index);
std::string name_of(const LeafPlan& leaf, const Position& at);
// The error of that sample: ": sample 17 of photos/cat/3.jpg" behind its text.
Status of_sample(Status status, const LeafPlan& leaf, const Position& at);

// The names of the samples of a pipeline. Immutable once filled; keeps the sources alive.
class SampleNames {
 public:
  void add(const Level& level);
  // As in messages: "sample 17 of photos/cat/3.jpg".
  std::string of(const SampleRef& sample) const;

 private:
  std::map<uint32_t, std::shared_ptr<const Source>> sources_;
};

}  // namespace headrace
