#include "headrace/io/system.h"

#include <sys/resource.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
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

bool has_times_of_this_machine(const std::string& folder) {
  constexpr uint32_t kLocal[] = {
      0xef53,      // ext2, ext3, ext4
      0x58465342,  // xfs
      0x9123683e,  // btrfs
      0xf2f52010,  // f2fs
      0xca451a4e,  // bcachefs
      0x2fc12fc1,  // zfs
      0x01021994,  // tmpfs
      0x794c7630,  // overlay: the files written in it
  };
  struct statfs s;
  return ::statfs(folder.c_str(), &s) == 0 &&
         std::ranges::find(kLocal, static_cast<uint32_t>(s.f_type)) != std::end(kLocal);
}

Status check_path(const std::string& path) {
  if (path.empty()) return invalid({.expected = "a path", .got = "an empty one"});
  if (path.find('\0') != std::string::npos) return invalid("a path must not contain NUL bytes");
  return {};
}

}  // namespace headrace
