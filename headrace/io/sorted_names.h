// Binary search in names that are sorted by bytes, as listings are. Pure; any thread.
#pragma once
#include <string_view>

#include "headrace/io/name_list.h"

namespace headrace {

// Index of the first name not before `name`; the number of names when all are before it.
inline size_t first_from(const Names& sorted, std::string_view name) {
  size_t begin = 0, end = sorted.size();
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (sorted[middle] < name)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

inline bool holds(const Names& sorted, std::string_view name) {
  const size_t at = first_from(sorted, name);
  return at < sorted.size() && sorted[at] == name;
}

}  // namespace headrace
