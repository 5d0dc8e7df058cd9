// Entropy points (codecs/entropy_points.h) of a data set, found ahead: `headrace index`.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "headrace/graph/node.h"

namespace headrace {

class Store;

inline constexpr int64_t kMostStep = 1 << 13;  // MCUs of the widest row
struct IndexOptions {
  int64_t step = 0;  // one point before each `step` MCUs of a row; 0: before each row
  // Where the data lie, for all who read them, and with where the records of containers begin; else in the
  // user's cache folder.
  bool beside = false;
  size_t workers = 0;  // 0: the cores this process may use
  // Gets the samples done, after each, and answers whether to go on.
  std::function<bool(uint64_t)> progress = [](uint64_t) { return true; };
};
struct IndexedPoints {
  uint64_t samples = 0;  // looked at
  uint64_t files = 0;    // of these, JPEG files that have points
  uint64_t failed = 0;   // samples that could not be read
  uint64_t bytes = 0;    // of the index of points; where there are none, of that of records
  std::string path;      // where it lies: a folder where each file has its own; "" where nothing is kept
};
// Finds the points of all encoded images that `data` brings, whichever field they are in, and saves them,
// instead of others that are known of these files. What was found stays when
// `progress` ends it early.
Result<IndexedPoints> index_points(const NodePtr& data, const IndexOptions& options,
                                   const std::shared_ptr<Store>& store);

}  // namespace headrace
