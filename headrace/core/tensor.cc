#include "headrace/core/tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "headrace/core/row_list.h"

namespace headrace {

bool Shape::is_static() const {
  for (int64_t d : dims())
    if (d == kAny) return false;
  return true;
}

int64_t Shape::count() const {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  uint64_t n = 1;
  bool empty = false;  // a dimension of 0 makes the product 0
  for (int64_t d : dims()) n = saturating_mul(n, static_cast<uint64_t>(d)), empty = empty || d == 0;
  return empty ? 0 : static_cast<int64_t>(std::min(n, kMost));
}

Shape Shape::with_front(int64_t dim) const {
  Shape out;
  out.dims_[static_cast<size_t>(out.rank_++)] = dim;
  for (int64_t d : dims()) out.dims_[static_cast<size_t>(out.rank_++)] = d;
  return out;
}

Shape Shape::without_front() const { return Shape(dims().subspan(1)); }

std::string Shape::text() const {
  std::string out = "(";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) out += ", ";
    out += (*this)[i] == kAny ? "?" : std::to_string((*this)[i]);
  }
  return out + ")";
}

namespace {

std::string spec_text(std::string_view dtype, const TensorSpec& spec) {
  return std::string(dtype) + (is_text(spec.dtype) ? "" : " " + spec.shape.text());
}

}  // namespace

std::string TensorSpec::text() const { return spec_text(dtype_name(dtype), *this); }
std::string TensorSpec::stable_text() const { return spec_text(short_name(dtype), *this); }

bool TensorSpec::admits(const TensorSpec& actual) const {
  if (dtype != actual.dtype || shape.rank() != actual.shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] != kAny && shape[i] != actual.shape[i]) return false;
  return true;
}

size_t Tensor::size_bytes() const {
  if (!is_ragged()) return view().size_bytes();
  size_t bytes = 0;
  for (const Text& text : rows->texts()) bytes += text.size();
  if (!rows->texts().empty()) return bytes;
  for (const Tensor& row : *rows) {
    const bool is_run = !row.rows && row.shape.rank() == 1;  // strings, of which there may be many
    bytes += is_run ? static_cast<size_t>(row.shape[0]) * size_of(row.dtype) : row.size_bytes();
  }
  return bytes;
}

Tensor make_tensor(View view) {
  auto buffer = HeapBuffer::make(view.size_bytes());
  if (view.size_bytes() > 0) std::memcpy(buffer->mutable_data(), view.data, view.size_bytes());
  return {std::move(buffer), 0, view.dtype, view.shape, nullptr};
}

Tensor scalar(int64_t value) {
  return make_tensor({DType::i64, {}, reinterpret_cast<const std::byte*>(&value)});
}

Tensor scalar(double value) {
  return make_tensor({DType::f64, {}, reinterpret_cast<const std::byte*>(&value)});
}

Tensor text_tensor(std::string_view text, DType dtype) {
  return make_tensor(
      {dtype, {static_cast<int64_t>(text.size())}, reinterpret_cast<const std::byte*>(text.data())});
}

}  // namespace headrace
