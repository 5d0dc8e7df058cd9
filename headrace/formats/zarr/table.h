// Everything to read from a store: which arrays are fields, which of their chunks exist, and how many rows
// are read at once.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/formats/meaning/files_agree.h"
#include "headrace/formats/zarr/hierarchy.h"
#include "headrace/io/store.h"

namespace headrace::zarr {

struct RowRange {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
};

// A chunk of the array's grid that has a file.
struct StoredChunk {
  uint64_t number = 0;  // in row-major order of the grid
  uint64_t file = 0;    // in the listing
};

struct Field {
  std::string name;
  Array array;
  std::vector<StoredChunk> chunks;  // by number; missing ones have the fill value
  std::vector<BufferPtr> indexes;   // of these, if they are shards; empty if each read requests its own
  bool is_to_keep = false;          // keep all rows in memory, since they are small
  BufferPtr kept;                   // the kept rows, once they are read

  const StoredChunk* find(uint64_t number, size_t* place) const;
};

// A store, or one store in a folder of stores with the same fields.
struct Part {
  std::string path;  // below the root; "" where it is the root
  std::string group;
  std::vector<Field> fields;
  uint64_t rows = 0, rows_each = 1;  // in total, per block
  uint64_t first_row = 0, first_block = 0;
  FieldChangesPtr changes = nullptr;  // of values: decoded, or to what holds for all stores
};

struct Table {
  std::string root;
  std::shared_ptr<const Listing> listing;
  std::vector<Part> parts;
  Schema schema;
  uint64_t rows = 0;
  Value attributes;                  // of the group, those that are the same in all parts; an object or null
  Agreed agreed;                     // what holds for all parts
  std::vector<std::string> decoded;  // fields whose values are decoded by the CF conventions
  Value field_attributes;            // of arrays that xarray wrote, those that are the same in all parts
  std::string fingerprint;

  const Part& part_of_row(uint64_t row) const;
  const Part& part_of_block(uint64_t block) const;
};

struct TableOptions {
  std::string group = {};  // whose arrays are fields; empty: the root, or the only one that has any
  std::vector<std::string> names = {};  // of arrays below it; all when empty
  std::optional<bool> raw = {};  // values as stored; not given: only of arrays that xarray did not write
  bool align_labels = false;
};
Result<Table> make_table(const Hierarchy& hierarchy, const TableOptions& options, std::string root,
                         std::shared_ptr<const Listing> listing);

// The files of an array's chunks, by their names.
std::vector<StoredChunk> find_chunks(const Names& files, const Array& array);

}  // namespace headrace::zarr
