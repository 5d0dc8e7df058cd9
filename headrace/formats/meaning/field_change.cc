#include "headrace/formats/meaning/field_change.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headrace/core/little_endian.h"
#include "headrace/core/renumber.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/put_each.h"
#include "headrace/formats/wrapped_source.h"
#include "headrace/kernels/cast.h"

namespace headrace {
namespace {

class ChangedBlock final : public Block {
 public:
  ChangedBlock(BlockPtr block, FieldChangesPtr changes)
      : block_(std::move(block)), changes_(std::move(changes)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    HEADRACE_TRY(block_->get(row, fields));
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!changes_->changes[i] && !changes_->cast(i)) continue;
      auto changed = this->changed(i, fields[i], block_->is_null(row, static_cast<int>(i)));
      if (!changed.ok()) return Status(changed.status()).in_field(changes_->names[i]);
      fields[i] = *std::move(changed);
    }
    return {};
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    return put_each(*this, rows, to);
  }
  bool is_null(uint64_t row, int field) const override { return block_->is_null(row, field); }
  size_t held_bytes() const override { return block_->held_bytes(); }

 private:
  Result<Tensor> changed(size_t field, Tensor value, bool is_null) const {
    if (const FieldCast& cast = changes_->cast(field)) {
      HEADRACE_ASSIGN(value, cast(value, is_null));
    }
    // What a null is read as has no unit and is no class.
    const FieldChange& change = changes_->changes[field];
    return change && !is_null ? change(value) : Result<Tensor>(std::move(value));
  }

  BlockPtr block_;
  FieldChangesPtr changes_;
};

}  // namespace

bool FieldChanges::any() const {
  const auto is_one = [](const auto& change) { return change != nullptr; };
  return std::ranges::any_of(changes, is_one) || std::ranges::any_of(casts, is_one);
}

const FieldCast& FieldChanges::cast(size_t field) const {
  static const FieldCast none;
  return field < casts.size() ? casts[field] : none;
}

FieldChangesPtr chosen(const FieldChangesPtr& changes, std::span<const int> fields) {
  if (!changes) return nullptr;
  FieldChanges out{chosen(changes->names, fields), chosen(changes->changes, fields)};
  if (!changes->casts.empty()) out.casts = chosen(changes->casts, fields);
  return out.any() ? std::make_shared<const FieldChanges>(std::move(out)) : nullptr;
}

FieldChangesPtr one_after_other(const FieldChangesPtr& first, const FieldChangesPtr& second) {
  if (!first || !second) return first ? first : second;
  FieldChanges out = *first;
  out.casts.resize(out.changes.size());
  for (size_t i = 0; i < out.changes.size(); ++i) {
    const FieldChange& then = second->changes[i];
    const FieldCast& cast = second->cast(i);
    if (!out.changes[i]) {
      out.changes[i] = then;
      if (cast) out.casts[i] = cast;
    } else if (then || cast) {
      out.changes[i] = [before = out.changes[i], cast, then](const Tensor& value) -> Result<Tensor> {
        HEADRACE_ASSIGN(Tensor between, before(value));
        if (cast) {
          HEADRACE_ASSIGN(between, cast(between, false));
        }
        return then ? then(between) : Result<Tensor>(std::move(between));
      };
    }
  }
  return std::make_shared<const FieldChanges>(std::move(out));
}

FieldChange in_unit(int64_t factor, const std::string& from, const std::string& to) {
  return [factor, from, to](const Tensor& value) -> Result<Tensor> {
    const View view = value.view();
    const MutableBufferPtr out = HeapBuffer::make(view.size_bytes());
    for (int64_t i = 0; i < view.shape.count(); ++i) {
      const auto at = static_cast<size_t>(i) * sizeof(int64_t);
      const auto number = load<int64_t>(view.data + at);
      int64_t product = 0;
      if (__builtin_mul_overflow(number, factor, &product))
        return corrupt(std::to_string(number) + " as " + from + " is beyond the range of " + to +
                       ", the unit of this data set");
      std::memcpy(out->mutable_data() + at, &product, sizeof product);
    }
    return Tensor{out, 0, value.dtype, value.shape, nullptr};
  };
}

FieldChange renumbered(std::vector<int64_t> numbers) {
  return [numbers = std::move(numbers)](const Tensor& value) -> Result<Tensor> {
    const View view = value.view();
    const MutableBufferPtr out = HeapBuffer::make(view.size_bytes());
    if (auto wrong = renumber(view, numbers, out->mutable_data())) return corrupt(*std::move(wrong));
    return Tensor{out, 0, value.dtype, value.shape, nullptr};
  };
}

FieldCast in_dtype(DType dtype) {
  return [dtype](const Tensor& value, bool) -> Result<Tensor> {
    const View view = value.view();
    const MutableBufferPtr out = HeapBuffer::make(view.shape.size_bytes(dtype));
    kernels::cast(view.dtype, view.data, view.shape.count(), dtype, out->mutable_data());
    return Tensor{out, 0, dtype, value.shape, nullptr};
  };
}

FieldCast of_nulls(TensorSpec spec, Nulls nulls) {
  return [spec, nulls](const Tensor& value, bool is_null) -> Result<Tensor> {
    if (is_null) return read_as(nulls, spec);
    if (value.shape.count() > 0)
      return corrupt({.expected = "nulls only, as the file's type says", .got = "a value"});
    return read_as(Nulls::zero, spec);
  };
}

std::unique_ptr<Opening<BlockPtr>> with_changes(std::unique_ptr<Opening<BlockPtr>> opening,
                                                FieldChangesPtr changes) {
  if (!changes) return opening;
  return wrapped_block(std::move(opening), [changes = std::move(changes)](BlockPtr inner) {
    return std::make_shared<ChangedBlock>(std::move(inner), changes);
  });
}

}  // namespace headrace
