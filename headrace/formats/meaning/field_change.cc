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

namespace headrace {
namespace {

class ChangedBlock final : public Block {
 public:
  ChangedBlock(BlockPtr block, FieldChangesPtr changes)
      : block_(std::move(block)), changes_(std::move(changes)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    HEADRACE_TRY(block_->get(row, fields));
    for (size_t i = 0; i < fields.size(); ++i) {
      // What a null is read as has no unit and is no class.
      if (!changes_->changes[i] || block_->is_null(row, static_cast<int>(i))) continue;
      auto changed = changes_->changes[i](fields[i]);
      if (!changed.ok())
        return Status(changed.status()).before("field " + in_quotes(changes_->names[i]) + ": ");
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
  BlockPtr block_;
  FieldChangesPtr changes_;
};

}  // namespace

bool FieldChanges::any() const {
  return std::ranges::any_of(changes, [](const FieldChange& change) { return change != nullptr; });
}

FieldChangesPtr chosen(const FieldChangesPtr& changes, std::span<const int> fields) {
  if (!changes) return nullptr;
  FieldChanges out{chosen(changes->names, fields), chosen(changes->changes, fields)};
  return out.any() ? std::make_shared<const FieldChanges>(std::move(out)) : nullptr;
}

FieldChangesPtr one_after_other(const FieldChangesPtr& first, const FieldChangesPtr& second) {
  if (!first || !second) return first ? first : second;
  FieldChanges out = *first;
  for (size_t i = 0; i < out.changes.size(); ++i) {
    const FieldChange& then = second->changes[i];
    if (!out.changes[i])
      out.changes[i] = then;
    else if (then)
      out.changes[i] = [before = out.changes[i], then](const Tensor& value) -> Result<Tensor> {
        HEADRACE_ASSIGN(const Tensor between, before(value));
        return then(between);
      };
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

std::unique_ptr<Opening<BlockPtr>> with_changes(std::unique_ptr<Opening<BlockPtr>> opening,
                                                FieldChangesPtr changes) {
  if (!changes) return opening;
  return wrapped_block(std::move(opening), [changes = std::move(changes)](BlockPtr inner) {
    return std::make_shared<ChangedBlock>(std::move(inner), changes);
  });
}

}  // namespace headrace
