#include "headrace/io/system.h"

#include <sys/resource.h>

#include <cerrno>
#include <utility>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

// What to do if there is no descriptor left.
std::string out_of_files(int number) {
  if (number == ENFILE) return " (all processes together have as many as the system allows: fs.file-max)";
  struct rlimit limit;
  if (number != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "";
  return ": this process may have " + std::to_string(limit.rlim_cur) +
         " files and connections open at a time. Raise that, as with `ulimit -n 4096` before it is started, "
         "or use "
         "fewer loaders, readers (io=) or connections at a time";
}

}  // namespace

Status system_error(std::string what, const std::string& path) {
  return system_error(std::move(what), path, {errno, std::generic_category()});
}

Status system_error(std::string what, const std::string& path, const std::error_code& error) {
  const int number = error.value();
  const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::io;
  return Status(code, std::move(what) + " " + in_quotes(path) + ": " + error.message() + out_of_files(number))
      .refused(number, path);
}

Status check_path(const std::string& path) {
  if (path.empty()) return invalid({.expected = "a path", .got = "an empty one"});
  if (path.find('\0') != std::string::npos) return invalid("a path must not contain NUL bytes");
  return {};
}

}  // namespace headrace
