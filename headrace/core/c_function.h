/* What a C function looks like that a pipeline calls with whole arrays: for whoever writes one in C, C++,
 * Rust or with numba. C and C++ read this header. Functions of single numbers, double f(double), need nothing
 * of it.
 *
 * Workers call the function from many threads at once, none of which holds a lock of Python. It wants to
 * depend on its arguments alone: then a run gives the same bytes with any number of workers, and after a
 * restart. It neither throws nor keeps a pointer. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// clang-format off
/*   inputs[i]   elements of input i, dense, in C order, of the dtype that was declared for it; not to be
 *               written
 *   shapes[i]   dimensions of input i, as many as were declared
 *   outputs[i]  where the elements of output i go, dense, in C order; all zero at first. Its dimensions are
 *               those declared: numbers, or names of dimensions of inputs
 *   key         two numbers that are those of this sample, epoch and function, as the key of a Philox4x64 or
 *               a seed; null unless the function was declared random
 *   user        what was given with the function
 * Answers 0; anything else is an error, which names it. */
// clang-format on
typedef int (*headrace_function)(const void* const* inputs, const int64_t* const* shapes,
                                 void* const* outputs, const uint64_t* key, void* user);

#ifdef __cplusplus
}
#endif
