// Any bytes as a list of captions: images each with captions, none with a NUL or a line end, or an error.
#include <cstdlib>

#include "headrace/formats/captions/lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto captions = headrace::parse_captions({reinterpret_cast<const char*>(data), size});
  if (!captions.ok()) return captions.status().text().empty() ? std::abort(), 0 : 0;
  if (captions->first.size() != captions->images.size() + 1) std::abort();
  if (captions->first.back() != captions->texts.size()) std::abort();
  for (size_t i = 0; i < captions->images.size(); ++i)
    if (captions->images[i].empty() || captions->first[i] >= captions->first[i + 1]) std::abort();
  return 0;
}
