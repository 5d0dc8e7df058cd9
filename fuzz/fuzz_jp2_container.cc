// Any bytes as a JP2 file: a code stream inside it and an order of its components, or an error that says why.
#include <algorithm>
#include <cstdlib>

#include "headrace/codecs/jpeg2000/container.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (!jpeg2000::is_container(bytes) && !jpeg2000::is_code_stream(bytes)) return 0;
  const auto container = jpeg2000::read_container(bytes);
  if (!container.ok()) {
    if (container.status().text().empty()) std::abort();
    return 0;
  }
  const auto stream = container->code_stream;
  if (stream.data() < bytes.data() || stream.data() + stream.size() != bytes.data() + bytes.size())
    std::abort();
  for (uint32_t components = 1; components <= 4; ++components) {
    const auto order = jpeg2000::order_of_components(*container, components);
    if (!order.ok()) continue;
    auto used = *order;
    std::sort(used.begin(), used.begin() + components);
    for (uint32_t c = 0; c < components; ++c)
      if (used[c] != c) std::abort();
  }
  return 0;
}
