// The slots of a saved pipeline: data and functions that it needs but does not contain. From its text alone;
// nothing is opened.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/value.h"

namespace headrace::cli {

struct Slot {
  enum Kind : uint8_t { data, python_data, generator, function, order };
  std::string name;
  Kind kind = data;
  Value described;  // as described in the plan
};

// Each slot once, in the order of the plan; none if it is not JSON.
std::vector<Slot> slots_of(std::string_view plan);

std::string expected_text(const Slot& slot);    // what it expects: "qty: int64 (), price: float64 () per row"
std::string bind_text(const Slot& slot);        // how to bind it
std::string steps_text(std::string_view plan);  // the verbs, one per line, as in explain()

}  // namespace headrace::cli
