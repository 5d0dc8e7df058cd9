// What data in the making asks of this machine's file system, beside bytes: places that change in one step,
// and that last. Pure but for the files; any thread. Local files only.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "headrace/core/status.h"

namespace headrace {

std::string folder_of(const std::string& path);  // "." when it names none
std::string name_of(const std::string& path);    // what follows the last slash

bool exists(const std::string& path);  // a link that leads nowhere, too
bool is_empty_folder(const std::string& path);
Result<uint64_t> file_number(const std::string& path);  // inode: the same file under another name

Status make_folder(const std::string& path);
Status make_folders_above(const std::string& path);  // those that are missing
// All of what lies there, when anything does; links are removed, never followed.
Status remove_all(const std::string& path);
Status remove_file(const std::string& path);        // a file or link, when there is one
void remove_empty_folder(const std::string& path);  // when it is one

// To disk: a file's bytes, or all that lies below a folder.
Status sync_path(const std::string& path);
// The names in the folder that `path` lies in. Nothing where the file system cannot, or the folder may not be
// read.
Status sync_names(const std::string& path);

// Adds bytes to a file, to disk. For journals: what a crash leaves is all of the earlier calls and any part
// of the last.
Status append_lasting(const std::string& path, std::span<const std::byte> bytes);

enum class Existing : uint8_t {
  refused,   // something at the new place is an error
  replaced,  // a file by a file; what was there is gone
};
// In one step for whoever looks at the new place; an empty folder there counts as nothing.
Status move(const std::string& from, const std::string& to, Existing existing);
// In one step, too: what was at `to` is at `from` afterwards.
Status exchange(const std::string& from, const std::string& to, const std::string& aside);
// What exchange() does where the file system knows rename() alone, as some network file systems: in two
// steps, between which nothing is at `to`, and what was there is at `aside`, where it stays. After an error
// it is at `to` again.
Status exchange_by_hand(const std::string& from, const std::string& to, const std::string& aside);

// One process at a time may hold it; given back when the process ends, however it does (a forked child that
// lives on keeps it until then). A child's copy does not give it back.
class FileLock {
 public:
  // Nothing when another process holds it. The file is made where there is none, and may be removed by the
  // holder.
  static Result<std::unique_ptr<FileLock>> take(const std::string& path);
  ~FileLock();
  bool is_held_here() const;  // false in a forked child
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int descriptor);
  int descriptor_, process_;
};

}  // namespace headrace
