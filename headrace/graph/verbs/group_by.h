// bucket_by_length and group_by_window: batches of elements of one group.
#pragma once
#include "headrace/graph/program.h"
#include "headrace/graph/verbs/batch.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct GroupBy {
  static constexpr std::array<std::string_view, 2> verbs{"group_by_window", "bucket_by_length"};
  static constexpr std::string_view doc = "Batches of elements with one key, or with lengths of one range.";
  static constexpr VerbFacts facts{.gathers = true, .drops_or_adds = true};
  Program program;         // one integer (): the element's length, or the key of its group
  bool by_length = false;  // groups are the ranges between `boundaries`; otherwise each key is a group
  // Group i holds the lengths from boundaries[i - 1] on and below boundaries[i].
  std::vector<int64_t> boundaries;
  std::vector<uint64_t> sizes;   // elements of a batch, one number per group or one for all; or
  uint64_t token_budget = 0;     // maximum of (elements × longest length) of a batch
  bool pad_to_boundary = false;  // rows are padded to the longest that the group may hold
  Batch batch;                   // how rows become a batch; its size is not used
  static constexpr std::tuple fields{
      Member{"program", &GroupBy::program, "The length or the key: one integer ()."},
      Member{"boundaries", &GroupBy::boundaries, "Lengths at which the next group begins.",
             Presence::required, "bucket_by_length"},
      Member{"token_budget", &GroupBy::token_budget, "Most of (elements × longest length) in a batch.",
             Presence::if_changed},
      Member{"sizes", &GroupBy::sizes, "Elements of a batch, of each group or one for all.",
             Presence::if_changed},
      Member{"drop_last", [](auto& group) -> auto& { return group.batch.drop_last; },
             "Leave out batches that are not full at the end.", Presence::optional},
      Member{"ragged", [](auto& group) -> auto& { return group.batch.ragged; },
             "Rows may have unequal shapes, and stay as they are.", Presence::optional},
      Member{"padding", [](auto& group) -> auto& { return group.batch.padding; },
             "Shapes and fill of padded rows.", Presence::if_changed},
      Member{"pad_to_boundary", &GroupBy::pad_to_boundary, "Pad rows to the longest of their group.",
             Presence::if_changed, "bucket_by_length"}};

  static GroupBy named(std::string_view verb);
  std::string_view name() const { return verbs[by_length ? 1 : 0]; }
  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
