// The messages of an object header that describe a dataset or a link. Pure; accepts any bytes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/hdf5/structures/contents.h"

namespace headrace::hdf5 {

enum MessageType : uint16_t {
  kDataspace = 1,
  kLinkInfo = 2,
  kDatatype = 3,
  kOldFill = 4,
  kFill = 5,
  kLink = 6,
  kExternalFiles = 7,
  kLayout = 8,
  kFilters = 11,
  kAttribute = 12,
  kContinuation = 16,
  kSymbolTable = 17,
  kAttributeInfo = 21,
};

// Fills dims and max_dims. Scalar and null dataspaces have no dimensions.
Status read_dataspace(Cursor cursor, Dataset& dataset);

// The kind and position of a chunk index.
enum class ChunkIndex : uint8_t { none, tree, single, implicit, fixed_array, extensible_array, tree2 };
struct ChunkPlace {
  ChunkIndex kind = ChunkIndex::none;
  uint64_t address = kNowhere;
  uint64_t single_size = 0;  // stored bytes of the only chunk, when it is filtered
  uint32_t single_mask = 0;
};
// Fills storage, compact, address and chunk.
Result<ChunkPlace> read_layout(Cursor cursor, Dataset& dataset);
Result<std::vector<Filter>> read_filters(Cursor cursor);
// The bytes of an element; empty if none was set.
Result<std::string> read_fill(Cursor cursor, bool is_old);

struct Link {
  enum class Kind : uint8_t { hard, soft, external, other };
  std::string name;
  Kind kind = Kind::hard;
  uint64_t address = kNowhere;  // of a hard link
  std::string target = {};      // of a soft one
};
Result<Link> read_link(Cursor cursor);

}  // namespace headrace::hdf5
