// The structures of an HDF5 file being written, as bytes, in versions that HDF5 1.8 and later can read. Pure.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/formats/hdf5/structures/cursor.h"

namespace headrace::hdf5 {

// Little-endian numbers and strings, concatenated.
class NewBytes {
 public:
  NewBytes& number(uint64_t value, size_t bytes) {
    out_.append(reinterpret_cast<const char*>(&value), bytes);
    return *this;
  }
  NewBytes& text(std::string_view text) {
    out_ += text;
    return *this;
  }
  size_t size() const { return out_.size(); }
  const std::string& get() const { return out_; }

 private:
  std::string out_;
};

inline constexpr size_t kMostAbout = 60'000;  // bytes; a message has less than 64 KiB

struct NewDataset {
  TensorSpec spec;  // of a row; kAny first: variable-length, references to a heap
  uint64_t rows = 0;
  uint64_t address = kNowhere;  // of the rows, or of the tree of their chunks
  uint64_t chunk_rows = 0;      // 0: contiguous
  int gzip_level = 0;           // 0: none
};
// Bytes of a row in its dataset: of its reference, if variable-length.
uint64_t stored_row_bytes(const TensorSpec& spec);
bool is_run(const TensorSpec& spec);
inline constexpr uint64_t kReferenceBytes = 16;

struct NewLink {
  std::string name;
  uint64_t address = 0;
};

std::string dataset_header(const NewDataset& dataset);
std::string group_header(const std::vector<NewLink>& links, std::string_view about);
std::string new_superblock(uint64_t root, uint64_t end);
inline constexpr uint64_t kNewSuperblockBytes = 48;

struct NewChunk {
  uint64_t address = 0, size = 0;
};
// The B-tree of chunks of whole rows, to be written at `address`; `root`: the address of its root.
std::string chunk_tree(const std::vector<NewChunk>& chunks, uint64_t chunk_rows, int rank, uint64_t address,
                       uint64_t* root);

}  // namespace headrace::hdf5
