// Entropy points (codecs/entropy_points.h) for the decoders of a plan: found while it runs, or ahead
// (index.h), and remembered from run to run.
#pragma once
#include <memory>

#include "headrace/formats/index/point_index.h"
#include "headrace/graph/node.h"

namespace headrace {

// Gives the operators of `plan` that can use points an index of the data it reads; null when there are none.
// `memory` is what points may take, beside the pool's budget, until they are saved.
std::shared_ptr<PointIndex> attach_points(NodePtr& plan, size_t memory);

// The index of the data that `plan` reads.
std::shared_ptr<PointIndex> open_points(const Node& plan, PointIndex::Options options);

// Whether so many files are new that writing the sidecar again costs less than finding their points again.
bool is_worth_saving(const PointIndex& index);
// Whether it is while a run goes on: the index is written anew each time, so as many as are kept must be new.
bool is_due(const PointIndex& index);

}  // namespace headrace
