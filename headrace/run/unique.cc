#include <string>
#include <unordered_set>

#include "headrace/run/one_child.h"

namespace headrace {
namespace {

// Every bit of a value, so that different values have different texts.
void append(const Tensor& value, std::string& out) {
  const auto number = [&](uint64_t n) { out.append(reinterpret_cast<const char*>(&n), sizeof n); };
  number(static_cast<uint64_t>(value.shape.rank()));
  for (const int64_t dim : value.shape.dims()) number(static_cast<uint64_t>(dim));
  if (value.is_ragged()) {
    for (const Tensor& row : *value.rows) append(row, out);
    return;
  }
  const auto bytes = value.view().bytes();
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Remembers the keys of an epoch, the last `values` of each sample. A state does not hold them: they are read
// again, from the beginning of the epoch.
class UniqueStream final : public OneChild {
 public:
  UniqueStream(StreamPtr child, size_t values) : OneChild(std::move(child)), values_(values) {}

  Pull pull(Item& out, Status& failure) override {
    while (true) {
      const Pull pulled = child_->pull(out, failure);
      if (pulled != Pull::item) return pulled;
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
  bool is_new(Sample& sample) {
    std::string key;
    const size_t first = sample.fields.size() - values_;
    for (size_t i = first; i < sample.fields.size(); ++i) append(sample.fields[i], key);
    sample.fields.resize(first);
    return seen_.insert(std::move(key)).second;
  }

  size_t values_;
  std::unordered_set<std::string> seen_;
  uint64_t pulled_ = 0;
  uint64_t replay_ = 0;  // of these, still to be read again
};

}  // namespace

StreamPtr unique_stream(StreamPtr child, size_t key_values) {
  return std::make_unique<UniqueStream>(std::move(child), key_values);
}

}  // namespace headrace
