// --bind NAME=FILE: data for the slots of a saved pipeline.
#pragma once
#include <string>
#include <vector>

#include "headrace/headrace.h"

namespace headrace::cli {

// Sources for the slots of a plan, from "NAME=FILE": an .npy file is an array, a .txt file a column of
// strings, one per line, an .npz file several columns. "NAME/FIELD=FILE" is one of several columns. Calls
// refuse() for names that the plan does not have.
Result<Bindings> bindings(const std::vector<std::string>& bind, std::string_view plan);

}  // namespace headrace::cli
