// Where the real files lie that some tests read.
#pragma once
#include <cstdlib>
#include <string>

namespace headrace::testing {

// $HEADRACE_DATA; empty when it is not set: such tests skip.
inline std::string data_folder() {
  const char* folder = std::getenv("HEADRACE_DATA");
  return folder ? folder : "";
}

}  // namespace headrace::testing
