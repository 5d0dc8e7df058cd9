#include "headrace/kernels/affine.h"

#include <cmath>

#include "headrace/core/dtype.h"
#include "headrace/kernels/simd.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/affine.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

// The SIMD forms return how many elements they did, from the first on; the scalar twins do the rest.
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

int64_t affine_u8(const Affine&, const uint8_t*, int64_t, float*) { return 0; }
int64_t affine_f32(const Affine&, const float*, int64_t, float*) { return 0; }
bool inverses_divide(const Affine&, const float*) { return false; }
int64_t to_f16(const float*, int64_t, uint16_t*) { return 0; }
int64_t to_bf16(const float*, int64_t, uint16_t*) { return 0; }
int64_t to_u8(const float*, int64_t, uint8_t*) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;

HWY_INLINE VF load(DF, const uint8_t* in) {
  return hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<uint8_t, DF>(), in)));
}
HWY_INLINE VF load(DF d, const float* in) { return hn::LoadU(d, in); }

#if HWY_NATIVE_FMA
// dividend / divisor from the inverse of the divisor: the error of the first quotient is exact, and corrects
// it.
HWY_INLINE VF divided(VF dividend, VF divisor, VF inverse) {
  const VF quotient = hn::Mul(dividend, inverse);
  return hn::MulAdd(hn::NegMulAdd(quotient, divisor, dividend), inverse, quotient);
}

bool inverses_divide(const Affine& a, const float* inverse) {
  const DF d;
  for (int64_t c = 0; c < a.channels; ++c)
    for (int byte = 0; byte < 256; byte += static_cast<int>(hn::Lanes(d))) {
      const VF in = hn::ConvertTo(d, hn::Iota(DI(), byte));
      const VF dividend = hn::Sub(hn::Mul(in, hn::Set(d, a.scale)), hn::Set(d, a.mean[c]));
      const VF divisor = hn::Set(d, a.std[c]);
      const VF expected = hn::Div(dividend, divisor),
               found = divided(dividend, divisor, hn::Set(d, inverse[c]));
      if (!hn::AllTrue(DU(), hn::Eq(hn::BitCast(DU(), expected), hn::BitCast(DU(), found)))) return false;
    }
  return true;
}
#else
HWY_INLINE VF divided(VF dividend, VF divisor, VF) { return hn::Div(dividend, divisor); }
bool inverses_divide(const Affine&, const float*) { return false; }
#endif

template <bool kByInverse> HWY_INLINE VF quotient(VF dividend, VF divisor, VF inverse) {
  if constexpr (kByInverse)
    return divided(dividend, divisor, inverse);
  else
    return hn::Div(dividend, divisor);
}

template <bool kStreams> HWY_INLINE void store(VF values, float* out) {
  if constexpr (kStreams)
    hn::Stream(values, DF(), out);
  else
    hn::StoreU(values, DF(), out);
}
bool is_aligned(const float* out) {
  return reinterpret_cast<uintptr_t>(out) % (sizeof(float) * hn::Lanes(DF())) == 0;
}

template <class T, bool kByInverse, bool kStreams>
HWY_INLINE int64_t affine_of_one_channel(const Affine& a, const T* in, int64_t count, float* out) {
  const DF d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const VF scale = hn::Set(d, a.scale), mean = hn::Set(d, a.mean[0]), std = hn::Set(d, a.std[0]);
  const VF inverse = hn::Set(d, kByInverse ? a.inverse[0] : 0);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VF dividend = hn::Sub(hn::Mul(load(d, in + i), scale), mean);
    store<kStreams>(quotient<kByInverse>(dividend, std, inverse), out + i);
  }
  return i;
}

// The channels of a vector's lanes repeat after `channels` vectors, so that many vectors of mean and std are
// prepared once.
template <class T, bool kByInverse, bool kStreams>
HWY_INLINE int64_t affine(const Affine& a, const T* in, int64_t count, float* out) {
  if (a.channels == 1) return affine_of_one_channel<T, kByInverse, kStreams>(a, in, count, out);
  constexpr int64_t kMaxChannels = 4;
  const DF d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (a.channels > kMaxChannels || lanes > 16 || count < lanes) return 0;
  HWY_ALIGN float mean[16 * kMaxChannels];
  HWY_ALIGN float std[16 * kMaxChannels];
  HWY_ALIGN float inverse[16 * kMaxChannels];
  const int64_t period = lanes * a.channels;
  for (int64_t i = 0, c = 0; i < period; ++i) {
    mean[i] = a.mean[c], std[i] = a.std[c], inverse[i] = kByInverse ? a.inverse[c] : 0;
    if (++c == a.channels) c = 0;
  }
  const VF scale = hn::Set(d, a.scale);
  int64_t i = 0;
  for (int64_t at = 0; i + lanes <= count; i += lanes) {
    const VF dividend = hn::Sub(hn::Mul(load(d, in + i), scale), hn::Load(d, mean + at));
    store<kStreams>(quotient<kByInverse>(dividend, hn::Load(d, std + at), hn::Load(d, inverse + at)),
                    out + i);
    if ((at += lanes) == period) at = 0;
  }
  return i;
}
int64_t affine_u8(const Affine& a, const uint8_t* in, int64_t count, float* out) {
  if (!a.inverse) return affine<uint8_t, false, false>(a, in, count, out);
  return a.streams && is_aligned(out) ? affine<uint8_t, true, true>(a, in, count, out)
                                      : affine<uint8_t, true, false>(a, in, count, out);
}
int64_t affine_f32(const Affine& a, const float* in, int64_t count, float* out) {
  return affine<float, false, false>(a, in, count, out);
}

