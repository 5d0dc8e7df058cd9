// Memory that is of use, but not needed.
#pragma once

namespace headrace {

class LastResort {
 public:
  // Nothing can go on for want of memory: whether there is more now. It may not call the executor.
  virtual bool give_up() = 0;

 protected:
  ~LastResort() = default;
};

}  // namespace headrace
