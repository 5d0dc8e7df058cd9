// How the indexes of record files are made (record_indexes.h), as far as whoever opens data says.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace headrace {

// Called on the thread that waits, some twenty times a second, with the bytes of the files done and of all
// files; false gives up with `stopped()`.
using IndexingWatch = std::function<bool(uint64_t done, uint64_t total)>;

struct IndexingOptions {
  size_t workers = 0;  // 0: the cores this process may use
  IndexingWatch watch = {};
  bool wants_all = false;  // a file that is damaged is an error, whatever there is beside it
  bool beside = false;     // also keep what is found beside the data, for all who read them
  // Called from any thread, with the path of each sidecar that holds what was found of a file.
  std::function<void(const std::string&)> kept = {};
};

}  // namespace headrace
