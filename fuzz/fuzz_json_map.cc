// Any text as a map from path to label: one label per name, no name with a NUL.
#include <cstdlib>

#include "headrace/formats/images/json_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto map = headrace::parse_json_map({reinterpret_cast<const char*>(data), size});
  if (!map.ok()) return map.status().text().empty() ? std::abort(), 0 : 0;
  if (map->labels.size() != map->names.size()) std::abort();
  for (size_t i = 0; i < map->names.size(); ++i)
    if (map->names[i].empty() || map->names[i].find('\0') != std::string_view::npos) std::abort();
  return 0;
}
