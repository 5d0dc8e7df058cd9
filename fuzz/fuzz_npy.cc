// Any bytes as an .npy file: a header whose array is all that follows it, or a reason.
#include <cstdlib>
#include <vector>

#include "headrace/codecs/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = headrace::read_npy_header(file);
  if (!header.ok()) return header.status().text().empty() ? std::abort(), 0 : 0;
  const size_t wanted = header->shape.size_bytes(header->dtype);
  if (header->data > size) std::abort();
  if (wanted != size - header->data) return 0;
  std::vector<std::byte> out(wanted);
  if (!headrace::read_npy_data(file, *header, out.data()).ok()) std::abort();
  return 0;
}
