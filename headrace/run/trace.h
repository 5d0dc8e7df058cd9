// A Chrome/Perfetto trace: one track per worker, one slice per piece of work. Thread-safe; written once at
// the end.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/run/stage.h"

namespace headrace {

class Trace {
 public:
  explicit Trace(std::string path);
  void add(bool reads, size_t number, uint64_t begin_ns, uint64_t end_ns, const Work& work);
  Status write() const;  // JSON that chrome://tracing and ui.perfetto.dev open

 private:
  struct Slice {
    uint64_t begin, end, ticket;
    size_t number, part;
    bool io, finish;
  };
  std::string path_;
  mutable std::mutex mutex_;
  std::vector<Slice> slices_;  // guarded by mutex_; at most kMaxSlices
};

}  // namespace headrace
