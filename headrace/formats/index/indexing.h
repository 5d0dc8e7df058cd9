// Options for making the indexes of record files (record_indexes.h), set by the code that opens data.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace headrace {

// Called on the waiting thread, about twenty times a second, with the bytes of the finished files and of all
// files; returning false aborts with `stopped()`.
using IndexingWatch = std::function<bool(uint64_t done, uint64_t total)>;

class ListMemory;

struct IndexingOptions {
  size_t workers = 0;  // 0: the cores this process may use
  IndexingWatch watch = {};
  bool wants_all = false;  // a damaged file is an error, even if other files are good
  bool anew = false;       // stored indexes are not read, but replaced
  bool beside = false;     // also store indexes next to the data, for all its readers
  // Called with the path of each sidecar that holds indexes.
  std::function<void(const std::string&)> kept = {};
  ListMemory* memory = nullptr;  // of the list that the files belong to; null: of these files alone
};

}  // namespace headrace
