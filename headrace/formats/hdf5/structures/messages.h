// The messages of an object's header that say what a dataset is, and its links. Pure; any bytes may be given.
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
};

// Fills dims and max_dims. A scalar has no dimensions, and neither has what has no value at all.
Status read_dataspace(Cursor cursor, Dataset& dataset);

// Where chunks are found.
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
// The bytes of an element; empty when none was set.
Result<std::string> read_fill(Cursor cursor, bool is_old);

// The text of an attribute of this name; empty when it is another.
std::string read_attribute(Cursor cursor, std::string_view name);

struct Link {
  enum class Kind : uint8_t { hard, soft, external, other };
  std::string name;
  Kind kind = Kind::hard;
  uint64_t address = kNowhere;  // of a hard link
  std::string target = {};      // of a soft one
};
Result<Link> read_link(Cursor cursor);

}  // namespace headrace::hdf5
