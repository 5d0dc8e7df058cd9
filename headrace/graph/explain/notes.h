// What explain() warns of: plans that mean something else than their authors may think.
#pragma once
#include <string>
#include <vector>

#include "headrace/graph/explain/element_size.h"
#include "headrace/graph/node.h"

namespace headrace {

// What a run keeps of the blocks that it has opened, for those that want them again.
struct KeptBlocks {
  double bytes = 0;         // of them, where an order jumps between them
  ElementSizes sizes = {};  // of reads, as far as they are known
};

// One line each, from the data to the end of the plan; none twice.
std::vector<std::string> notes(const NodePtr& plan, const KeptBlocks& kept);
// Those of them that make a run many times slower, as far as sizes are known: it says so as it begins.
std::vector<std::string> warnings(const NodePtr& plan, const KeptBlocks& kept);

// Of the data as they were opened, what is worth a warning (notes_of() in formats/data_notes.h); none twice.
std::vector<std::string> data_notes(const Node& plan);

// Whether elements are batches: what stands after batch() moves or changes them, unbatch() and pack() end
// them.
bool is_batched(const Node& node);

}  // namespace headrace
