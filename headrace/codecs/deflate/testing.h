// Compresses, for tests; inflate_test.cc has it.
#pragma once
#include <string>

namespace headrace {

enum class Wrap { zlib, gzip };
std::string deflated(const std::string& text, Wrap wrap);

}  // namespace headrace
