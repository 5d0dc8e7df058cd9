// choose: datasets in an order that is given.
#pragma once
#include <memory>

#include "headrace/core/random/choices.h"
#include "headrace/graph/verbs/mix.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Choose {  // last input: the choices, int64
  static constexpr std::string_view
      verb = "choose",
      doc = "The next element of the dataset that each number names; the last input holds the numbers.";
  static constexpr VerbFacts facts{.is_union = true};
  MixStop stop = MixStop::first_exhausted;
  std::shared_ptr<const Choices> order = nullptr;  // made by make_node(), as in Mix
  static constexpr std::tuple fields{Member{"stop", &Choose::stop, "When it ends."}};

  Status infer(Node& node);
  std::string details() const;
};

}  // namespace headrace
