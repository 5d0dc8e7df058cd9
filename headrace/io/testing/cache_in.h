// The user's cache folder is one of a test's own while this lives. One thread.
#pragma once
#include <cstdlib>
#include <string>

namespace headrace {

class CacheIn {
 public:
  explicit CacheIn(const std::string& folder) { ::setenv("XDG_CACHE_HOME", folder.c_str(), 1); }
  ~CacheIn() { ::unsetenv("XDG_CACHE_HOME"); }
  CacheIn(const CacheIn&) = delete;
  CacheIn& operator=(const CacheIn&) = delete;
};

}  // namespace headrace
