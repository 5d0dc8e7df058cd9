// Reads all records of a version 2 B-tree, as bytes.
#pragma once
#include "headrace/formats/hdf5/structures/object_header.h"

namespace headrace::hdf5 {

struct Tree2 {
  uint8_t type = 0;  // of its records
  size_t record_bytes = 0;
  uint64_t records = 0;
};
// `record` is called for each record, in the order in which nodes are read; `end` after the last.
struct Tree2Visit {
  std::function<Status(const Tree2&, Cursor record)> record;
  std::function<Status()> end = [] { return Status(); };
};
void read_tree2(Fetches& fetches, Fetches::Owner owner, Place place, uint64_t address, Tree2Visit visit);

}  // namespace headrace::hdf5
