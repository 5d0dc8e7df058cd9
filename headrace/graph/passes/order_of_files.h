// What an interleave makes its readers of, apart from their order: a list of all that may come in an epoch,
// and order verbs over the numbers of the list.
#pragma once
#include <optional>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/graph/handles.h"

namespace headrace {

struct OrderedFiles {
  NodePtr order;               // the input of an ordered interleave
  std::vector<NodePtr> files;  // the list, in parts; they stay the same in every epoch, on every rank
  std::vector<std::vector<size_t>> places;  // of each part, in the tree that was taken apart: inputs to go to
};

// Nothing where the order is the same in every epoch and on all ranks. An error that names a verb that has no
// list of files below it: one that joins elements, or a stream, whose order changes.
Result<std::optional<OrderedFiles>> order_of_files(const NodePtr& files);

// The order with its shard dealing whole files: some ranks get one more, and none gets another rank's.
Result<NodePtr> dealing_whole_files(const NodePtr& order);

}  // namespace headrace
