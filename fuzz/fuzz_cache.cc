// Any bytes as an element of a cache: tensors inside them, or an error; packed again they are the same
// tensors.
#include <cstdlib>
#include <cstring>

#include "headrace/core/cache/element_cache.h"
#include "headrace/core/row_list.h"

using namespace headrace;

namespace {

void look_at(const Tensor& tensor) {
  if (tensor.is_ragged())
    for (const Tensor& row : *tensor.rows) look_at(row);
  else
    (void)make_tensor(tensor.view());
}

BufferPtr buffer_of(std::span<const std::byte> bytes) {
  MutableBufferPtr out = HeapBuffer::make(bytes.size());
  if (!bytes.empty()) std::memcpy(out->mutable_data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<Tensor> fields, again;
  const Status status = unpack_fields(buffer_of(std::as_bytes(std::span(data, size))), fields);
  if (!status.ok()) return status.text().empty() ? std::abort(), 0 : 0;
  for (const Tensor& field : fields) look_at(field);
  const std::vector<std::byte> packed = pack_fields(fields);
  if (!unpack_fields(buffer_of(packed), again).ok() || pack_fields(again) != packed) std::abort();
  return 0;
}
