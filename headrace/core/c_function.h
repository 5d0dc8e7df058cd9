/* The signature of a C function that a pipeline calls with whole arrays: for authors of such functions in C,
 * C++, Rust or with numba. C and C++ include this header. Functions of scalars, double f(double), do not need
 * it.
 *
 * Workers call the function from many threads at once, without holding the GIL. It should depend on its
 * arguments alone: then a run gives the same bytes with any number of workers, and after a restart. It must
 * not throw and must not keep a pointer. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// clang-format off
/*   inputs[i]   elements of input i, dense, in C order, of the declared dtype; read-only
 *   shapes[i]   dimensions of input i, as many as declared
 *   outputs[i]  where the elements of output i go, dense, in C order; initially zero. Its dimensions are the
 *               declared ones: numbers, or names of input dimensions
 *   key         two numbers that depend on this sample, epoch and function, as the key of a Philox4x64 or a
 *               seed; null unless the function was declared random
 *   user        the pointer that was given with the function
 * Returns 0; any other value is an error, and the message contains it. */
// clang-format on
typedef int (*headrace_function)(const void* const* inputs, const int64_t* const* shapes,
                                 void* const* outputs, const uint64_t* key, void* user);

#ifdef __cplusplus
}
#endif
