// The Executor: one mutex and a list of stages. It has no threads; a Crew drives it: real threads, the
// caller's thread, or one thread that picks the next step from a seed. All run the same code.
//
// Workers take the oldest runnable part, run it without the mutex, and report. Admission needs a place in a
// ring and memory in the pool, so memory is bounded by construction.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "headrace/run/engine/headroom.h"
#include "headrace/run/engine/reclaimable_memory.h"
#include "headrace/run/engine/stage.h"

namespace headrace {

// Worker kinds: those that wait for storage, and those that compute.
enum class Duty : uint8_t { io, cpu };

// The sample's memory leaves the budget: it belongs to the consumer.
void hand_over(const Sample& sample, Pool& pool);

class Executor {
 public:
  // `ring`: tickets in flight in each stage; with `flexible`, more where they are tiny.
  Executor(StreamPtr root, std::shared_ptr<Pool> pool, size_t ring, bool flexible);

  // For workers. `take` returns whether there was work; then run() without any lock, then finish().
  bool take(Duty duty, Work& work);
  void finish(Work& work);

  // For the consumer: the next element in order, or wait, end, error.
  Pull poll(Sample& out, Status& failure);

  // Change the position of the run. A worker may still be inside take/run/finish of one part of an earlier
  // run.
  void start(uint64_t epoch);
  Status restore(const Cursor& cursor, const StopFlag* stop = nullptr);
  // What poll() returned since start(), and the position of the streams after that. A consistent snapshot: an
  // element counts from the moment poll() takes it, even before poll() returns.
  struct Handed {
    uint64_t elements = 0;
    bool all = false;
    Cursor cursor;
  };
  // `without_last`: as if the last element had not been returned. REQUIRES: remember_before() was called, or
  // the cursor is not used.
  Handed handed(bool without_last = false) const;
  void remember_before() { remembers_ = true; }  // before the first element
  uint64_t num_handed() const;                   // elements
  size_t in_flight() const;
  void set_reclaimable(ReclaimableMemory* reclaimable) { reclaimable_ = reclaimable; }  // null: none
  // Tickets in flight in each stage from now on. Tickets beyond it stay.
  void set_ring(size_t ring) { ring_ = ring; }  // REQUIRES: the mutex is held
  Pool::Ledger ledger() const { return pool_->ledger(); }
  // How often work was held back for lack of memory. REQUIRES: the mutex is held.
  uint64_t times_out_of_memory() const { return times_out_of_memory_; }
  // How many parts wait for a reader or worker or are being processed, and how many elements are ready.
  // `io_each`: parts to read of one ticket of each stage.
  struct Phases {
    size_t io_queued = 0, io_running = 0, cpu_queued = 0, cpu_running = 0, ready = 0, io_each = 0;
  };
  Phases phases() const;                             // REQUIRES: the mutex is held
  const TicketRef& given() const { return given_; }  // last returned by poll(); REQUIRES: the mutex is held
  const std::vector<Stage*>& stages() const { return stages_; }
  // Whether its outputs are elements of the run rather than inputs of another stage.
  bool gives(const Stage& stage) const;

  // For crews that hold the mutex over several steps. An exception in them (out of memory, a plug-in) ends
  // the run and is reported to the consumer.
  std::mutex& mutex() const { return mutex_; }
  bool take_locked(Duty duty, Work& work);
  void finish_locked(Work& work);
  Pull poll_locked(Sample& out, Status& failure);
  // Whether to wake a worker of this duty, or the consumer.
  bool has_work(Duty duty) const;
  bool has_news() const;
  // Scratch bytes that each of `workers` workers may keep between samples.
  size_t scratch_to_keep(size_t workers) const;
  // Whether to wake a patient consumer: it checks again soon in any case, and a worker without work wakes it.
  bool has_many_news() const;
  // Whether enough elements are ready that workers may keep sleeping.
  bool has_plenty() const;

 private:
  template <class F> void guarded(F&& step);
  bool take_any(Duty duty, Work& work);
  void settle(Work& work);  // processes the result of run()
  Pull poll_any(Sample& out, Status& failure);
  void pump();
  bool answer_out_of_memory(Work& work);
  bool reclaims_memory() { return reclaimable_ && reclaimable_->reclaim(); }
  bool give_up_later_children();
  bool is_waited_for(const Stage& stage) const;
  bool may_work(const Stage& stage) const;
  bool drop_all_not_waited_for();
  bool is_turn_of(Duty duty) const;  // REQUIRES: out_of_memory_
  bool reads_enough() const;
  Stage::Admitted admit(Stage& stage);
  void remember();

  mutable std::mutex mutex_;
  StreamPtr root_;
  std::vector<Stage*> stages_;  // the one needed first is last
  TicketRef given_;
  uint64_t num_handed_ = 0;         // elements, since start();
  bool handed_all_ = false;         // the end was reached
  Cursor before_, after_;           // positions of the streams before and after the last element,
  bool remembers_ = false;          // kept if remember_before() was called
  std::vector<const Stage*> last_;  // stages that feed no other stage
  std::vector<Stage*> open_;        // stages that may admit work
  std::vector<Stage*> opened_;      // the same after a round of pump(); a reused buffer
  std::shared_ptr<Pool> pool_;
  size_t budget_, ring_;
  Headroom headroom_;
  bool flexible_;
  size_t running_ = 0;                 // parts that workers are processing,
  size_t reading_ = 0;                 // and how many of them are being read
  std::optional<Work> out_of_memory_;  // a part that was given back for lack of memory
  bool awaits_consumer_ = false;       // it can only continue when the consumer has taken an element
  bool consumer_took_ = false;  // since a part that had found no memory was taken: there is more memory now
  bool waiting_for_memory_ = false;  // the last admission found no memory
  uint64_t times_out_of_memory_ = 0;
  ReclaimableMemory* reclaimable_ = nullptr;
  bool tight_ = false;  // memory is not enough for all branches at the same time
  Status broken_;       // why the run cannot continue
};

}  // namespace headrace
