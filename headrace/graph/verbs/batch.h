// batch and padded_batch: several elements become one.
#pragma once
#include <optional>

#include "headrace/graph/padding.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Batch {
  static constexpr std::array<std::string_view, 2> verbs{"batch", "padded_batch"};
  static constexpr std::string_view doc =
      "Elements stacked into one; padded_batch: rows of unequal shapes are padded.";
  static constexpr VerbFacts facts{.gathers = true};
  uint64_t size = 1;
  bool drop_last = false, ragged = false;
  std::optional<Padding> padding = std::nullopt;
  static constexpr std::tuple fields{
      Member{"size", &Batch::size, "Elements of a batch."},
      Member{"drop_last", &Batch::drop_last, "Leave out a last batch that is not full.", Presence::optional},
      Member{"ragged", &Batch::ragged, "Rows may have unequal shapes, and stay as they are.",
             Presence::optional},
      Member{"padding", &Batch::padding, "Shapes and fill of padded rows.", Presence::if_changed}};

  static Batch named(std::string_view) { return {}; }
  std::string_view name() const { return verbs[padding ? 1 : 0]; }
  Status infer(Node& node) const;
  std::string details() const { return std::to_string(size) + rows_details(); }
  std::string rows_details() const;  // ", drop_last"
};

}  // namespace headrace
