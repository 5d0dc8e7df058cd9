// Memory that is useful but can be released, such as caches.
#pragma once

namespace headrace {

class ReclaimableMemory {
 public:
  // Called when the run cannot continue for lack of memory. Returns whether memory was released. Must not
  // call the executor.
  virtual bool reclaim() = 0;

 protected:
  ~ReclaimableMemory() = default;
};

}  // namespace headrace
