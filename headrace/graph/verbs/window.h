// window: elements in overlapping rows.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

// Element k consists of the rows k·shift, k·shift + stride … of the input: `size` of them, fewer at the end.
struct Window {
  static constexpr std::string_view
      verb = "window",
      doc = "Rows of `size` elements, `stride` apart, each beginning `shift` elements after the one before.";
  static constexpr VerbFacts facts{.gathers = true, .counts = true};
  uint64_t size = 1, shift = 1, stride = 1;
  bool drop_last = false, ragged = false;
  static constexpr std::tuple fields{
      Member{"size", &Window::size, "Elements of a row."},
      Member{"shift", &Window::shift, "Elements between the beginnings of two rows."},
      Member{"stride", &Window::stride, "Elements between two of a row."},
      Member{"drop_last", &Window::drop_last, "Leave out rows that are not full.", Presence::optional},
      Member{"ragged", &Window::ragged, "Elements may have unequal shapes, and stay as they are.",
             Presence::optional}};

  Status infer(Node& node) const;
  std::string details() const;
};

// The number of windows over `rows` rows.
uint64_t windows_of(const Window& window, uint64_t rows);

}  // namespace headrace
