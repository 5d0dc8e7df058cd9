// Memory that is of use, but not needed.
#pragma once

namespace headrace {

class ReclaimableMemory {
 public:
  // Nothing can go on for want of memory: whether there is more now. It may not call the executor.
  virtual bool reclaim() = 0;

 protected:
  ~ReclaimableMemory() = default;
};

}  // namespace headrace
