// A copy for who will not look at it soon, or not before as much again was written as caches hold: lines are
// written without being read first, which costs a third less, and what lies in the caches stays there. Free
// functions on borrowed memory, any thread.
#pragma once
#include <cstddef>

namespace headrace::kernels {

// Of so much that is written together, the beginning is gone from the caches of a core at the end.
inline constexpr size_t kBeyondCaches = size_t{8} << 20;

// As std::memcpy(). Another thread that is told by a mutex or an atomic sees all of it.
void copy_past_caches(void* to, const void* from, size_t size);

}  // namespace headrace::kernels
