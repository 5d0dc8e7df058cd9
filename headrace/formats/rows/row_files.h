// The Source of arrays that lie in files as rows of one size: NumPy's, IDX, CIFAR's batches.
//
// A format says where the rows of each field lie (FieldRows), file by file (RowPart); this is the rest:
// blocks, small rows read together, arrays that are kept in memory. Samples are the rows of the first part,
// then those of the second, and so on. Whoever makes a RowTable has checked its places against the sizes of
// the files.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

// `count` rows as the file has them, one behind the other, as the field's spec wants them: other byte orders,
// other orders of axes. Any thread; any bytes. `out` has room for them.
using ConvertRows = std::function<void(std::span<const std::byte> stored, uint64_t count, std::byte* out)>;

// Where the rows of a field lie in one file. Row i begins at `offset` + i * `stride` and has `bytes`.
struct FieldRows {
  uint64_t file = 0;  // ordinal in RowTable::files
  uint64_t offset = 0, stride = 0, bytes = 0;
  // Of an array in Fortran's order: the numbers of a row, `item` bytes each, of which number k stands at
  // `offset` + (k * rows + i) * `item`. 0: rows are as above.
  uint64_t numbers = 0, item = 0;
  ConvertRows convert = nullptr;  // null: they are as the spec wants them
  BufferPtr held = nullptr;       // all of it is in memory, and `offset` is in there
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

// Bytes of the file that all rows of an array take, from FieldRows::offset on.
uint64_t bytes_in_file(const FieldRows& rows, uint64_t count);

// Copies all rows to memory, as the spec wants them. `stored`: bytes_in_file() of them.
void hold_rows(const TensorSpec& spec, uint64_t count, std::span<const std::byte> stored, FieldRows& rows);

SourcePtr row_files(RowTable table);

}  // namespace headrace
