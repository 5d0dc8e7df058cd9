// The body of a record batch, or the buffers of it that were requested, in memory and decompressed.
#pragma once
#include <vector>

#include "headrace/formats/arrow/rows.h"

namespace headrace::arrow {

class Body {
 public:
  // `body`: all of it. In a compressed batch, the buffers of `columns` are decompressed.
  static Result<Body> whole(const std::vector<Column>& columns, const Batch& batch, Bytes body);
  // `stored`: the buffers that buffers_of() names.
  static Result<Body> parts(const std::vector<uint32_t>& buffers, const Batch& batch,
                            std::vector<Bytes> stored);

  Result<Bytes> cut(const Batch& batch, const Cut& cut) const;
  // Serves what `reader` requests until it requests no more.
  Result<std::vector<Values>> read(const Batch& batch, RowsReader reader) const;
  size_t held() const { return held_; }

 private:
  Bytes all_;                      // for a batch without compression
  std::vector<uint32_t> buffers_;  // else these, in order
  std::vector<Bytes> parts_;
  size_t held_ = 0;
};

// The part of a buffer that `cut` describes, in the batch's body; an error if it is not inside.
Result<Piece> piece_of(const Batch& batch, const Cut& cut);

}  // namespace headrace::arrow
