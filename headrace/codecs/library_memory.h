// Memory that a decoder's library takes from the heap, on the run's budget: an estimate before the library is
// called and, if it asks us for its memory, whatever it takes beyond that. Returned when the object is
// destroyed. One thread.
//
//   LibraryMemory memory(scratch);
//   if (!memory.expect(4 * pixels)) return memory.over_budget("a WebP decoder");
#pragma once
#include <cstddef>
#include <string_view>

#include "headrace/core/pool.h"
#include "headrace/core/status.h"

namespace headrace {

class LibraryMemory {
 public:
  explicit LibraryMemory(Scratch& scratch) : scratch_(scratch) {}
  ~LibraryMemory() { scratch_.uncharge(charged_); }
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;

  // Whether the budget has room for `size` bytes in all. False: nothing more is charged.
  bool expect(size_t size) {
    if (size <= charged_) return true;
    if (!scratch_.charge(size - charged_)) {
      refused_ = size;
      return false;
    }
    charged_ = size;
    return true;
  }

  // The library takes `size` bytes more, or returns them.
  bool take(size_t size) {
    if (!expect(taken_ + size)) return false;
    taken_ += size;
    return true;
  }
  void give_back(size_t size) { taken_ -= size; }

  // Whether the budget refused something, and the error to return then.
  bool is_refused() const { return refused_ > 0; }
  Status over_budget(std::string_view what) const { return scratch_.over_budget(refused_, what); }
  bool is_stopped() const { return scratch_.is_stopped(); }

 private:
  Scratch& scratch_;
  size_t charged_ = 0, taken_ = 0, refused_ = 0;
};

}  // namespace headrace
