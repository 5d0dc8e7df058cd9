// Entropy points (codecs/entropy_points.h) for the decoders of a plan: found while it runs, remembered from
// run to run, or made ahead for a data set.
#pragma once
#include <functional>
#include <memory>

#include "headrace/formats/point_index.h"
#include "headrace/run/loader.h"

namespace headrace {

// Files from which on what was found is worth a sidecar: fewer are decoded again before it is written.
inline constexpr size_t kWorthRememberingPoints = 1000;

// Gives the operators of `plan` that can use points an index of the data it reads; null when there are none.
// `memory` is what points may take until they are saved.
std::shared_ptr<PointIndex> attach_points(NodePtr& plan, size_t memory);

struct IndexedPoints {
  uint64_t samples = 0, files = 0;  // looked at; with points
};
// Finds the points of all encoded images that `read` brings, whichever field they are in, and saves them.
// `step` as in EntropyPoints. `progress` gets the samples done and is to answer whether to go on.
Result<IndexedPoints> index_points(const NodePtr& read, int64_t step, const LoaderOptions& options,
                                   const std::shared_ptr<Store>& store,
                                   const std::function<bool(uint64_t)>& progress);

}  // namespace headrace
