// What the numbers of an element mean: units and class names, followed from the reads through the verbs as
// far as values are passed on unchanged.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/formats/meaning/class_lists.h"
#include "headrace/graph/node.h"

namespace headrace {

struct LeafMeaning {
  bool is_of_read = false;  // the unchanged value of a read
  std::string type;         // "timestamp[us]"; "": a plain number, or not known
  std::optional<ClassNames> classes;
  std::vector<std::pair<int64_t, std::string>> ids;  // where numbers are ids of classes: COCO's category_id
  // The classes of the numbers from which the value was computed, and by which operator.
  std::optional<ClassNames> of_classes;
  std::string made_by;
  // Of bytes that may have fields in them: classes of a field that is not known yet.
  std::optional<ClassNames> inside;
};
// One for each leaf of its schema.
std::vector<LeafMeaning> meanings_of(const Node& node);

// How many of its inputs a verb joins to one stream of elements (concatenate, interleave, mix, choose); 0 for
// other verbs.
size_t joined_inputs(const Node& node);

// Joined datasets must have the same unit in a field, and class lists that continue each other.
Status check_meanings(const Node& node);
// What cannot be refused, since one of the joined datasets does not say what its numbers mean.
std::vector<std::string> notes_on_meanings(const Node& node);

// The metadata of the data below: that of a read, or what holds for all datasets that are joined.
Value metadata_of(const Node& node);

// The datasets; those whose class numbers differ from those of all together are followed by a map that
// replaces them (ops/relabel.cc).
Result<std::vector<NodePtr>> align_labels(std::vector<NodePtr> datasets, const std::string& made_at);

}  // namespace headrace
