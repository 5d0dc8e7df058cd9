// Whether bytes are UTF-8, fast for long inputs. Any thread.
#pragma once
#include <cstdint>

namespace headrace::kernels {

// Surrogates, overlong forms and code points beyond U+10FFFF are invalid.
bool is_utf8(const uint8_t* text, int64_t count);
bool is_utf8_scalar(const uint8_t* text, int64_t count);

}  // namespace headrace::kernels
