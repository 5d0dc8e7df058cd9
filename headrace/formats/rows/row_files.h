// The Source of arrays stored in files as rows of one size: NumPy, IDX, CIFAR batches.
//
// A format provides the positions of the rows of each field (FieldRows), file by file (RowPart); this adds
// blocks, combined reads of small rows, and arrays kept in memory. Samples are the rows of the first part,
// then those of the second, and so on. The code that makes a RowTable has checked its positions against the
// sizes of the files.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

// Converts `count` consecutive rows as stored to the layout of the field's spec: other byte orders, other
// orders of axes. Any thread; any bytes. `out` has room for them.
using ConvertRows = std::function<void(std::span<const std::byte> stored, uint64_t count, std::byte* out)>;

// Where the rows of a field are in one file. Row i begins at `offset` + i * `stride` and has `bytes`.
struct FieldRows {
  uint64_t file = 0;  // ordinal in RowTable::files
  uint64_t offset = 0, stride = 0, bytes = 0;
  // Of an array in Fortran order: the numbers of a row, `item` bytes each, where number k is at
  // `offset` + (k * rows + i) * `item`. 0: rows are stored as above.
  uint64_t numbers = 0, item = 0;
  ConvertRows convert = nullptr;  // null: stored in the layout of the spec
  BufferPtr held = nullptr;       // all of it, if it is in memory; `offset` then refers to this buffer
};

struct RowField {
  std::string name;
  TensorSpec spec;  // of a row
};

struct RowPart {
  uint64_t rows = 0;
  std::vector<FieldRows> fields;  // in the order of RowTable::fields
};

struct RowTable {
  std::string format;
  std::vector<SourceFile> files;
  std::vector<RowField> fields;
  std::vector<RowPart> parts;
  Value description, left_out;
};

// Number of bytes that all rows of an array take in the file, from FieldRows::offset on.
uint64_t bytes_in_file(const FieldRows& rows, uint64_t count);

// Copies all rows to memory, in the layout of the spec. `stored`: the bytes_in_file() bytes of the rows.
void hold_rows(const TensorSpec& spec, uint64_t count, std::span<const std::byte> stored, FieldRows& rows);

SourcePtr row_files(RowTable table);

}  // namespace headrace
