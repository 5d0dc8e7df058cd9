#include "headrace/graph/verbs/from_generator.h"

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"

namespace headrace {

Status Generate::infer(Node& node) const {
  node.schema = generator->schema();
  node.indexed = false;
  return {};
}

std::string Generate::details() const { return source_text(generator->describe()); }

}  // namespace headrace
