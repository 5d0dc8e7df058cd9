// What a walk over a file's structures still has to read: a place, and what to do with its bytes. Turns a
// walk that is written as functions calling each other into the steps of an Opening, with as many reads in a
// step as there are.
//
// A structure often says its own length: `then` answers how many bytes it needs in all, and is called again
// with as many when those are more. Whatever fails is reported to the one it was read for, whose other reads
// are then dropped. One thread.
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
  // Bytes it needs in all; 0 when it is done.
  using Then = std::function<Result<uint64_t>(std::span<const std::byte>)>;
  using Fail = std::function<void(Owner, Status)>;  // once for each owner

  Fetches(uint64_t file_size, Fail fail) : file_size_(file_size), fail_(std::move(fail)) {}

  // `length` bytes at `address` of the file, or as many as there are; at least one, or the owner has failed.
  void ask(Owner owner, uint64_t address, uint64_t length, Then then);
  // Exactly this many.
  void ask_all(Owner owner, uint64_t address, uint64_t length,
               std::function<Status(std::span<const std::byte>)> then);
  uint64_t file_size() const { return file_size_; }
  // Goes on with what was asked for last; what is to be read next, nothing when all is done.
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
