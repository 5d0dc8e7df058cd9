// Arrays as NumPy's .npy files, version 1.0. Pure; any thread.
#pragma once
#include <string>

#include "headrace/core/tensor.h"

namespace headrace {

Status check_npy(DType dtype);  // an error for what NumPy has no name for
// REQUIRES: check_npy.
void append_npy(const View& array, std::string& out);

}  // namespace headrace