// `narrow` converts the bits of f32 lanes to 16-bit values in 32-bit lanes.
template <class F> HWY_INLINE int64_t narrow_all(const float* in, int64_t count, uint16_t* out, F&& narrow) {
  const DU du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(du));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VU bits = narrow(hn::BitCast(du, hn::LoadU(DF(), in + i)));
    const hn::Rebind<uint16_t, DF> d16;
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(DI(), bits)), d16, out + i);
  }
  return i;
}

// The integer arithmetic of f32_to_f16, branch by branch.
int64_t to_f16(const float* in, int64_t count, uint16_t* out) {
  const DU du;
  const auto set = [&](uint32_t x) { return hn::Set(du, x); };
  return narrow_all(in, count, out, [&](VU x) {
    const VU sign = hn::And(hn::ShiftRight<16>(x), set(0x8000u)), a = hn::And(x, set(0x7fffffffu));
    const VU odd = hn::And(hn::ShiftRight<13>(a), set(1));
    const VU normal = hn::ShiftRight<13>(hn::Add(hn::Sub(a, set(0x38000000u)), hn::Add(odd, set(0xfffu))));
    const VF shifted =
        hn::Add(hn::BitCast(DF(), a), hn::Set(DF(), 0.5f));  // a subnormal half: the adder rounds
    const VU subnormal = hn::Sub(hn::BitCast(du, shifted), set(0x3f000000u));
    const VU special = hn::IfThenElse(hn::Gt(a, set(0x7f800000u)), set(0x7e00u), set(0x7c00u));
    const VU finite = hn::IfThenElse(hn::Lt(a, set(0x38800000u)), subnormal, normal);
    return hn::Or(sign, hn::IfThenElse(hn::Lt(a, set(0x47800000u)), finite, special));
  });
}

int64_t to_bf16(const float* in, int64_t count, uint16_t* out) {
  const DU du;
  const auto set = [&](uint32_t x) { return hn::Set(du, x); };
  return narrow_all(in, count, out, [&](VU x) {
    const VU upper = hn::ShiftRight<16>(x);
    const VU rounded = hn::ShiftRight<16>(hn::Add(x, hn::Add(set(0x7fffu), hn::And(upper, set(1)))));
    return hn::IfThenElse(hn::Gt(hn::And(x, set(0x7fffffffu)), set(0x7f800000u)), hn::Or(upper, set(0x40u)),
                          rounded);
  });
}

int64_t to_u8(const float* in, int64_t count, uint8_t* out) {
  const DF d;
  const hn::Rebind<uint8_t, DF> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VF v = hn::LoadU(d, in + i);
    const VF number = hn::IfThenElseZero(hn::Eq(v, v), v);
    const VF clamped = hn::Min(hn::Max(number, hn::Zero(d)), hn::Set(d, 255.0f));
    hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(clamped)), d8, out + i);
  }
  return i;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(affine_u8);
HWY_EXPORT(affine_f32);
HWY_EXPORT(inverses_divide);
HWY_EXPORT(to_f16);
HWY_EXPORT(to_bf16);
HWY_EXPORT(to_u8);

template <class T> void affine_plain(const Affine& a, const T* in, int64_t first, int64_t count, float* out) {
  int64_t c = first % a.channels;
  for (int64_t i = first; i < count; ++i) {
    out[i] = (static_cast<float>(in[i]) * a.scale - a.mean[c]) / a.std[c];
    if (++c == a.channels) c = 0;
  }
}

}  // namespace

bool find_inverses(const Affine& affine, float* inverse) {
  for (int64_t c = 0; c < affine.channels; ++c) inverse[c] = 1.0f / affine.std[c];
  return HWY_DYNAMIC_DISPATCH(inverses_divide)(affine, inverse);
}

void apply(const Affine& affine, const uint8_t* in, int64_t count, float* out) {
  affine_plain(affine, in, HWY_DYNAMIC_DISPATCH(affine_u8)(affine, in, count, out), count, out);
}
void apply(const Affine& affine, const float* in, int64_t count, float* out) {
  affine_plain(affine, in, HWY_DYNAMIC_DISPATCH(affine_f32)(affine, in, count, out), count, out);
}
void finish_streaming() { hwy::FlushStream(); }
void apply_scalar(const Affine& affine, const uint8_t* in, int64_t count, float* out) {
  affine_plain(affine, in, 0, count, out);
}
void apply_scalar(const Affine& affine, const float* in, int64_t count, float* out) {
  affine_plain(affine, in, 0, count, out);
}

void narrow_to_f16(const float* in, int64_t count, uint16_t* out) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(to_f16)(in, count, out);
  narrow_to_f16_scalar(in + done, count - done, out + done);
}
void narrow_to_bf16(const float* in, int64_t count, uint16_t* out) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(to_bf16)(in, count, out);
  narrow_to_bf16_scalar(in + done, count - done, out + done);
}
void narrow_to_f16_scalar(const float* in, int64_t count, uint16_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = f32_to_f16(in[i]);
}
void narrow_to_bf16_scalar(const float* in, int64_t count, uint16_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = f32_to_bf16(in[i]);
}

void round_to_u8(const float* in, int64_t count, uint8_t* out) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(to_u8)(in, count, out);
  round_to_u8_scalar(in + done, count - done, out + done);
}
void round_to_u8_scalar(const float* in, int64_t count, uint8_t* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = in[i] >= 255.0f ? uint8_t{255}
             : in[i] > 0.0f  ? static_cast<uint8_t>(std::nearbyint(in[i]))
                             : uint8_t{0};
}

}  // namespace headrace::kernels
#endif
