#include "headrace/io/system.h"

#include <cerrno>
#include <utility>

#include "headrace/core/text/text.h"

namespace headrace {

Status system_error(std::string what, const std::string& path) {
  return system_error(std::move(what), path, {errno, std::generic_category()});
}

Status system_error(std::string what, const std::string& path, const std::error_code& error) {
  const int number = error.value();
  const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::io;
  return Status(code, std::move(what) + " " + in_quotes(path) + ": " + error.message()).refused(number, path);
}

Status check_path(const std::string& path) {
  if (path.empty()) return invalid("expected a path, got an empty one");
  if (path.find('\0') != std::string::npos) return invalid("a path must not contain NUL bytes");
  return {};
}

}  // namespace headrace
