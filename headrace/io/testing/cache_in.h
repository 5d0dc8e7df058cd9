// Sets the user's cache folder to a test's own during its lifetime. One thread.
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
