// The walk over a local directory tree, for file_store.cc. No state, any thread.
#pragma once
#include <sys/stat.h>

#include "headrace/io/store.h"

namespace headrace {

inline int64_t nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

// Every regular file below `root`; one stat per directory and per link, none per file where the file system
// reports the type of an entry. An unreadable root is an error, an unreadable directory below it a problem.
Result<Listing> walk(const std::string& root);
Result<Entries> look_into(const std::string& folder);

}  // namespace headrace
