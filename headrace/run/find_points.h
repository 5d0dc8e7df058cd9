// Finds the entropy points (codecs/entropy_points.h) of a data set ahead: `headrace index`.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "headrace/core/status.h"
#include "headrace/graph/handles.h"

namespace headrace {

inline constexpr int64_t kMostStep = 1 << 13;  // MCUs in the widest row
struct IndexOptions {
  int64_t step = 0;  // one point before each `step` MCUs of a row; 0: before each row
  // Save next to the data, for all readers, together with the index of records in containers; otherwise in
  // the user's cache folder.
  bool beside = false;
  size_t workers = 0;  // 0: the cores this process may use
  // Called after each sample with the number done; returns whether to continue.
  std::function<bool(uint64_t)> progress = [](uint64_t) { return true; };
};
struct IndexedPoints {
  uint64_t samples = 0;  // examined
  uint64_t files = 0;    // of these, JPEG files that have points
  uint64_t failed = 0;   // samples that could not be read
  uint64_t bytes = 0;    // of the index of points, or if there are none, of the index of records
  std::string path;      // of the index; a folder if there is one per file; "" if nothing was saved
};
// Finds the points of all encoded images in `data`, whichever field they are in, and saves them, replacing
// other known points of these files. Points found so far are kept when `progress` ends it early.
Result<IndexedPoints> index_points(const NodePtr& data, const IndexOptions& options,
                                   const std::shared_ptr<Store>& store);

}  // namespace headrace
