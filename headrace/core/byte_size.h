// Human-readable sizes: "150MB". Pure; any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/core/status.h"

namespace headrace {

// A number, then B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (of 1024) or nothing, in any case.
Result<uint64_t> parse_byte_size(std::string_view text);
std::string byte_size_text(double bytes);  // "602.1 kB", powers of 1000

}  // namespace headrace
