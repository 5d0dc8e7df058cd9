// Whether bytes are UTF-8, for many of them at once. Any thread.
#pragma once
#include <cstdint>

namespace headrace::kernels {

// Surrogates, what could be written shorter and what is beyond U+10FFFF are none.
bool is_utf8(const uint8_t* text, int64_t count);
bool is_utf8_scalar(const uint8_t* text, int64_t count);

}  // namespace headrace::kernels
