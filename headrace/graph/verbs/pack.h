// pack: sequences one after another in rows of fixed lengths.
#pragma once
#include <vector>

#include "headrace/graph/verb_options.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

template <> struct EnumNames<PackStrategy> {
  static constexpr std::array<std::string_view, 3> names{"first_fit", "best_fit", "concat_and_split"};
};

// Rows have segment ids and positions beside the packed fields.
struct Pack {
  static constexpr std::string_view
      verb = "pack",
      doc = "Sequences packed one after another into rows of fixed lengths, with segment ids and positions.";
  static constexpr VerbFacts facts{.gathers = true, .drops_or_adds = true};
  PackStrategy strategy = PackStrategy::first_fit;
  std::vector<int> packed;        // the packed fields; others are left out
  std::vector<uint64_t> lengths;  // of a row, one per field
  std::vector<Value> fill;        // one per field
  uint64_t bins = 1;              // rows that are filled at the same time
  uint64_t most = 0;              // maximum number of sequences in a row; 0: no limit
  bool drop_last = false;         // leave out rows that are not full at the end (concat_and_split)
  static constexpr std::tuple fields{
      Member{"strategy", &Pack::strategy, "Which row a sequence is put into."},
      Member{"fields", &Pack::packed, "The packed fields, by position; others are left out."},
      Member{"lengths", &Pack::lengths, "Length of a row, of each field."},
      Member{"fill", &Pack::fill, "The number behind the last sequence, of each field.", Presence::optional},
      Member{"bins", &Pack::bins, "Rows that are filled at the same time."},
      Member{"most", &Pack::most, "Most sequences of a row; 0: no limit."},
      Member{"drop_last", &Pack::drop_last, "Leave out rows that are not full at the end.",
             Presence::optional}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
