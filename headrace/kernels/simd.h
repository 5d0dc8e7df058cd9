// Which SIMD targets the kernels are compiled for. Every file with a Highway kernel includes this before
// anything of Highway.
//
// Baseline x86-64 runs the scalar twins; CPUs from 2008 on run SSE4, from 2013 on AVX2, servers AVX3
// (AVX-512). SSSE3 alone is left out: each target costs compile time, and hardly a CPU that still works has
// it without SSE4. ARM runs NEON; the vectors of SVE have no fixed size, so a struct cannot hold them.
#pragma once
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// True where Highway would emulate vectors (which of its two emulations depends on the compiler): kernels
// then call their scalar twins. For use in #if, within the part that is compiled per target.
#define HEADRACE_NO_SIMD (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
