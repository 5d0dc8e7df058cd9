// The index of an HDF5 file: its datasets, where their bytes are, and how elements become values. Built by
// structure.h, kept in the file's sidecar, and sufficient to read rows.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/formats/hdf5/structures/cursor.h"
#include "headrace/formats/meaning/attributes.h"

namespace headrace::hdf5 {

// How the bytes of a leaf become a value.
enum class Form : uint8_t {
  number,    // as stored, or byte-swapped
  boolean,   // an enum of FALSE and TRUE
  text,      // of a fixed length, padded
  sequence,  // a reference to a sequence of values in a global heap; of uint8: bytes
  string,    // the same, as a string
};

// An element, or a member of a compound.
struct Leaf {
  std::string name;     // "day", "image/bytes"; empty unless the element is a compound
  uint64_t offset = 0;  // in the element
  uint64_t bytes = 0;   // in the element; for a reference, its size
  Form form = Form::number;
  DType dtype = DType::u8;
  bool swaps = false;              // from big-endian
  uint8_t padding = 0;             // of text: 0 ends with NUL, 1 NULs, 2 spaces
  std::vector<int64_t> item = {};  // dimensions of it, or of each value of the run
  Status refusal = {};             // why it cannot be read
  std::string members = {};        // of an enum: "enum(cat 0, dog 1)"
  // For references: the likely position of each row's object in its collection; 0: anywhere. Empty: unknown.
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
  uint64_t index = 0;  // position among the dataset's chunks, row-major
  uint64_t address = 0, size = 0;
  uint32_t mask = 0;  // bit i: filter i was skipped
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
  uint64_t address = kNowhere;       // of contiguous data; kNowhere: all fill values
  std::vector<uint64_t> chunk = {};  // dimensions in elements
  std::vector<Filter> filters = {};  // in the order they were applied
  bool edges_are_plain = false;      // chunks that extend past the end are not filtered
  std::vector<Chunk> chunks = {};    // sorted by index; existing chunks only
  std::string kept = {};             // all rows, of references and of small values
  Status refusal = {};               // why it cannot be read
  std::vector<Attribute> attributes = {};
  Status attributes_refusal = {};  // why some attributes are not known

  uint64_t rows() const { return dims[0]; }
  uint64_t row_elements() const;  // REQUIRES: checked by check()
  uint64_t row_bytes() const { return row_elements() * element; }
  uint64_t chunk_bytes() const;
  bool has_rows() const { return !dims.empty(); }
  bool has_vlen() const;
  // A dimension of netCDF without a variable, which is stored as a dataset without values.
  bool is_dimension() const;
};

// The dataset at a path of the file.
struct Name {
  std::string path;  // "train/images"
  uint64_t dataset = kNowhere;
  Status refusal = {};  // of a link to something else
};

// The root group's attribute in which our writer stores the fields, in their order, and the source's
// metadata: {"fields": […], "about": {…}}.
inline constexpr std::string_view kAboutName = "headrace";

struct Contents {
  int address_bytes = 8, length_bytes = 8;  // sizes of addresses and lengths in the file
  uint64_t base = 0;                        // base of addresses in references
  std::vector<Dataset> datasets;
  std::vector<Name> names;            // sorted by path
  std::string about;                  // value of the attribute; empty: none
  bool is_netcdf = false;             // the file says that it is one of netCDF-4
  std::vector<Attribute> attributes;  // of the root

  const Name* find(std::string_view path) const;
};

// Checks that no product of these numbers overflows, and that everything is inside a file of this size.
Status check(const Dataset& dataset, uint64_t file_size);

std::string pack(const Contents& contents);
// Accepts any bytes; the result has passed check().
Result<Contents> unpack(std::string_view bytes, uint64_t file_size);

}  // namespace headrace::hdf5
