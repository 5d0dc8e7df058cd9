// The index of an LMDB file: its blocks in the order of the keys, found by walking the tree once.
//
// A block is a run of values inside one leaf page, one big value in its own pages, or what was lost with a
// damaged page: one record that cannot be read, however many there were. FileIndex::records are the blocks'
// extents, in no order, and `extra` has the rest: where a block's records begin and the keys of big values,
// so that reading a record takes one read.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/format.h"
#include "headrace/formats/lmdb/datum.h"
#include "headrace/formats/lmdb/tensor_protos.h"

namespace headrace {

struct LmdbBlock {
  enum Kind : uint16_t { run, big, lost };
  uint64_t first = 0;     // record of the file
  uint64_t key = 0;       // position in `keys` of a big value's key; of a lost block: of the reason
  uint32_t node = 0;      // of a run: the first record's node
  uint16_t key_size = 0;  // of a big value's key, or of the reason
  uint16_t kind = run;
};

struct LmdbIndex {
  uint64_t page_size = 0, size = 0;  // size: number of all records
  DatumKind datum;                   // kind of the first value as a Datum
  std::vector<LmdbBlock> blocks;
  std::string keys;
  TensorProtosKind tensors = {};  // kind of the first value as TensorProtos
};

// As FileIndex::extra. Unpacking gives nothing if it is not that of `blocks` blocks.
std::string pack_lmdb(const LmdbIndex& index);
std::optional<LmdbIndex> unpack_lmdb(std::string_view extra, size_t blocks);

std::unique_ptr<Opening<FileIndex>> walk_lmdb(SourceFile file);

}  // namespace headrace
