// A file being written, with sequentially allocated positions, and its global heaps. One thread.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "headrace/core/status.h"
#include "headrace/formats/hdf5/writing/new_structures.h"
#include "headrace/io/new_file.h"

namespace headrace::hdf5 {

class PlacedFile {
 public:
  PlacedFile(std::unique_ptr<NewFile> file, uint64_t begin) : file_(std::move(file)), end_(begin) {}

  uint64_t reserve(uint64_t size);  // returns the position, a multiple of 8
  Status write(uint64_t place, std::string_view bytes);
  Result<uint64_t> append(std::string_view bytes);
  uint64_t end() const { return end_; }
  Status commit() { return file_->commit(NewFile::Lasts::as_the_system_likes); }

 private:
  std::unique_ptr<NewFile> file_;
  uint64_t end_;
};

// Small values share a collection of up to 64 KiB; each large one has its own.
class NewHeap {
 public:
  explicit NewHeap(PlacedFile* file) : file_(file) {}

  // A reference to these bytes, which are `count` values.
  Result<std::string> add(uint64_t count, std::span<const std::byte> bytes);
  Status finish();  // writes the open collection

 private:
  PlacedFile* file_;
  std::string collection_;  // the open one, so far
  uint64_t place_ = 0, size_ = 0;
  uint64_t next_size_ = 4096;
  uint32_t objects_ = 0;
};

}  // namespace headrace::hdf5
