// The slots of a saved pipeline: what it names and does not hold. From its text alone, nothing is opened.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/value.h"

namespace headrace::cli {

struct Slot {
  enum Kind : uint8_t { data, python_data, generator, function };
  std::string name;
  Kind kind = data;
  Value described;  // what the plan says of it
};

// Each once, in the order of the plan; none when it is no JSON.
std::vector<Slot> slots_of(std::string_view plan);

std::string wants_text(const Slot& slot);       // "qty: i64 (), price: f64 () a row"
std::string bind_text(const Slot& slot);        // how to give it
std::string steps_text(std::string_view plan);  // the verbs, one a line, as explain has them

}  // namespace headrace::cli
