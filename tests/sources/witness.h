// Files of each format's own writer, below $HEADRACE_DATA/official_writers, compared with each other. Tests
// that need them skip without the variable.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/sources/conformance.h"

namespace headrace::trial {

std::string witness_folder();  // empty without the variable

using OpenOne = std::function<Result<SourceOpeningPtr>(SourceFile file)>;

// sample_text() of all samples of one file.
Result<std::vector<std::string>> read_witness(const std::string& path, const OpenOne& open);

}  // namespace headrace::trial
