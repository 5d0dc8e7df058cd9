// What one row became waits for its batch, and keeps the memory that it lies in: where rows are shuffled, a
// group of a table each. Where a batch of those would be too much, or memory is short, what is a small part
// of one is copied out of it.
#pragma once
#include <span>

#include "headrace/core/pool.h"
#include "headrace/run/level.h"
#include "headrace/run/ticket.h"

namespace headrace {

// Fails with `exhausted` alone, and then some are where they were.
Status leave_blocks(std::span<Sample> samples, Pool& pool);

// The same of the rows of a part, those that lie alone in their block: others keep it all the same.
class RowsThatLeave {
 public:
  RowsThatLeave(const Level& level, Part& part, Pool& pool) : level_(level), part_(part), pool_(pool) {}
  void begin_row(size_t i);                 // before it is run; in their order
  Status leave(std::span<Sample> samples);  // what it became

 private:
  bool is_alone(size_t i) const;

  const Level& level_;
  Part& part_;
  Pool& pool_;
  const Block* block_ = nullptr;  // of the row before, which is no longer there
  size_t row_ = 0;
  bool is_alone_ = false;
};

}  // namespace headrace
