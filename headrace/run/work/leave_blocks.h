// The outputs of a row wait for their batch and keep the blocks they are in: for shuffled rows, each keeps a
// row group of a table. If a batch of those would be too much, or memory is low, fields that are a small part
// of a block are copied out of it.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "headrace/core/pool.h"
#include "headrace/run/order/level.h"
#include "headrace/run/work/ticket.h"

namespace headrace {

// Fails only with `exhausted`, and then some fields are not copied.
Status leave_blocks(std::span<Sample> samples, Pool& pool);

// Copies strings of a batch made of many blocks, if they are a small part of their block, into shared memory.
// This class handles a few rows, as a block writes them.
class TextsThatLeave {
 public:
  static constexpr size_t kMostRows = 16;  // at a time
  explicit TextsThatLeave(Pool& pool) : pool_(pool) {}
  // The place for a block to write `rows` strings, which leave() moves to `to`.
  TextRows& begin(size_t rows, TextRows& to);
  // Does nothing without a begin().
  void leave();
  // Copies a single string.
  void leave(Tensor& text);

 private:
  // A copy; empty if there is no memory for it.
  std::optional<Text> copied(Text bytes);

  Pool& pool_;
  std::vector<Text> texts_;
  std::vector<TextOwner> owners_;
  std::optional<TextRows> rows_;
  TextRows* to_ = nullptr;
  BufferPtr buffer_;
  std::span<std::byte> left_;  // the free part of buffer_
};

// The same for the rows of a part: for samples only if the block holds a single row of the part, because
// otherwise others keep it anyway; for strings of a batch, those of a few rows.
class RowsThatLeave {
 public:
  RowsThatLeave(const Level& level, Part& part, Pool& pool)
      : level_(level), part_(part), pool_(pool), texts_(pool) {}
  void begin_row(size_t i);                 // before row i is run; in order
  Status leave(std::span<Sample> samples);  // the outputs of the row
  void leave(Tensor& text);                 // a string of the row, for a batch

 private:
  size_t num_in_block(size_t i) const;

  const Level& level_;
  Part& part_;
  Pool& pool_;
  TextsThatLeave texts_;
  const Block* block_ = nullptr;       // of the previous row, possibly released
  size_t row_ = 0, num_in_block_ = 0;  // the current row, and the number of rows in its block
};

}  // namespace headrace
