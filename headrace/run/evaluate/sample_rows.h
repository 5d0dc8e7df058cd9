// Many small samples stored as columns, so that the overhead per sample is little more than its bytes.
#pragma once
#include <memory>
#include <vector>

#include "headrace/core/pool.h"
#include "headrace/core/sample.h"

namespace headrace {

struct SampleName {
  SampleId id;
  uint64_t shown_id = 0;
};

// SampleId::child of a row of a sample that is itself the child `parent`, or 0.
inline uint32_t child_number(uint32_t parent, int64_t row) {
  return parent << 16 | (static_cast<uint32_t>(row) + 1);
}
// Appends the names of the rows of one sample, in order.
void name_rows(SampleName name, int64_t rows, std::vector<SampleName>& out);

// Copies a dense field into memory of its own. False, without a change, when there is no room.
bool separate(Tensor& field, Pool& pool);

// Samples of one shape, except strings, and without failures.
struct Rows {
  std::vector<Tensor> columns;  // dense, or a list of strings; row i of each is a field of sample i
  std::shared_ptr<const std::vector<SampleName>> names;

  size_t size() const { return names->size(); }
  Sample sample(size_t i) const;  // shares the columns' bytes
};

// The same samples without their last columns; remembers the last result.
class Narrowed {
 public:
  std::shared_ptr<const Rows> of(const std::shared_ptr<const Rows>& rows, size_t columns);

 private:
  std::shared_ptr<const Rows> whole_, narrow_;
};

// A contiguous range of them.
struct RowRange {
  std::shared_ptr<const Rows> rows;
  size_t first = 0, count = 0;
};

}  // namespace headrace
