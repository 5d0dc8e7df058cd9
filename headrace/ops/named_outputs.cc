#include "headrace/ops/named_outputs.h"

namespace headrace {

std::map<std::string, OutputStructure, std::less<>>& named_outputs() {
  static std::map<std::string, OutputStructure, std::less<>> all;
  return all;
}

}  // namespace headrace
