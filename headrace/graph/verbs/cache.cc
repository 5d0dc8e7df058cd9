#include "headrace/graph/verbs/cache.h"

#include "headrace/core/cache/element_cache.h"
#include "headrace/core/text/text.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/ops/c_function.h"

namespace headrace {
namespace {

// Whether it reads a user's sequence, whose items cannot be identified without reading all of them.
bool reads_objects(const Node& node) {
  return find_node(node, [](const Node& one) {
    const auto* read = one.as<Read>();
    if (!read) return false;
    const auto format = read->source->describe().get_text("format");
    return format.ok() && *format == "sequence";
  });
}

// C functions are addresses: whether they are the same in another run cannot be checked.
Status check_versions(const Node& below) {
  Status status;
  each_call(below, [&](const Call& call) {
    const CFunction* const function = c_function_of(*call.op);
    if (function && function->version.empty() && status.ok())
      status =
          invalid(
              "cannot tell whether the C function " + function->name +
              " is the same in another run; set a version for it or for the cache, and change it when the "
              "function changes")
              .in_op("cache");
  });
  return status;
}

}  // namespace

Status Cache::infer(Node& node) {
  inherit(node);
  HEADRACE_TRY(check_has_fields(node));
  const Node& below = *node.input();
  if (!below.indexed)
    return invalid(
               "needs random access, which is lost after filter, unbatch, a window shuffle or "
               "on_error(\"skip\"); put cache before that, or write the elements to files with write()")
        .in_op("cache");
  if (!path.empty() && version.empty() && reads_objects(below))
    return invalid(
               "cannot tell whether the items of a Python sequence are the same in another run; pass "
               "version=, and change it when the items change")
        .in_op("cache");
  if (!path.empty() && version.empty()) HEADRACE_TRY(check_versions(below));
  if (path.empty() && !memory) memory = std::make_shared<MemoryCaches>();
  return {};
}

std::string Cache::details() const { return path.empty() ? "in memory" : "in " + in_quotes(path); }

}  // namespace headrace
