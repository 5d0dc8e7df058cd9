// Any bytes as one of VOC's lists of images: names without blanks, line ends or NUL, or an error.
#include <cstdlib>

#include "headrace/formats/images/voc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto names = headrace::parse_image_set({reinterpret_cast<const char*>(data), size});
  if (!names.ok()) return names.status().text().empty() ? std::abort(), 0 : 0;
  for (const std::string& name : *names)
    if (name.empty() || name.find_first_of(std::string_view(" \t\r\n\0", 5)) != std::string::npos)
      std::abort();
  return 0;
}
