#include "headrace/graph/verbs/group_by.h"

#include <algorithm>
#include <functional>

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

GroupBy GroupBy::named(std::string_view verb) {
  GroupBy out;
  out.by_length = verb == verbs[1];
  return out;
}

Status GroupBy::infer(Node& node) const {
  inherit(node);
  const std::string verb(name());
  const auto& out = program.schema.specs;
  if (out.size() != 1 || is_float(out[0].dtype) || is_text(out[0].dtype) || out[0].shape.rank() != 0)
    return invalid(verb + ": " + (by_length ? "the length" : "the key") +
                   " must be one integer scalar (), got " + program.schema.text());
  if (std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>()) != boundaries.end())
    return invalid(verb + ": boundaries must increase");
  if ((token_budget > 0) == !sizes.empty())
    return invalid(verb + ": expected batch sizes or a token budget, and not both");
  const size_t groups = boundaries.size() + 1;
  if (!sizes.empty() && sizes.size() != 1 && sizes.size() != groups)
    return invalid({.expected =
                        "a batch size for each of the " + std::to_string(groups) + " groups, or one for all",
                    .got = std::to_string(sizes.size())})
        .in_op(verb);
  for (const uint64_t size : sizes)
    if (size < 1 || size > (uint64_t{1} << 31))
      return invalid(verb + ": sizes must be from 1 to 2^31, got " + std::to_string(size));
  if (pad_to_boundary && (!batch.padding || boundaries.empty()))
    return invalid(verb + ": pad_to_boundary needs padding and boundaries");
  const bool exact = batch.drop_last && sizes.size() == 1;
  HEADRACE_TRY(batch_rows(node, batch, exact ? static_cast<int64_t>(sizes[0]) : kAny));
  end_random_access(node, std::nullopt);
  return {};
}

std::string GroupBy::details() const {
  std::string out = steps_text(program);
  if (by_length) out += ", boundaries " + list_text(boundaries);
  out += token_budget > 0 ? ", token_budget=" + std::to_string(token_budget) : ", sizes " + list_text(sizes);
  return out + batch.rows_details() + (pad_to_boundary ? ", pad_to_boundary" : "");
}

}  // namespace headrace
