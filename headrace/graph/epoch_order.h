// A user's order of a dataset: a list of positions for each epoch, from a function or a sampler. Immutable;
// the engine asks for an epoch before it begins.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/value.h"

namespace headrace {

class EpochOrder {
 public:
  virtual ~EpochOrder() = default;
  virtual uint64_t size() const = 0;  // positions of each epoch
  virtual Result<std::vector<int64_t>> positions(uint64_t epoch) const = 0;
  virtual Value describe() const = 0;  // for plans: the slot that it must be bound to again
};
using EpochOrderPtr = std::shared_ptr<const EpochOrder>;

}  // namespace headrace
