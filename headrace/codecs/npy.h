// NumPy's .npy files: one array of numbers. Read and written without Python and without pickle: arrays of
// objects, strings and records are refused. Pure functions; any thread.
#pragma once
#include <span>
#include <string>

#include "headrace/core/tensor.h"

namespace headrace {

struct NpyHeader {
  DType dtype = DType::u8;
  Shape shape;
  bool column_major = false;  // Fortran order
  bool is_big_endian = false;
  size_t data = 0;  // where the numbers begin
};

// How many bytes precede the numbers, by the first kNpyPrefix bytes of a file; 0 when it is not such a file,
// or the number is too large.
inline constexpr size_t kNpyPrefix = 12;
size_t npy_header_bytes(std::span<const std::byte> bytes);

// From the first bytes of a file, which hold the header when they are as many as it states. Whether the data
// follows is not checked.
Result<NpyHeader> read_npy_header(std::span<const std::byte> bytes);

// The numbers in row-major order, little-endian. `file`: all of it. REQUIRES: the header is the file's, and
// `out` has room for them.
Status read_npy_data(std::span<const std::byte> file, const NpyHeader& header, std::byte* out);
// Whether the bytes of the file are what read_npy_data() would return.
bool is_npy_plain(const NpyHeader& header);

Status check_npy(DType dtype);  // an error for dtypes that NumPy does not have
// The header, version 1.0: a multiple of 64 bytes, at least `least`. REQUIRES: check_npy.
std::string new_npy_header(const TensorSpec& spec, size_t least = 0);
// A whole file. REQUIRES: check_npy.
void append_npy(const View& array, std::string& out);

}  // namespace headrace
