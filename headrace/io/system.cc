#include "headrace/io/system.h"

#include <cerrno>
#include <system_error>

namespace headrace {

Status system_error(std::string what, const std::string& path) {
  const int error = errno;
  const Code code = error == ENOENT || error == ENOTDIR ? Code::not_found : Code::io;
  return {code, what + " '" + path + "': " + std::generic_category().message(error)};
}

Status check_path(const std::string& path) {
  if (path.empty()) return invalid("wants a path, got an empty one");
  if (path.find('\0') != std::string::npos) return invalid("wants a path without NUL bytes");
  return {};
}

}  // namespace headrace
