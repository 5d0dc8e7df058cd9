#include "python/src/sequence.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headrace/formats/described.h"
#include "headrace/run/measure/counters.h"
#include "python/src/arrays/leaves.h"
#include "python/src/arrays/tensors.h"
#include "python/src/base/errors.h"
#include "python/src/base/gil.h"

namespace headrace::python {
namespace {

// Limits for the items that are requested in a row while holding the lock: bytes and time.
constexpr size_t kMostBytes = 64 << 10;
constexpr uint64_t kMostNs = 1'000'000;
constexpr size_t kValueAlign = 8;  // alignment of the copied values

// Rows of a sequence, or why a row failed.
class ItemsBlock final : public Block {
 public:
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= rows_.size()) return invalid("sequence: has no row " + std::to_string(row));
    if (!rows_[row].failure.ok()) return rows_[row].failure;
    fields = rows_[row].fields;
    return {};
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    return put_each(*this, rows, to);
  }
  size_t held_bytes() const override { return copied_.size() + shared_bytes_; }

  size_t num_rows() const { return rows_.size(); }
  // While it is built, with the GIL held.
  void fail(Status failure) { rows_.push_back({{}, std::move(failure)}); }
  void add(const Leaves& leaves) {
    std::vector<Tensor> fields;
    fields.reserve(leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i)
      fields.push_back(leaves.is_small(i) ? copied(leaves.view(i)) : to_tensor(leaves.leaf(i)));
    for (const Tensor& field : fields) shared_bytes_ += field.buffer ? field.buffer->size() : 0;
    rows_.push_back({std::move(fields), {}});
  }
  void finish() {
    const MutableBufferPtr buffer = HeapBuffer::make(std::max<size_t>(copied_.size(), 1));
    if (!copied_.empty()) std::memcpy(buffer->mutable_data(), copied_.data(), copied_.size());
    for (Row& row : rows_)
      for (Tensor& field : row.fields)
        if (!field.buffer) field.buffer = buffer;
  }

 private:
  struct Row {
    std::vector<Tensor> fields;
    Status failure;
  };
  Tensor copied(const View& view) {
    const size_t at = (copied_.size() + kValueAlign - 1) / kValueAlign * kValueAlign,
                 size = view.size_bytes();
    copied_.resize(at + size);
    if (size > 0) std::memcpy(copied_.data() + at, view.data, size);
    return {nullptr, at, view.dtype, view.shape, nullptr};
  }

  std::vector<Row> rows_;
  std::vector<std::byte> copied_;
  size_t shared_bytes_ = 0;
};

// The Python side of a sequence. REQUIRES: the GIL is held.
struct Items {
  nb::object items;    // by position
  nb::object convert;  // (item, index) -> the list of its leaves
  Nest nest;
};
std::shared_ptr<const Items> shared_items(Items&& items) {
  return {new Items(std::move(items)), [](const Items* held) {
            const Gil gil;
            in_python([&] { delete held; });
          }};
}

class SequenceSource final : public Source {
 public:
  SequenceSource(Schema schema, uint64_t size, std::string slot, Items items)
      : schema_(std::move(schema)),
        size_(size),
        slot_(std::move(slot)),
        items_(shared_items(std::move(items))) {}

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return size_; }
  Place place(uint64_t index) const override { return {index, 0}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t index) const override;
  Made make(std::span<const uint64_t> indices) const override {
    auto out = std::make_shared<ItemsBlock>();
    const Gil gil;
    const uint64_t begin = now_ns();
    Leaves leaves(items_->nest, schema_.specs);
    for (const uint64_t index : indices) {
      Status status = add(index, leaves, *out);
      if (!status.ok()) out->fail(std::move(status));
      if (out->held_bytes() >= kMostBytes || now_ns() - begin >= kMostNs) break;
    }
    out->finish();
    return {out, out->num_rows()};
  }
  SamplePlace where(uint64_t) const override { return {"", slot_}; }
  Value describe() const override {
    Value out;
    out.set("format", "sequence");
    out.set("slot", slot_);
    describe_schema(schema_, out);
    return out;
  }
  // Without the contents of the items: that would need reading all of them.
  std::string fingerprint() const override {
    return hash_text("sequence " + slot_ + ' ' + schema_.stable_text() + schema_.structure + ' ' +
                     std::to_string(size_));
  }

 private:
  Status add(uint64_t index, Leaves& leaves, ItemsBlock& out) const {
    try {
      const nb::object number = nb::steal(PyLong_FromUnsignedLongLong(index));
      const nb::object item =
          nb::steal(in_python([&] { return PyObject_GetItem(items_->items.ptr(), number.ptr()); }));
      if (!item.is_valid()) throw nb::python_error();
      leaves.read(item, [&](const nb::object& value) {
        return in_python([&] { return items_->convert(value, number); });
      });
      Status status = check(leaves);
      if (status.ok()) out.add(leaves);
      leaves.clear();
      return status;
    } catch (nb::python_error& error) {
      return foreign(error, slot_);
    } catch (const std::exception& error) {
      return invalid(slot_ + ": " + error.what());
    }
  }
  Status check(const Leaves& leaves) const {
    if (leaves.size() != schema_.size())
      return invalid({.expected = std::to_string(schema_.size()) + " fields",
                      .got = std::to_string(leaves.size())})
          .before(slot_ + ": ");
    for (size_t i = 0; i < leaves.size(); ++i)
      if (const TensorSpec got = leaves.view(i).spec(); !schema_.specs[i].admits(got))
        return invalid({.expected = schema_.specs[i].text() + " as in item 0", .got = got.text()})
            .before(slot_ + ": field '" + schema_.names[i] + "': ");
    return {};
  }

  Schema schema_;
  uint64_t size_;
  std::string slot_;
  std::shared_ptr<const Items> items_;
};

// Opens one item; there are no bytes to read.
class ItemOpening final : public Opening<BlockPtr> {
 public:
  ItemOpening(const SequenceSource& source, uint64_t index) : source_(source), index_(index) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr>) override {
    BlockPtr block = source_.make({&index_, 1}).block;
    std::vector<Tensor> fields;
    HEADRACE_TRY(block->get(0, fields));
    return Step<BlockPtr>(std::move(block));
  }

 private:
  const SequenceSource& source_;  // outlives its openings
  uint64_t index_;
};

std::unique_ptr<Opening<BlockPtr>> SequenceSource::open(uint64_t index) const {
  return std::make_unique<ItemOpening>(*this, index);
}

}  // namespace

SourcePtr sequence_source(Schema schema, uint64_t size, std::string slot, nb::object items,
                          nb::object convert) {
  Nest nest(schema.structure);
  return std::make_shared<SequenceSource>(std::move(schema), size, std::move(slot),
                                          Items{std::move(items), std::move(convert), std::move(nest)});
}

}  // namespace headrace::python
