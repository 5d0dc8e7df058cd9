// The pending reads of a traversal of a file's structures: an address, and a function for its bytes. Turns
// a traversal that is written as functions calling each other into the steps of an Opening, with as many
// reads per step as possible.
//
// A structure often states its own length: `then` returns the number of bytes it needs in total, and is
// called again with that many if it is larger. A failure is reported to the owner of the read, whose other
// reads are then dropped. One thread.
#pragma once
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace::hdf5 {

class Fetches {
 public:
  using Owner = size_t;
  // Returns the bytes it needs in total; 0 when it is done.
  using Then = std::function<Result<uint64_t>(std::span<const std::byte>)>;
  using Fail = std::function<void(Owner, Status)>;  // once for each owner

  Fetches(uint64_t file_size, Fail fail) : file_size_(file_size), fail_(std::move(fail)) {}

  // `length` bytes at `address` of the file, or up to the end of the file; an address past the end fails
  // the owner.
  void ask(Owner owner, uint64_t address, uint64_t length, Then then);
  // The same with exactly `length` bytes.
  void ask_all(Owner owner, uint64_t address, uint64_t length,
               std::function<Status(std::span<const std::byte>)> then);
  uint64_t file_size() const { return file_size_; }
  // Continues with the bytes requested last; returns the next extents, none when finished.
  std::vector<Extent> advance(std::span<const BufferPtr> bytes);

 private:
  struct Fetch {
    Owner owner = 0;
    uint64_t address = 0, length = 0;
    Then then;
  };
  bool has_failed(Owner owner) const { return owner < failed_.size() && failed_[owner]; }
  void fail(Owner owner, Status status, uint64_t address);
  void run(Fetch fetch, std::span<const std::byte> bytes);

  uint64_t file_size_;
  Fail fail_;
  std::deque<Fetch> waiting_;
  std::vector<Fetch> asked_;
  std::vector<char> failed_;
  BufferPtr head_;  // the first bytes of the file, read first
  uint64_t bytes_read_ = 0;
};

}  // namespace headrace::hdf5
