// Compresses, for tests; defined in frames_test.cc.
#pragma once
#include <string>

namespace headrace {

// A frame for every `frame` bytes of the text; 0: one for all.
std::string in_zstd_frames(const std::string& text, size_t frame = 0);

}  // namespace headrace
