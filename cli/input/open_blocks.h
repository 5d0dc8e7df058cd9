// Samples by their index, of whose blocks each is opened once while somebody holds it: neighbours may lie in
// one that is inflated as a whole, and be asked for by several threads. Any thread may call it.
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
  // What a thread has asked for last: it stays open until the next one, which lets go of it first.
  struct Held {
    uint64_t block = 0;
    std::shared_ptr<Slot> slot;
  };

  Result<std::vector<Tensor>> read(const Source& source, uint64_t index, Store& store, Held& held);

 private:
  std::shared_ptr<Slot> slot_of(uint64_t block);

  std::mutex mutex_;                               // guards
  std::map<uint64_t, std::weak_ptr<Slot>> slots_;  // by block
};

}  // namespace headrace::cli
