// What one row became waits for its batch, and keeps the memory that it lies in: where rows are shuffled, a
// group of a table each. Where a batch of those would be too much, or memory is short, what is a small part
// of one is copied out of it.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "headrace/core/pool.h"
#include "headrace/run/order/level.h"
#include "headrace/run/work/ticket.h"

namespace headrace {

// Fails with `exhausted` alone, and then some are where they were.
Status leave_blocks(std::span<Sample> samples, Pool& pool);

// Texts of a batch that is made of many blocks: those that are a small part of what they lie in are copied,
// side by side. Here of a few rows, as a block puts them.
class TextsThatLeave {
 public:
  static constexpr size_t kMostRows = 16;  // at a time
  explicit TextsThatLeave(Pool& pool) : pool_(pool) {}
  // Where the block puts so many, which go to `to` when they leave.
  TextRows& begin(size_t rows, TextRows& to);
  // Nothing where none began.
  void leave();
  // A text of its own.
  void leave(Tensor& text);

 private:
  // Where a copy lies; nothing where there is no memory for it.
  std::optional<Text> copied(Text bytes);

  Pool& pool_;
  std::vector<Text> texts_;
  std::vector<TextOwner> owners_;
  std::optional<TextRows> rows_;
  TextRows* to_ = nullptr;
  BufferPtr buffer_;
  std::span<std::byte> left_;  // of it
};

// The same of the rows of a part: of samples, those that lie alone in their block, for others keep it all the
// same; of texts of a batch, those of a few rows.
class RowsThatLeave {
 public:
  RowsThatLeave(const Level& level, Part& part, Pool& pool)
      : level_(level), part_(part), pool_(pool), texts_(pool) {}
  void begin_row(size_t i);                 // before it is run; in their order
  Status leave(std::span<Sample> samples);  // what it became
  void leave(Tensor& text);                 // of it, for a batch

 private:
  size_t num_in_block(size_t i) const;

  const Level& level_;
  Part& part_;
  Pool& pool_;
  TextsThatLeave texts_;
  const Block* block_ = nullptr;       // of the row before, which is no longer there
  size_t row_ = 0, num_in_block_ = 0;  // of the block that it lies in
};

}  // namespace headrace
