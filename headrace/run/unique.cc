#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "headrace/run/one_child.h"

namespace headrace {
namespace {

// Every bit of a value, so that different values have different texts.
void append(const Shape& shape, std::span<const std::byte> bytes, std::string& out) {
  out.push_back(static_cast<char>(shape.rank()));
  for (const int64_t dim : shape.dims()) out.append(reinterpret_cast<const char*>(&dim), sizeof dim);
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void append(const Tensor& value, std::string& out) {
  if (!value.is_ragged()) return append(value.shape, value.view().bytes(), out);
  append(value.shape, {}, out);
  for (const Tensor& row : *value.rows) append(row, out);
}

// Remembers the keys of an epoch, the last `values` of each sample. A state does not hold them: they are read
// again, from the beginning of the epoch.
class UniqueStream final : public OneChild {
 public:
  UniqueStream(StreamPtr child, size_t values) : OneChild(std::move(child)), values_(values) {}

  Pull pull(Item& out, Status& failure, uint64_t most) override {
    while (true) {
      const Pull pulled = child_->pull(out, failure, most);
      if (pulled != Pull::item) return pulled;
      if (!out.ranges.empty()) {
        if (leave_new(out)) return pulled;
        continue;
      }
      const bool again = replay_ > 0;
      again ? --replay_ : ++pulled_;
      if ((out.samples[0].failure || is_new(out.samples[0])) && !again) return pulled;
    }
  }
  void start(uint64_t epoch, uint32_t occurrence) override {
    seen_.clear();
    pulled_ = replay_ = 0;
    child_->start(epoch, occurrence);
  }
  void save(Cursor& cursor) const override { cursor.push_back(pulled_); }
  void restore(CursorReader& cursor) override { pulled_ = replay_ = cursor.next(); }

 private:
  // Of each range, what is new; false when that is nothing.
  bool leave_new(Item& item) {
    std::vector<RowRange> all = std::exchange(item.ranges, {});
    for (const RowRange& range : all) {
      const std::shared_ptr<const Rows> narrow = narrowed_.of(range.rows, values_);
      for (size_t i = range.first; i < range.first + range.count; ++i) {
        const bool again = replay_ > 0;
        again ? --replay_ : ++pulled_;
        if (!is_new(*range.rows, i) || again) continue;
        RowRange* last = item.ranges.empty() ? nullptr : &item.ranges.back();
        if (last && last->rows == narrow && last->first + last->count == i)
          ++last->count;
        else
          item.ranges.push_back({narrow, i, 1});
      }
    }
    return !item.ranges.empty();
  }

  bool is_new(const Rows& rows, size_t i) {
    std::string key;
    for (size_t k = rows.columns.size() - values_; k < rows.columns.size(); ++k) {
      const Tensor& column = rows.columns[k];
      const Shape shape = column.shape.without_front();
      const size_t stride = shape.size_bytes(column.dtype);
      append(shape, {column.view().data + i * stride, stride}, key);
    }
    return seen_.insert(std::move(key)).second;
  }

  bool is_new(Sample& sample) {
    std::string key;
    const size_t first = sample.fields.size() - values_;
    for (size_t i = first; i < sample.fields.size(); ++i) append(sample.fields[i], key);
    sample.fields.resize(first);
    return seen_.insert(std::move(key)).second;
  }

  size_t values_;
  Narrowed narrowed_;
  std::unordered_set<std::string> seen_;
  uint64_t pulled_ = 0;
  uint64_t replay_ = 0;  // of these, still to be read again
};

}  // namespace

StreamPtr unique_stream(StreamPtr child, size_t key_values) {
  return std::make_unique<UniqueStream>(std::move(child), key_values);
}

}  // namespace headrace
