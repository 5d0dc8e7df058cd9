// from_generator: the elements of a user's iterator.
#pragma once
#include "headrace/formats/generator.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Generate {
  static constexpr std::string_view verb = "from_generator", doc = "The elements of a user's iterator.";
  GeneratorPtr generator;
  uint32_t ordinal = 0;  // among the reads
  static constexpr std::tuple fields{
      Member{"generator", &Generate::generator, "The slot of the iterator, and its schema."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
