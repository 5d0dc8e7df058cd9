// A Store that tries again where the system says that it failed for now: a network file system or a disk that
// has a hiccup. Each try waits longer than the one before.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "headrace/core/stop_flag.h"
#include "headrace/io/store.h"

namespace headrace {

struct Retries {
  static constexpr size_t kUsual = 3, kMost = 1023;
  size_t most = kUsual;                       // of one call
  std::shared_ptr<const StopFlag> stop = {};  // optional; ends the waits
  std::atomic<uint64_t> done{0};              // of all calls
};

// EIO, ESTALE, EAGAIN, ETIMEDOUT, EINTR: the next try may succeed.
bool is_transient(const Status& status);

std::shared_ptr<Store> with_retries(std::shared_ptr<Store> store, std::shared_ptr<Retries> retries);
// As often as usual. REQUIRES: `store` outlives it and the files that it opens.
std::shared_ptr<Store> with_usual_retries(Store& store);

}  // namespace headrace
