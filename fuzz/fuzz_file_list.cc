// Any text as a list of images: names without NUL or line ends, and numbers for all of them or none.
#include <cstdlib>

#include "headrace/formats/images/file_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto list = headrace::parse_file_list({reinterpret_cast<const char*>(data), size});
  if (!list.ok()) return list.status().text().empty() ? std::abort(), 0 : 0;
  if (!list->numbers.empty() && list->numbers.size() != list->names.size()) std::abort();
  for (size_t i = 0; i < list->names.size(); ++i) {
    const std::string_view name = list->names[i];
    if (name.empty() || name.find('\0') != name.npos || name.find('\n') != name.npos) std::abort();
  }
  return 0;
}
