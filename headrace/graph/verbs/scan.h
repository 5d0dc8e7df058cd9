// scan: a state that is carried from element to element.
#pragma once
#include "headrace/graph/program.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

// The program's inputs are the state's leaves, then the element's fields; its outputs are the state's leaves,
// then the new element's.
struct Scan {
  static constexpr std::string_view
      verb = "scan",
      doc = "A function of a state and an element, in order; it gives the next state and an element.";
  Program program;
  std::vector<Tensor> initial;
  std::string structure;  // of the new element
  static constexpr std::tuple fields{
      Member{"program", &Scan::program,
             "The function: inputs and outputs begin with the leaves of the state."},
      Member{"initial", &Scan::initial, "The leaves of the first state.", Presence::optional},
      Member{"structure", &Scan::structure, "How the fields of the new element nest."}};

  Schema incoming(const Schema& element) const;  // of the program
  Status infer(Node& node) const;
  std::string details() const;
};

// The inputs of the program of a scan: the state's leaves, named "state/…", then the element's.
Schema scan_schema(std::span<const Tensor> initial, const Schema& element);

}  // namespace headrace
