#include "cli/output/write_file.h"

#include <fstream>

#include "headrace/core/text/text.h"

namespace headrace::cli {

Status write_file(std::string_view command, const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  return file ? Status() : Status(Code::io, std::string(command) + ": cannot write " + in_quotes(path));
}

}  // namespace headrace::cli
