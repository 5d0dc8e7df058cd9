// Some rows of a record batch as fields: the bytes of its body that they need, and their values once these
// are read.
#pragma once
#include <vector>

#include "headrace/formats/arrow/compression.h"
#include "headrace/formats/arrow/message.h"
#include "headrace/formats/arrow/values.h"

namespace headrace::arrow {

// A part of one of the batch's buffers, after decompression.
struct Cut {
  uint32_t buffer = 0;
  uint64_t offset = 0, length = 0;
};

// Rows [first, first + count). Pass the bytes of what is `wanted` to `take`, until nothing is wanted.
class RowsReader {
 public:
  enum class Part { present, items_present, offsets, texts, views, behind, data };
  struct Wanted {
    Cut cut;
    size_t column;
    Part part;
    size_t behind = 0;  // which buffer behind the views
  };

  // REQUIRES: `columns` outlives this and the batch fits their layout.
  static Result<RowsReader> make(const std::vector<Column>& columns, const Batch& batch, uint64_t first,
                                 uint64_t count, const Dictionaries& dictionaries);
  const std::vector<Wanted>& wanted() const { return wanted_; }
  Status take(std::vector<Bytes> bytes);
  // REQUIRES: nothing is wanted.
  std::vector<Values> finish() && { return std::move(values_); }

 private:
  RowsReader(const std::vector<Column>& columns, const Batch& batch, uint64_t first, uint64_t count)
      : columns_(&columns), batch_(&batch), first_(first), count_(count) {}
  Status begin(const Column& column, const Dictionaries& dictionaries);
  bool is_made_beside(size_t column) const;
  Status set_all_null(size_t column);
  Status check_empty(size_t column);
  Status want_present(size_t column);
  Status want(size_t column, Part part, BufferAt at, uint64_t offset, uint64_t length);
  Status want_items_present(size_t column);
  Status want_items(size_t column);
  Status want_texts(size_t column);
  Status want_behind(size_t column);
  Status check_offsets(size_t column);
  Status take_texts(size_t column, const Bytes& texts);
  void settle(size_t column);

  const std::vector<Column>* columns_;
  const Batch* batch_;
  uint64_t first_, count_;
  uint64_t bytes_of_views_ = 0;
  std::vector<Values> values_;
  std::vector<Wanted> wanted_;
};

// The buffers that `columns` may ask for, in order, each once.
Result<std::vector<uint32_t>> buffers_of(const std::vector<Column>& columns, const Batch& batch);

}  // namespace headrace::arrow
