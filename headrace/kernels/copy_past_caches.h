// A copy for data that is not read soon, or not before as much again was written as the caches hold: lines
// are written without being read first, which costs a third less, and the contents of the caches are kept.
// Free functions on borrowed memory, any thread.
#pragma once
#include <cstddef>

namespace headrace::kernels {

// When this much is written together, its beginning has left a core's caches at the end.
inline constexpr size_t kBeyondCaches = size_t{8} << 20;

// As std::memcpy(). Another thread sees all of it after synchronising by a mutex or an atomic.
void copy_past_caches(void* to, const void* from, size_t size);

}  // namespace headrace::kernels
