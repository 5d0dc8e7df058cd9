// zip: element i of every input, joined.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Zip {
  static constexpr std::string_view verb = "zip", doc = "Element i of every input, joined.";
  static constexpr VerbFacts facts{.is_union = true};
  std::string structure;  // how inputs nest: as Schema::structure, a leaf is the ordinal of an input
  uint32_t ids = 0;       // the input whose sample ids random operators and with_ids use
  static constexpr std::tuple fields{
      Member{"structure", &Zip::structure, "How inputs nest; a leaf is the position of an input."},
      Member{"ids", &Zip::ids, "The input whose sample ids are used.", Presence::if_changed}};

  Status infer(Node& node) const;
  std::string details() const { return structure + (ids ? ", ids of input " + std::to_string(ids) : ""); }
};

}  // namespace headrace
