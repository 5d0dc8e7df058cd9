// An excerpt of a run: what each thread did in some hundred milliseconds near the end, while all threads
// still had work. A small copy of the trace; names are formatted by value().
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/run/engine/track.h"
#include "headrace/run/measure/sample_names.h"

namespace headrace {

class Trace;

class Timeline {
 public:
  Timeline(const Trace& trace, std::shared_ptr<const SampleNames> names);

  bool empty() const { return tracks_.empty(); }
  // {from_s, to_s: since the iteration began, tracks: [{name, slices: [[begin_us, us, kind, times,
  // sample]]}]}, the consumer first; times since from_s. `kind` is "wait", "step", "samples", "finish" or
  // "read"; "python" replaces samples and finish where Python functions were called. `sample`: the first, or
  // null.
  Value value() const;

 private:
  struct Lane {
    std::string name;
    std::vector<Slice> slices;
  };
  uint64_t from_ns_ = 0, to_ns_ = 0;
  std::vector<Lane> tracks_;
  std::shared_ptr<const SampleNames> names_;
};

}  // namespace headrace
