#include "headrace/io/look_up.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "headrace/core/text/text.h"

namespace headrace {

bool is_absent(const Status& failure) {
  const int number = failure.error_number();
  const bool is_no_name = number == ENAMETOOLONG || number == EINVAL || number == EILSEQ;
  return failure.code() == Code::not_found || is_no_name;
}

bool is_of_the_system(const Status& failure) {
  return failure.code() == Code::io || failure.error_number() != 0;
}

Status cannot_examine(const Status& why, std::string_view path) {
  constexpr std::string_view kWayOut =
      "; what cannot be examined is not taken for absent: skip_unreadable=True leaves it out and says so";
  if (why.facts().option == kSkipUnreadable) return why;
  return Status(Code::io, std::string(why.text()).append(kWayOut))
      .with(why.facts())
      .with({.option = std::string(kSkipUnreadable)})
      .refused(why.error_number(), path);
}

std::string reason_of(const Status& failure) {
  if (failure.facts().got == kLeadsNowhere) return std::string(kLeadsNowhere);
  const int number = failure.error_number();
  return number == 0 ? std::string(failure.text()) : std::generic_category().message(number);
}

Result<std::optional<FileInfo>> find(Store& store, const std::string& path) {
  if (store.is_known_absent(path)) return std::optional<FileInfo>();
  auto info = store.info(path);
  if (info.ok()) return std::optional(*info);
  if (is_absent(info.status()) || store.leaves_out(path, info.status())) return std::optional<FileInfo>();
  return cannot_examine(info.status(), path);
}

Result<bool> has_file(Store& store, const std::string& path) {
  HEADRACE_ASSIGN(const auto found, find(store, path));
  return found && !found->is_directory;
}

Result<bool> has_folder(Store& store, const std::string& path) {
  HEADRACE_ASSIGN(const auto found, find(store, path));
  return found && found->is_directory;
}

Result<std::unique_ptr<OpenFile>> open_if_there(Store& store, const std::string& path) {
  HEADRACE_ASSIGN(const bool is_there, has_file(store, path));
  if (!is_there) return std::unique_ptr<OpenFile>();
  auto file = store.open(path);
  if (file.ok()) return file;
  if (is_absent(file.status()) || store.leaves_out(path, file.status())) return std::unique_ptr<OpenFile>();
  return cannot_examine(file.status(), path);
}

bool is_no_data(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "lost+found",  // ext4
      ".snapshot",          ".snapshots",
      "~snapshot",          ".zfs",  // snapshots of storage
      "#snapshot",          "@eaDir",
      "#recycle",           "@Recycle",  // Synology, QNAP
      "@Recently-Snapshot", ".Trashes",
      ".fseventsd",         ".Spotlight-V100",
      "__MACOSX",                                         // macOS
      "$RECYCLE.BIN",       "System Volume Information",  // Windows
      ".ipynb_checkpoints", "__pycache__",
  };
  return std::ranges::find(kNames, name) != std::end(kNames) || name.starts_with(".Trash-");
}

bool is_hidden_path(std::string_view path) {
  for (size_t part = 0; part < path.size();) {
    const size_t slash = std::min(path.find('/', part), path.size());
    const std::string_view name = path.substr(part, slash - part);
    if (name.starts_with('.') && name != "." && name != "..") return true;
    part = slash + 1;
  }
  return false;
}

}  // namespace headrace
