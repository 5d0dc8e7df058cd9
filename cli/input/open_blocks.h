// Samples by index. Each block is opened once and shared while a thread holds it: neighbouring samples may be
// in one block that is decompressed as a whole, and several threads may ask for them. Any thread may call it.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "headrace/formats/opening/open.h"

namespace headrace::cli {

class OpenBlocks {
 public:
  // One block, or why it cannot be opened.
  struct Slot {
    std::mutex mutex;  // guards the others
    BlockPtr opened;
    Status failed;
  };
  // The last block of a thread: it stays open until the thread asks for another one.
  struct Held {
    uint64_t block = 0;
    std::shared_ptr<Slot> slot;
  };

  Result<std::vector<Tensor>> read(const Source& source, uint64_t index, Store& store, Held& held);

 private:
  std::shared_ptr<Slot> slot_of(uint64_t block);

  std::mutex mutex_;                               // guards slots_
  std::map<uint64_t, std::weak_ptr<Slot>> slots_;  // by block
};

}  // namespace headrace::cli
