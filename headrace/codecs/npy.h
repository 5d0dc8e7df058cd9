// NumPy's .npy files: one array of numbers. Read and written without Python and without pickle: arrays of
// objects, texts and records are refused. Pure functions; any thread.
#pragma once
#include <span>
#include <string>

#include "headrace/core/tensor.h"

namespace headrace {

struct NpyHeader {
  DType dtype = DType::u8;
  Shape shape;
  bool column_major = false;  // Fortran's order
  bool is_big_endian = false;
  size_t data = 0;  // where the numbers begin
};

// From the first bytes of a file, which hold the header when they are as many as it says. Whether the data
// follow is not looked at.
Result<NpyHeader> read_npy_header(std::span<const std::byte> bytes);

// The numbers in row-major order, little-endian. `file`: all of it. REQUIRES: the header is the file's, and
// `out` has room for them.
Status read_npy_data(std::span<const std::byte> file, const NpyHeader& header, std::byte* out);
// Whether the bytes of the file are what read_npy_data() would give.
bool is_npy_plain(const NpyHeader& header);

Status check_npy(DType dtype);  // an error for what NumPy has no name for
// All of a file, version 1.0. REQUIRES: check_npy.
void append_npy(const View& array, std::string& out);

}  // namespace headrace
