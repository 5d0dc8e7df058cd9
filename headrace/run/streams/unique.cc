#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "headrace/run/streams/one_child.h"
#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

// Appends every bit of a value, so that different values have different strings.
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

// Values of a fixed, small number of bytes, as one number.
struct Number {
  uint64_t value = 0;
  size_t size = 0;
  void append(std::span<const std::byte> bytes) {  // REQUIRES: room for them
    const size_t count = std::min(bytes.size(), sizeof value - size);
    std::memcpy(reinterpret_cast<std::byte*>(&value) + size, bytes.data(), count);
    size += count;
  }
};

bool has_few_bytes(const Schema& keys) {
  size_t bytes = 0;
  for (const TensorSpec& spec : keys.specs) {
    if (!spec.is_static() || is_text(spec.dtype) || spec.size_bytes() > sizeof(Number::value)) return false;
    bytes += spec.size_bytes();
  }
  return bytes <= sizeof(Number::value);
}

// An open-addressing hash set of numbers, less than half full: most keys need no memory of their own.
class NumberSet {
 public:
  bool insert(uint64_t number) {
    if (number == 0) return !std::exchange(has_zero_, true);
    if (2 * size_ >= places_.size()) grow();
    uint64_t& place = places_[place_of(number)];
    if (place == number) return false;
    place = number;
    ++size_;
    return true;
  }
  void clear() {
    places_.clear();
    size_ = 0, has_zero_ = false;
  }

 private:
  // The place where the number is, or would be.
  size_t place_of(uint64_t number) const {
    uint64_t hash = (number ^ seed_) * 0xBF58476D1CE4E5B9u;
    hash = (hash ^ (hash >> 31)) * 0x9E3779B97F4A7C15u;
    size_t at = hash >> std::countl_zero(places_.size() - 1);
    while (places_[at] != 0 && places_[at] != number) at = (at + 1) & (places_.size() - 1);
    return at;
  }
  void grow() {
    const std::vector<uint64_t> old =
        std::exchange(places_, std::vector<uint64_t>(std::max<size_t>(64, 2 * places_.size())));
    for (const uint64_t number : old)
      if (number != 0) places_[place_of(number)] = number;
  }

  std::vector<uint64_t> places_;  // a power of two of them; 0: free
  // Random, against crafted collisions; results do not depend on it.
  const uint64_t seed_ = uint64_t{std::random_device()()} << 32 | std::random_device()();
  size_t size_ = 0;
  bool has_zero_ = false;
};

// Remembers the keys of an epoch, which are the last values of each sample. A state does not contain them:
// they are read again, from the beginning of the epoch.
class UniqueStream final : public OneChild {
 public:
  UniqueStream(StreamPtr child, const Schema& keys)
      : OneChild(std::move(child)), values_(keys.size()), has_few_bytes_(has_few_bytes(keys)) {}

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
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    seen_.clear(), seen_numbers_.clear();
    pulled_ = replay_ = 0;
    child_->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override { cursor.push_back(pulled_); }
  void restore(CursorReader& cursor) override { pulled_ = replay_ = cursor.next(); }
  void describe(StateForm& form) const override {
    form.stream("unique");
    form.number("pulled", child_->most_elements());
  }

 private:
  // The keys of samples stored as columns, or of one sample.
  struct Column {
    Shape shape;  // of one
    size_t stride;
    const std::byte* data;
    std::span<const std::byte> of(size_t i) const { return {data + i * stride, stride}; }
  };
  static std::vector<Column> columns_of(std::span<const Tensor> keys) {
    std::vector<Column> out;
    for (const Tensor& key : keys) {
      const View view = key.view();
      out.push_back({view.shape, view.size_bytes(), view.data});
    }
    return out;
  }
  std::vector<Column> columns_of(const Rows& rows) const {
    std::vector<Column> out;
    for (const Tensor& column : std::span(rows.columns).last(values_)) {
      const Shape shape = column.shape.without_front();
      out.push_back({shape, shape.size_bytes(column.dtype), column.view().data});
    }
    return out;
  }

  // Keeps the new samples of each range; false if there are none.
  bool leave_new(Item& item) {
    std::vector<RowRange> all = std::exchange(item.ranges, {});
    for (const RowRange& range : all) {
      const std::shared_ptr<const Rows> narrow = narrowed_.of(range.rows, values_);
      const std::vector<Column> keys = columns_of(*range.rows);
      for (size_t i = range.first; i < range.first + range.count; ++i) {
        const bool again = replay_ > 0;
        again ? --replay_ : ++pulled_;
        if (!is_new(keys, i) || again) continue;
        RowRange* last = item.ranges.empty() ? nullptr : &item.ranges.back();
        if (last && last->rows == narrow && last->first + last->count == i)
          ++last->count;
        else
          item.ranges.push_back({narrow, i, 1});
      }
    }
    return !item.ranges.empty();
  }

  bool is_new(std::span<const Column> keys, size_t i) {
    if (has_few_bytes_) {
      Number number;
      for (const Column& key : keys) number.append(key.of(i));
      return seen_numbers_.insert(number.value);
    }
    std::string text;
    for (const Column& key : keys) append(key.shape, key.of(i), text);
    return seen_.insert(std::move(text)).second;
  }

  // Removes the key values from the sample.
  bool is_new(Sample& sample) {
    const std::vector<Tensor> keys(sample.fields.end() - static_cast<std::ptrdiff_t>(values_),
                                   sample.fields.end());
    sample.fields.resize(sample.fields.size() - values_);
    if (has_few_bytes_) return is_new(columns_of(keys), 0);
    std::string text;
    for (const Tensor& key : keys) append(key, text);
    return seen_.insert(std::move(text)).second;
  }

  size_t values_;
  bool has_few_bytes_;
  Narrowed narrowed_;
  std::unordered_set<std::string> seen_;
  NumberSet seen_numbers_;  // instead, of few bytes
  uint64_t pulled_ = 0;
  uint64_t replay_ = 0;  // of these, how many are still to be read again
};

}  // namespace

StreamPtr unique_stream(StreamPtr child, const Schema& keys) {
  return std::make_unique<UniqueStream>(std::move(child), keys);
}

}  // namespace headrace
