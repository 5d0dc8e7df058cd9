// What tests/sources/data/make.py put into the small files: the same formulas, in C++.
#pragma once
#include <fstream>
#include <iterator>
#include <string>

#include "tests/sources/conformance.h"

namespace headrace::trial {

inline constexpr int kRows = 11;

inline std::string small_file(const std::string& name) {
  std::ifstream in(std::string(HEADRACE_TEST_SOURCES_DATA) + "/" + name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

inline std::string image_of(int row) {
  std::string bytes;
  for (int i = 0; i < 13 * (row % 5) + row; ++i) bytes += static_cast<char>((7 * row + 3 * i) % 251);
  return bytes;
}

template <class T> std::string number_bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

inline std::string text_field(DType dtype, const std::string& bytes) {
  return field_text(dtype, {static_cast<int64_t>(bytes.size())}, bytes);
}

inline std::string class_field(int row) {
  return field_text(DType::u16, {}, number_bytes(static_cast<uint16_t>(row * 6007 % 65536)));
}

}  // namespace headrace::trial
