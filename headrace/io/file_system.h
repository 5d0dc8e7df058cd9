// File system operations for writing data, beyond bytes: atomic replacement, and durability. Pure but for the
// files; any thread. Local files only.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "headrace/core/status.h"

namespace headrace {

std::string folder_of(const std::string& path);  // "." when it names none
std::string name_of(const std::string& path);    // what follows the last slash

// A link with a missing target, too, and what cannot be examined: it may be there, so nothing replaces it.
bool exists(const std::string& path);
bool is_empty_folder(const std::string& path);
Result<uint64_t> file_number(const std::string& path);  // inode: the same for a file under another name

Status make_folder(const std::string& path);
Status make_folders_above(const std::string& path);  // those that are missing
// Removes everything there, if anything; links are removed, never followed.
Status remove_all(const std::string& path);
Status remove_file(const std::string& path);        // a file or link, if there is one
void remove_empty_folder(const std::string& path);  // if it is one

// Flushes to disk: a file's bytes, or everything below a folder.
Status sync_path(const std::string& path);
// Flushes the names in the folder that contains `path`. Does nothing where the file system cannot do it, or
// the folder is not readable.
Status sync_names(const std::string& path);

// Appends bytes to a file and flushes them. For journals: after a crash all earlier calls are there and any
// part of the last one.
Status append_lasting(const std::string& path, std::span<const std::byte> bytes);

enum class Existing : uint8_t {
  refused,   // a file at the new path is an error
  replaced,  // a file by a file; the old one is gone
};
// Atomic for readers of the new path; an empty folder there counts as nothing.
Status move(const std::string& from, const std::string& to, Existing existing);
// Atomic, too: what was at `to` is at `from` afterwards.
Status exchange(const std::string& from, const std::string& to, const std::string& aside);
// exchange() for file systems that only support rename(), as some network file systems do: in two steps,
// between which nothing is at `to`, and the old data is at `aside`, where it stays. After an error it is back
// at `to`.
Status exchange_by_hand(const std::string& from, const std::string& to, const std::string& aside);

// One process at a time may hold it; released when the process ends for any reason (a forked child that lives
// on keeps it until then). A child's copy does not release it.
class FileLock {
 public:
  // Nothing when another process holds it. The file is created if missing, and may be removed by the holder.
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
