// select: the elements at given positions.
#pragma once
#include <memory>
#include <vector>

#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Select {  // last input: the positions, int64
  static constexpr std::string_view verb = "select",
                                    doc =
                                        "The elements at given positions, in the order of the positions; "
                                        "the last input holds them.";
  static constexpr VerbFacts facts{.moves_indices = true, .hands_on = true, .jumps = true, .counts = true};
  std::shared_ptr<const std::vector<uint64_t>> order = nullptr;
  // As occurrences_of(). Draws of one sample differ by it.
  std::shared_ptr<const std::vector<uint32_t>> occurrences = nullptr;
  SourcePtr made_of = nullptr;
  static constexpr std::tuple<> fields{};

  Status infer(Node& node);
  std::string details() const;
};

// How often each index came before; null if none comes twice.
std::shared_ptr<const std::vector<uint32_t>> occurrences_of(const std::vector<uint64_t>& indices);

}  // namespace headrace
