// A copy of bytes that are in no nearby cache, as is typical for mapped files: copies from several pages at
// once. A processor prefetches within a page, and waits where the next one begins; doing eight pages together
// saves a quarter to a third of the time. Free function on borrowed memory, any thread.
#pragma once
#include <cstddef>

namespace headrace::kernels {

// As std::memcpy().
void copy_far(void* to, const void* from, size_t size);

}  // namespace headrace::kernels
