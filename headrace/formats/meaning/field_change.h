// Values of fields changed as they are read: to the unit, the class numbers or the decoded form that holds
// for the whole data set. Immutable; any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/nulls.h"
#include "headrace/formats/source.h"

namespace headrace {

// Null: the field stays as it is. An error is one of the sample, without the field's name.
using FieldChange = std::function<Result<Tensor>(const Tensor& value)>;
// The same for a value or what a null is read as, into another dtype.
using FieldCast = std::function<Result<Tensor>(const Tensor& value, bool is_null)>;

struct FieldChanges {
  std::vector<std::string> names;
  std::vector<FieldChange> changes;   // one per field; of values that are not null
  std::vector<FieldCast> casts = {};  // before these; one per field, or empty

  bool any() const;
  const FieldCast& cast(size_t field) const;
};
using FieldChangesPtr = std::shared_ptr<const FieldChanges>;  // null: none
// Those of the selected fields.
FieldChangesPtr chosen(const FieldChangesPtr& changes, std::span<const int> fields);

// `first`, and then `second`. REQUIRES: `first` has no casts, and no nulls where it has changes.
FieldChangesPtr one_after_other(const FieldChangesPtr& first, const FieldChangesPtr& second);

// Multiplies int64; a product beyond int64 is an error that names both types.
FieldChange in_unit(int64_t factor, const std::string& from, const std::string& to);
// Replaces class number i by numbers[i]. -1 stays: it says that there is no label. REQUIRES: an integer
// dtype, which holds all of `numbers`.
FieldChange renumbered(std::vector<int64_t> numbers);

// Numbers in a wider dtype. REQUIRES: it holds all of them.
FieldCast in_dtype(DType dtype);
// For fields without values: nulls are read as `spec` and this rule say; an empty list is an empty array.
FieldCast of_nulls(TensorSpec spec, Nulls nulls);

// The same rows with these changes; returns `opening` itself if there are none.
std::unique_ptr<Opening<BlockPtr>> with_changes(std::unique_ptr<Opening<BlockPtr>> opening,
                                                FieldChangesPtr changes);

}  // namespace headrace
