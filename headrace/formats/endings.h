// Files counted by the endings of their names, for messages: ".heic (10), none (2)". One thread.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "headrace/core/value.h"

namespace headrace {

class Endings {
 public:
  void add(std::string_view path);
  uint64_t files() const { return files_; }
  // The most common first, then by name, in lower case: {".heic": 10, "none": 2}. With very many endings,
  // rare ones are counted as "other".
  Value value() const;

 private:
  std::map<std::string, uint64_t, std::less<>> counts_;
  uint64_t files_ = 0;
};

// ".heic (10), none (2)" from value(); only the first few if there are many.
std::string endings_text(const Value& endings);

}  // namespace headrace
