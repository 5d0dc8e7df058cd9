// An element as bytes: 4 bytes for the number of tensors, then each tensor: 1 dtype, 1 rank, 1 whether it has
// rows, 8 per dimension; then, with rows, 4 for their number and the rows, otherwise its bytes at the next
// multiple of 64. Little-endian.
#include <cstring>

#include "headrace/core/cache/element_cache.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/row_list.h"

namespace headrace {
namespace {

constexpr size_t kFieldAlign = 64;
constexpr int kDeepest = 16;  // rows of rows

struct Head {
  uint8_t dtype, rank, has_rows;
};

void append(std::vector<std::byte>& out, const void* data, size_t size) {
  const auto* from = static_cast<const std::byte*>(data);
  out.insert(out.end(), from, from + size);
}

void pack(const Tensor& tensor, std::vector<std::byte>& out) {
  const Head head{static_cast<uint8_t>(tensor.dtype), static_cast<uint8_t>(tensor.shape.rank()),
                  tensor.is_ragged()};
  append(out, &head, sizeof head);
  for (const int64_t dim : tensor.shape.dims()) append(out, &dim, sizeof dim);
  if (tensor.is_ragged()) {
    const auto count = static_cast<uint32_t>(tensor.rows->size());
    append(out, &count, sizeof count);
    for (const Tensor& row : *tensor.rows) pack(row, out);
    return;
  }
  out.resize((out.size() + kFieldAlign - 1) / kFieldAlign * kFieldAlign);
  const View view = tensor.view();
  if (view.size_bytes() > 0) append(out, view.data, view.size_bytes());
}

class Unpacking {
 public:
  explicit Unpacking(const BufferPtr& bytes) : bytes_(bytes) {}

  template <class T> bool read(T& out) {
    if (left() < sizeof out) return false;
    std::memcpy(&out, bytes_->data() + at_, sizeof out);
    at_ += sizeof out;
    return true;
  }

  bool tensor(Tensor& out, int depth) {
    Head head;
    if (!read(head) || head.dtype >= kDTypes || head.rank > kMaxRank || head.has_rows > 1) return false;
    out.dtype = static_cast<DType>(head.dtype);
    for (int i = 0; i < head.rank; ++i) out.shape = out.shape.with_front(0);
    for (int i = 0; i < head.rank; ++i) {
      int64_t dim = 0;
      if (!read(dim) || dim < 0) return false;
      out.shape.set(i, dim);
    }
    return head.has_rows ? rows(out, depth) : data(out);
  }

  bool is_at_end() const { return left() == 0; }

 private:
  size_t left() const { return bytes_->size() - at_; }

  bool rows(Tensor& out, int depth) {
    uint32_t count = 0;
    if (depth == kDeepest || !read(count) || count > left() / sizeof(Head)) return false;
    std::vector<Tensor> rows(count);
    for (Tensor& row : rows)
      if (!tensor(row, depth + 1)) return false;
    out.rows = std::make_shared<const RowList>(std::move(rows));
    return true;
  }

  bool data(Tensor& out) {
    const size_t at = (at_ + kFieldAlign - 1) / kFieldAlign * kFieldAlign,
                 size = out.shape.size_bytes(out.dtype);
    if (at > bytes_->size() || size > bytes_->size() - at) return false;
    out.buffer = bytes_;
    out.offset = at;
    at_ = at + size;
    return true;
  }

  const BufferPtr& bytes_;
  size_t at_ = 0;
};

}  // namespace

std::vector<std::byte> pack_fields(std::span<const Tensor> fields) {
  std::vector<std::byte> out;
  const auto count = static_cast<uint32_t>(fields.size());
  append(out, &count, sizeof count);
  for (const Tensor& field : fields) pack(field, out);
  return out;
}

Status unpack_fields(const BufferPtr& bytes, std::vector<Tensor>& fields) {
  Unpacking from(bytes);
  uint32_t count = 0;
  bool good = from.read(count) && count <= bytes->size() / sizeof(Head);
  fields.assign(good ? count : 0, {});
  for (Tensor& field : fields) good = good && from.tensor(field, 0);
  if (!good || !from.is_at_end()) return corrupt("malformed element in a cache");
  return {};
}

}  // namespace headrace
