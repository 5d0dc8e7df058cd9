// What is known of an HDF5 file: its datasets, where their bytes lie, and how elements become values. Found
// by structure.h, kept in the file's sidecar, and all that rows are read with.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/formats/hdf5/structures/cursor.h"

namespace headrace::hdf5 {

// How the bytes of a leaf become a value.
enum class Form : uint8_t {
  number,    // as they are, or swapped
  boolean,   // an enum of FALSE and TRUE
  text,      // of a fixed length, padded
  sequence,  // a reference to a run of values in a global heap; of u8: bytes
  string,    // the same, as text
};

// An element, or a member of a compound.
struct Leaf {
  std::string name;     // "day", "image/bytes"; empty when the element is no compound
  uint64_t offset = 0;  // in the element
  uint64_t bytes = 0;   // there; of a reference, its size
  Form form = Form::number;
  DType dtype = DType::u8;
  bool swaps = false;              // from big-endian
  uint8_t padding = 0;             // of text: 0 ends with NUL, 1 NULs, 2 spaces
  std::vector<int64_t> item = {};  // dimensions of it, or of each value of the run
  Status refusal = {};             // why it is not read
  // Of references: where each row's object is likely to be in its collection; 0: anywhere. Empty: nothing is
  // known.
  std::vector<uint32_t> places = {};

  bool is_vlen() const { return form == Form::sequence || form == Form::string; }
  uint64_t item_bytes() const;  // of a run's value
};

struct Filter {
  uint16_t id = 0;
  std::vector<uint32_t> values = {};
  bool operator==(const Filter&) const = default;
};

struct Chunk {
  uint64_t index = 0;  // of its place among the dataset's chunks, row-major
  uint64_t address = 0, size = 0;
  uint32_t mask = 0;  // bit i: filter i was left out
  bool operator==(const Chunk&) const = default;
};

enum class Storage : uint8_t { compact, contiguous, chunked };

struct Dataset {
  std::vector<uint64_t> dims, max_dims = {};
  uint64_t element = 0;  // bytes
  std::vector<Leaf> leaves = {};
  std::string fill = {};  // an element's bytes; empty: zeros
  Storage storage = Storage::contiguous;
  std::string compact = {};
  uint64_t address = kNowhere;       // of contiguous data; kNowhere: all is fill
  std::vector<uint64_t> chunk = {};  // dimensions in elements
  std::vector<Filter> filters = {};  // in the order they were applied
  bool edges_are_plain = false;      // chunks that reach over the end are not filtered
  std::vector<Chunk> chunks = {};    // sorted by index; those that are there
  std::string kept = {};             // all rows, of references and of small values
  Status refusal = {};               // why it is not read

  uint64_t rows() const { return dims[0]; }
  uint64_t row_elements() const;  // REQUIRES: as check() found them
  uint64_t row_bytes() const { return row_elements() * element; }
  uint64_t chunk_bytes() const;
  bool has_rows() const { return !dims.empty(); }
  bool has_vlen() const;
};

// What a path in the file means.
struct Name {
  std::string path;  // "train/images"
  uint64_t dataset = kNowhere;
  Status refusal = {};  // of a link that leads to none
};

// The attribute of the root group in which our writer says which fields there are, in their order, and what
// the source said of itself: {"fields": […], "about": {…}}.
inline constexpr std::string_view kAboutName = "headrace";

struct Contents {
  int address_bytes = 8, length_bytes = 8;  // how the file writes numbers
  uint64_t base = 0;                        // that addresses count from, inside references
  std::vector<Dataset> datasets;
  std::vector<Name> names;  // sorted by path
  std::string about;        // the attribute; empty: there is none

  const Name* find(std::string_view path) const;
};

// That no product of these numbers overflows, and that all of it lies in a file of this size.
Status check(const Dataset& dataset, uint64_t file_size);

std::string pack(const Contents& contents);
// The bytes may be any; what comes back is as sound as what check() accepts.
Result<Contents> unpack(std::string_view bytes, uint64_t file_size);

}  // namespace headrace::hdf5
