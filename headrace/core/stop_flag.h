// Ends long work early. The caller that stops a run raises the flag; long work (decoding, reading) checks it
// every few rows or megabytes and returns `stopped()`. All methods may be called from several threads.
#pragma once
#include <atomic>

#include "headrace/core/status.h"

namespace headrace {

class StopFlag {
 public:
  void raise() { raised_.store(true, std::memory_order_relaxed); }
  void lower() { raised_.store(false, std::memory_order_relaxed); }
  bool raised() const { return raised_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> raised_{false};
};

inline Status stopped() { return {Code::cancelled, "the run was stopped"}; }

}  // namespace headrace
