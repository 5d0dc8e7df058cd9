// A source whose samples are one int64 tensor each, computed from their position: shared by range and random.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "headrace/formats/format.h"

namespace headrace {

// `Numbers` has `size`, `shape()`, `write(index, out)`, `where(index)` and `describe()`.
template <class Numbers> class ComputedBlock final : public Block {
 public:
  explicit ComputedBlock(Numbers numbers) : numbers_(std::move(numbers)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= numbers_.size)
      return invalid(
          {.expected = "a row below " + std::to_string(numbers_.size), .got = std::to_string(row)});
    const Shape shape = numbers_.shape();
    auto buffer = HeapBuffer::make(std::max<size_t>(shape.size_bytes(DType::i64), 1));
    numbers_.write(row, buffer->mutable_data());
    fields.assign(1, {std::move(buffer), 0, DType::i64, shape, nullptr});
    return {};
  }
  bool gather(std::span<const uint64_t> rows, int, std::byte* out) const override {
    const size_t size = numbers_.shape().size_bytes(DType::i64);
    for (const uint64_t row : rows) numbers_.write(row, out), out += size;
    return true;
  }

 private:
  Numbers numbers_;
};

template <class Numbers> class ComputedSource final : public Source {
 public:
  explicit ComputedSource(const Numbers& numbers)
      : numbers_(numbers),
        schema_{{"value"}, {{DType::i64, numbers.shape()}}, "0"},
        block_(std::make_shared<ComputedBlock<Numbers>>(numbers)) {}

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return numbers_.size; }
  Place place(uint64_t index) const override { return {0, index}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t) const override { return ready(block_); }
  SamplePlace where(uint64_t index) const override { return numbers_.where(index); }
  bool resident() const override { return true; }
  std::string fingerprint() const override { return hash_text(describe().dump()); }
  Value describe() const override { return numbers_.describe(); }

 private:
  Numbers numbers_;
  Schema schema_;
  BlockPtr block_;
};

}  // namespace headrace
