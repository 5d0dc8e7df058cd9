#include "headrace/run/streams/cursor_bytes.h"

#include <algorithm>
#include <cstring>

namespace headrace {

void put_bytes(std::string_view bytes, Cursor& cursor) {
  cursor.push_back(bytes.size());
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    cursor.push_back(word);
  }
}

std::string take_bytes(CursorReader& cursor) {
  const uint64_t size = cursor.next();
  std::string out;
  while (out.size() < size && cursor.good()) {
    const uint64_t word = cursor.next();
    out.append(reinterpret_cast<const char*>(&word), std::min<uint64_t>(sizeof word, size - out.size()));
  }
  return out;
}

void put_tensor(const Tensor& tensor, Cursor& cursor) {
  cursor.push_back(static_cast<uint64_t>(tensor.dtype));
  cursor.push_back(static_cast<uint64_t>(tensor.shape.rank()));
  for (const int64_t dim : tensor.shape.dims()) cursor.push_back(static_cast<uint64_t>(dim));
  const auto bytes = tensor.view().bytes();
  put_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, cursor);
}

Tensor take_tensor(CursorReader& cursor) {
  const uint64_t dtype = cursor.next(), rank = cursor.next();
  std::vector<int64_t> dims;
  for (uint64_t d = 0; d < std::min<uint64_t>(rank, kMaxRank); ++d)
    dims.push_back(static_cast<int64_t>(cursor.next()));
  const std::string bytes = take_bytes(cursor);
  const bool sane = dtype < kDTypes && rank <= kMaxRank &&
                    std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
  const Shape shape = sane ? Shape(std::span<const int64_t>(dims)) : Shape();
  const DType type = sane ? static_cast<DType>(dtype) : DType::u8;
  if (!sane || shape.size_bytes(type) != bytes.size()) {
    cursor.refuse({}, "a tensor");
    return {};
  }
  return make_tensor({type, shape, reinterpret_cast<const std::byte*>(bytes.data())});
}

}  // namespace headrace
