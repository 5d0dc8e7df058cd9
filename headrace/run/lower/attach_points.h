// Entropy points (codecs/entropy_points.h) for the decoders of a plan: found while it runs, or ahead
// (find_points.h), and saved between runs.
#pragma once
#include <memory>

#include "headrace/formats/index/point_index.h"
#include "headrace/graph/node.h"

namespace headrace {

// Gives the operators of `plan` that can use points an index of the data it reads; returns null if there are
// no such operators. `memory`: bytes for points until they are saved, outside the pool's budget.
std::shared_ptr<PointIndex> attach_points(NodePtr& plan, size_t memory);

// The index of the data that `plan` reads.
std::shared_ptr<PointIndex> open_points(const Node& plan, PointIndex::Options options);

// Whether enough files are new that rewriting the sidecar costs less than finding their points again.
bool is_worth_saving(const PointIndex& index);
// The same during a run: the whole index is rewritten each time, so the number of files must have doubled.
bool is_due(const PointIndex& index);

}  // namespace headrace
