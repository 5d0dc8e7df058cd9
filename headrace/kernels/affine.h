// Scales and shifts runs of numbers, and narrows f32 to smaller types: the arithmetic of normalize, without
// any geometry.
//
// Free functions on borrowed memory, any thread. Every step is one IEEE operation (no fused multiply-add, a
// true division), so each SIMD target gives the bits of the scalar twin.
#pragma once
#include <cstdint>

namespace headrace::kernels {

// out = (in * scale - mean[c]) / std[c], where c is the position modulo `channels`.
struct Affine {
  const float* mean = nullptr;
  const float* std = nullptr;
  int64_t channels = 1;
  float scale = 1;
  const float* inverse = nullptr;  // filled by find_inverses; bytes are then divided in half the time
  // Results bypass the caches, where they are aligned: for memory that is not read before much else was
  // written. Other threads see them after finish_streaming().
  bool streams = false;
};
// Fills inverse[c] with 1 / std[c]. True when a product with it, corrected once, is the rounded quotient for
// each of the 256 bytes (P. Markstein, IBM J. Res. Dev. 34, 1990): verified, and only where the CPU has a
// fused multiply-add.
bool find_inverses(const Affine& affine, float* inverse);

void apply(const Affine& affine, const uint8_t* in, int64_t count, float* out);
void apply(const Affine& affine, const float* in, int64_t count, float* out);
void finish_streaming();
void apply_scalar(const Affine& affine, const uint8_t* in, int64_t count, float* out);
void apply_scalar(const Affine& affine, const float* in, int64_t count, float* out);

// IEEE half and bfloat16, to nearest even; NaN stays a NaN. The bits of f32_to_f16 and f32_to_bf16 in
// core/dtype.h.
void narrow_to_f16(const float* in, int64_t count, uint16_t* out);
void narrow_to_bf16(const float* in, int64_t count, uint16_t* out);
void narrow_to_f16_scalar(const float* in, int64_t count, uint16_t* out);
void narrow_to_bf16_scalar(const float* in, int64_t count, uint16_t* out);

// To nearest even, clamped to 0 .. 255; NaN becomes 0.
void round_to_u8(const float* in, int64_t count, uint8_t* out);
void round_to_u8_scalar(const float* in, int64_t count, uint8_t* out);

}  // namespace headrace::kernels
