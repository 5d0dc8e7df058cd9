// Warnings of explain(): plans that may not do what their author expects.
#pragma once
#include <string>
#include <vector>

#include "headrace/graph/explain/element_size.h"
#include "headrace/graph/node.h"

namespace headrace {

// What a run keeps of the blocks it has opened, in case they are needed again.
struct KeptBlocks {
  double bytes = 0;         // budget for kept blocks, where an order jumps between blocks
  ElementSizes sizes = {};  // of reads, as far as known
};

// One line each, from the data to the end of the plan, without duplicates.
std::vector<std::string> notes(const NodePtr& plan, const KeptBlocks& kept);
// The notes on plans that run many times slower, as far as sizes are known: a run warns as it begins.
std::vector<std::string> warnings(const NodePtr& plan, const KeptBlocks& kept);

// Warnings about the data as opened (notes_of() in formats/data_notes.h), and about data sets that are joined
// (notes_on_meanings() in graph/meaning.h), without duplicates.
std::vector<std::string> data_notes(const Node& plan);

// Whether elements are batches: verbs after batch() move or change batches, unbatch() and pack() end them.
bool is_batched(const Node& node);

}  // namespace headrace
