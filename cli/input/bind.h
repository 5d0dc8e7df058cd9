// --bind NAME=FILE: data that a saved pipeline names and does not hold.
#pragma once
#include <string>
#include <vector>

#include "headrace/headrace.h"

namespace headrace::cli {

// Sources of what "NAME=FILE" says, for the slots of a plan: an .npy file is an array, a .txt file a column
// of texts, a line each, an .npz file several columns. "NAME/FIELD=FILE" is a column of several. Calls
// refuse() for names that the plan has not.
Result<Bindings> bindings(const std::vector<std::string>& bind, std::string_view plan);

}  // namespace headrace::cli
