#include "headrace/formats/webdataset/npy.h"

namespace headrace {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr size_t kAlignment = 64;

std::string_view descr(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "|b1";
    case DType::u8: return "|u1";
    case DType::u16: return "<u2";
    case DType::u32: return "<u4";
    case DType::u64: return "<u8";
    case DType::i8: return "|i1";
    case DType::i16: return "<i2";
    case DType::i32: return "<i4";
    case DType::i64: return "<i8";
    case DType::f16: return "<f2";
    case DType::f32: return "<f4";
    case DType::f64: return "<f8";
    default: return "";
  }
}

}  // namespace

Status check_npy(DType dtype) {
  return descr(dtype).empty() ? invalid("npy holds no " + std::string(dtype_name(dtype)) + "; cast it")
                              : Status();
}

void append_npy(const View& array, std::string& out) {
  std::string dims;
  for (const int64_t dim : array.shape.dims()) dims += (dims.empty() ? "" : " ") + std::to_string(dim) + ",";
  if (array.shape.rank() > 1) dims.pop_back();
  std::string header = "{'descr': '" + std::string(descr(array.dtype)) +
                       "', 'fortran_order': False, 'shape': (" + dims + "), }";
  const size_t before = kMagic.size() + 2;
  header.append(kAlignment - (before + header.size() + 1) % kAlignment, ' ') += '\n';
  out.append(kMagic);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out.append(header);
  out.append(reinterpret_cast<const char*>(array.data), array.size_bytes());
}

}  // namespace headrace
