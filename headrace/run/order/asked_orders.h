// The positions that users' orders (graph/epoch_order.h) give for the epochs of a run. They are asked for
// before an epoch begins, on the thread that begins it: orders of a level only look them up, since they may
// be located under the executor's mutex.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "headrace/graph/node.h"
#include "headrace/run/order/order.h"

namespace headrace {

class AskedOrders {
 public:
  // What one order gives for one pass.
  struct Positions {
    std::vector<uint64_t> at;
    std::shared_ptr<const std::vector<uint32_t>> occurrences;  // null if no position comes twice
  };
  // All passes of an epoch. They are kept as long as this is held.
  struct Epoch {
    uint64_t epoch = 0;
    struct Pass {
      const EpochOrder* order = nullptr;
      uint64_t pass = 0;  // the epoch below repeats
      Positions positions;
    };
    std::vector<Pass> passes;
    std::string digest;  // of the positions of all
  };

  // Of the plan's reorders; null if it has none. An error if how often one is asked is not known.
  static Result<std::shared_ptr<AskedOrders>> of(const Node& root);

  // Calls the functions, unless the positions of that epoch are known. One that gives others when it is asked
  // for an epoch again is an error; the first epoch is asked for twice. So is asking from within a function.
  Result<std::shared_ptr<const Epoch>> ask(uint64_t epoch);

  // REQUIRES: ask() of the epoch that the pass is part of, and its result is held.
  const Positions& positions(const EpochOrder* order, uint64_t pass) const;

 private:
  struct Asked {
    EpochOrderPtr order;
    uint64_t below = 0;   // the length of what it chooses from
    uint64_t passes = 1;  // of an epoch
    std::string line;     // of the user
  };

  static Status collect(const Node& node, uint64_t passes, std::vector<Asked>& out);
  static Result<Positions> ask_pass(const Asked& asked, uint64_t pass);

  Result<std::shared_ptr<Epoch>> ask_all(uint64_t epoch) const;

  std::vector<Asked> orders_;
  std::mutex asking_;
  std::atomic<std::thread::id> asker_;                     // the thread that holds it
  mutable std::mutex mutex_;                               // guards the next members
  std::deque<std::shared_ptr<const Epoch>> epochs_;        // newest last
  std::vector<std::pair<uint64_t, std::string>> digests_;  // of all epochs that were asked for
};

// The element at a position is that at the position which `order` has there in the epoch.
std::unique_ptr<Order> asked_order(std::unique_ptr<Order> child, EpochOrderPtr order,
                                   std::shared_ptr<const AskedOrders> asked);

}  // namespace headrace
