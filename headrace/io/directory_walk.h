// The walk over a local directory tree, for file_store.cc. No state, any thread.
#pragma once
#include <sys/stat.h>

#include "headrace/io/store.h"

namespace headrace {

inline int64_t nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

// Every regular file below `root`; one stat per directory and per link, none per file where the file system
// reports the type of an entry. A name that cannot be examined is an error, or `unread`; an unreadable root
// is an error.
enum class Unreadable : uint8_t { fails, is_left_out };
Result<Listing> walk(const std::string& root, Unreadable unreadable);
Result<Entries> look_into(const std::string& folder, Unreadable unreadable);

}  // namespace headrace
