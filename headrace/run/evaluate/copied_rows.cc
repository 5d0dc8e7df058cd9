#include "headrace/run/evaluate/copied_rows.h"

#include <algorithm>
#include <cstring>

#include "headrace/core/consecutive.h"
#include "headrace/core/row_list.h"
#include "headrace/core/saturate.h"
#include "headrace/run/evaluate/collate.h"

namespace headrace {
namespace {

constexpr size_t kColumnAt = 64;  // alignment of pool memory, and of each column

}  // namespace

struct CopiedRows::Fields {
  std::vector<TensorSpec> specs;
  MutableBufferPtr values;  // of all columns of fixed size
  struct Field {
    size_t at = 0;  // in `values`
    std::vector<Text> texts;
    std::vector<TextOwner> owners;
    std::vector<Tensor> tensors;
  };
  std::vector<Field> fields;
  std::vector<TextRows> text_rows;  // only while rows are written
};

// Columns of values, strings, or tensors.
class CopiedRows::AsBlock final : public Block {
 public:
  AsBlock(std::unique_ptr<const Fields> fields, size_t rows) : fields_(std::move(fields)), rows_(rows) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= rows_)
      return invalid("row must be below " + std::to_string(rows_) + ", got " + std::to_string(row));
    fields.resize(fields_->specs.size());
    for (size_t f = 0; f < fields.size(); ++f) fields[f] = tensor(f, row);
    return {};
  }

  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    const bool are_there = std::ranges::all_of(rows, [&](uint64_t row) { return row < rows_; });
    if (!are_there || to.size() != fields_->specs.size()) return 0;
    for (size_t f = 0; f < to.size(); ++f) put_field(f, rows, to[f]);
    return rows.size();
  }

 private:
  void put_field(size_t f, std::span<const uint64_t> rows, const FieldPlace& to) const {
    const Fields::Field& field = fields_->fields[f];
    if (to.values) {
      const size_t size = fields_->specs[f].size_bytes();
      const std::byte* const from = fields_->values->data() + field.at;
      for (size_t n = 0, run = 0; n < rows.size() && size > 0; n += run) {
        run = num_consecutive(rows.subspan(n));
        std::memcpy(to.values + n * size, from + rows[n] * size, run * size);
      }
      return;
    }
    for (size_t n = 0; n < rows.size(); ++n)
      if (to.texts && !field.texts.empty())
        to.texts->set(n, owner(field, rows[n]), field.texts[rows[n]]);
      else
        to.share(n, tensor(f, rows[n]));
  }

  static const BufferPtr& owner(const Fields::Field& field, uint64_t row) {
    return std::ranges::upper_bound(field.owners, row, {}, &TextOwner::first)[-1].buffer;
  }

  Tensor tensor(size_t f, uint64_t row) const {
    const TensorSpec& spec = fields_->specs[f];
    const Fields::Field& field = fields_->fields[f];
    if (!field.tensors.empty()) return field.tensors[row];
    if (field.texts.empty())
      return {fields_->values, field.at + row * spec.size_bytes(), spec.dtype, spec.shape, nullptr};
    const BufferPtr& buffer = owner(field, row);
    const Text text = field.texts[row];
    return {buffer, static_cast<size_t>(text.data() - buffer->data()), spec.dtype,
            Shape{static_cast<int64_t>(text.size())}, nullptr};
  }

  std::unique_ptr<const Fields> fields_;
  size_t rows_;
};

CopiedRows::CopiedRows(std::unique_ptr<Fields> fields) : fields_(std::move(fields)) {}
CopiedRows::~CopiedRows() = default;
CopiedRows::CopiedRows(CopiedRows&&) noexcept = default;

std::optional<CopiedRows> CopiedRows::make(const Schema& schema, size_t rows, Pool& pool) {
  CopiedRows out(std::make_unique<Fields>());
  Fields& all = *out.fields_;
  all.specs = schema.specs;
  all.fields.resize(schema.size());
  out.places_.resize(schema.size());
  all.text_rows.reserve(schema.size());
  uint64_t size = 0;
  for (size_t f = 0; f < schema.size(); ++f) {
    const TensorSpec& spec = all.specs[f];
    Fields::Field& field = all.fields[f];
    FieldPlace& place = out.places_[f];
    place.spec = &spec;
    if (spec.is_static()) {
      field.at = size;
      size = saturating_add(
          size, saturating_mul(saturating_mul(rows, spec.size_bytes()) / kColumnAt + 1, kColumnAt));
    } else if (are_texts(spec)) {
      field.texts.resize(rows);
      place.texts = &all.text_rows.emplace_back(field.texts.data(), 0, field.owners);
    } else {
      field.tensors.resize(rows);
      place.tensors = field.tensors.data();
    }
  }
  if (size > 0) all.values = pool.take(size, Use::encoded);
  if (size > 0 && !all.values) return std::nullopt;
  for (size_t f = 0; f < schema.size(); ++f)
    if (all.specs[f].is_static()) out.places_[f].values = all.values->mutable_data() + all.fields[f].at;
  return out;
}

BlockPtr CopiedRows::finish(size_t rows) && { return std::make_shared<AsBlock>(std::move(fields_), rows); }

}  // namespace headrace
