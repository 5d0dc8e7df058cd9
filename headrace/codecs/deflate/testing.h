// Compresses, for tests; defined in inflate_test.cc.
#pragma once
#include <string>

namespace headrace {

enum class Wrap { zlib, gzip };
std::string deflated(const std::string& text, Wrap wrap);

}  // namespace headrace
