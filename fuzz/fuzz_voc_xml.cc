// Any bytes as a VOC annotation: objects with names and finite boxes, or an error.
#include <cmath>
#include <cstdlib>

#include "headrace/formats/images/voc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto objects = headrace::parse_voc({reinterpret_cast<const char*>(data), size});
  if (!objects.ok()) return objects.status().text().empty() ? std::abort(), 0 : 0;
  for (const headrace::VocObject& object : *objects) {
    if (object.name.empty()) std::abort();
    for (const float v : object.box)
      if (!std::isfinite(v) || v < 0) std::abort();
  }
  return 0;
}
