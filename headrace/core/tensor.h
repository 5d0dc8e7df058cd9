// Shapes, specs, views and tensors: how a field of a sample is described and stored.
//
// A TensorSpec is known when a graph is built (a dimension may be kAny), a View borrows bytes for the
// duration of one call, a Tensor shares ownership of its bytes. All are values.
#pragma once
#include <array>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/core/dtype.h"
#include "headrace/core/saturate.h"

namespace headrace {

inline constexpr int64_t kAny = -1;  // a dimension that differs between samples
inline constexpr int kMaxRank = 8;

class Shape {  // up to eight dimensions, no heap
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {  // REQUIRES: at most kMaxRank dimensions
    for (int64_t d : dims) dims_[static_cast<size_t>(rank_++)] = d;
  }
  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  void set(int i, int64_t dim) { dims_[static_cast<size_t>(i)] = dim; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  bool is_static() const;
  // Product of the dimensions; the largest int64 when it is larger. REQUIRES: no dimension is negative.
  int64_t count() const;
  // Bytes of that many elements, or the largest size_t if that overflows, which exceeds every budget.
  size_t size_bytes(DType dtype) const {
    return saturating_mul(static_cast<uint64_t>(count()), size_of(dtype));
  }
  Shape with_front(int64_t dim) const;  // (dim, ...this); REQUIRES: rank() < kMaxRank
  Shape without_front() const;          // REQUIRES: rank() > 0
  bool operator==(const Shape&) const = default;
  std::string text() const;  // "(224, 224, 3)", kAny as "?"

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int8_t rank_ = 0;
};

struct TensorSpec {
  DType dtype = DType::u8;
  Shape shape;
  bool operator==(const TensorSpec&) const = default;
  bool is_static() const { return !is_text(dtype) && shape.is_static(); }
  size_t size_bytes() const { return shape.size_bytes(dtype); }  // REQUIRES: is_static shape
  std::string text() const;                                      // "uint8 (?, ?, 3)"
  std::string stable_text() const;  // "u8 (?, ?, 3)": for fingerprints and keys, never for messages
  bool admits(const TensorSpec& actual) const;  // same dtype and rank, every known dimension equal
};

// Borrowed bytes of a dense C-order tensor; valid during the call that hands it over.
struct View {
  DType dtype = DType::u8;
  Shape shape;
  const std::byte* data = nullptr;
  template <class T> const T* as() const { return reinterpret_cast<const T*>(data); }
  size_t size_bytes() const { return shape.size_bytes(dtype); }
  TensorSpec spec() const { return {dtype, shape}; }
  std::span<const std::byte> bytes() const { return {data, size_bytes()}; }
};

struct MutView {
  DType dtype = DType::u8;
  Shape shape;
  std::byte* data = nullptr;
  template <class T> T* as() const { return reinterpret_cast<T*>(data); }
  size_t size_bytes() const { return shape.size_bytes(dtype); }
  operator View() const { return {dtype, shape, data}; }
};

class RowList;

// Bytes with an owner. Copying shares them; they are not written again once a Tensor holds them.
struct Tensor {
  BufferPtr buffer;
  size_t offset = 0;
  DType dtype = DType::u8;
  Shape shape;
  // A ragged batch: one tensor per row, shapes differ; `shape` is then (rows) and `buffer` empty.
  std::shared_ptr<const RowList> rows;

  View view() const { return {dtype, shape, buffer ? buffer->data() + offset : nullptr}; }
  bool is_ragged() const { return rows != nullptr; }
  size_t size_bytes() const;  // of all rows, where it is ragged
};

// Owning copies for constants, tests and small results.
Tensor make_tensor(View view);
Tensor scalar(int64_t value);
Tensor scalar(double value);  // float64
Tensor text_tensor(std::string_view text, DType dtype = DType::str);

}  // namespace headrace
