#include "headrace/graph/verbs/read.h"

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"

namespace headrace {

Status Read::infer(Node& node) const {
  node.schema = source->schema();
  node.total = source->size();
  return {};
}

std::string Read::details() const { return source_text(source->describe()); }

}  // namespace headrace
