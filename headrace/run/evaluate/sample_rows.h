// Samples side by side: what small ones travel in, so that what is done to each costs little more than its
// bytes.
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
// Of the rows of one sample, in order.
void name_rows(SampleName name, int64_t rows, std::vector<SampleName>& out);

// A dense field goes into memory of its own. False, and it stays where it is, where there is no room.
bool separate(Tensor& field, Pool& pool);

// All of one shape, but for texts, and without failures.
struct Rows {
  std::vector<Tensor> columns;  // dense, or a list of texts; row i of each is a field of sample i
  std::shared_ptr<const std::vector<SampleName>> names;

  size_t size() const { return names->size(); }
  Sample sample(size_t i) const;  // shares the columns' bytes
};

// The same without their last columns; remembers the last answer.
class Narrowed {
 public:
  std::shared_ptr<const Rows> of(const std::shared_ptr<const Rows>& rows, size_t columns);

 private:
  std::shared_ptr<const Rows> whole_, narrow_;
};

// Some of them, one after the other.
struct RowRange {
  std::shared_ptr<const Rows> rows;
  size_t first = 0, count = 0;
};

}  // namespace headrace
