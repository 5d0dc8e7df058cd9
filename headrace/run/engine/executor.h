// The executor: one mutex, a row of stages, and nothing else. Who turns its crank is the Crew: real threads,
// or one thread that picks the next step by a seed. Both run this same code.
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
  // `ring`: tickets under way in each stage; with `flexible`, more where they are tiny.
  Executor(StreamPtr root, std::shared_ptr<Pool> pool, size_t ring, bool flexible);

  // For workers. `take` answers whether there was work; then run() without any lock, then finish().
  bool take(Duty duty, Work& work);
  void finish(Work& work);

  // For the consumer: the next element in order, or wait, end, error.
  Pull poll(Sample& out, Status& failure);

  // Change where the run stands; nobody may be inside take/run/finish of an earlier run's part for longer
  // than that part.
  void start(uint64_t epoch);
  bool restore(const Cursor& cursor);
  // What poll() gave since start(), and where the streams stand behind that. Of one moment: an element that
  // the consumer has taken counts, also while he is still on his way with it.
  struct Handed {
    uint64_t elements = 0;
    bool all = false;
    Cursor cursor;
  };
  // `without_last`: as if the last of them had not been given. REQUIRES: then remember_before(), or nobody
  // looks at the cursor.
  Handed handed(bool without_last = false) const;
  void remember_before() { remembers_ = true; }  // before the first element
  uint64_t num_handed() const;                   // elements
  size_t in_flight() const;
  void set_reclaimable(ReclaimableMemory* reclaimable) { reclaimable_ = reclaimable; }  // null: none
  // Tickets under way in each stage from now on. Those that are beyond it stay.
  void set_ring(size_t ring) { ring_ = ring; }  // REQUIRES: the mutex is held
  Pool::Ledger ledger() const { return pool_->ledger(); }
  // How often work was held back for want of memory. REQUIRES: the mutex is held.
  uint64_t times_out_of_memory() const { return times_out_of_memory_; }
  // How many parts wait for a reader or worker, or are in one's hands, and how many elements are ready.
  struct Phases {
    size_t io_queued = 0, io_running = 0, cpu_queued = 0, cpu_running = 0, ready = 0;
  };
  Phases phases() const;                             // REQUIRES: the mutex is held
  const TicketRef& given() const { return given_; }  // what poll() gave last; REQUIRES: the mutex is held
  const std::vector<Stage*>& stages() const { return stages_; }
  // Whether what it makes is an element of the run, and goes to no other stage.
  bool gives(const Stage& stage) const;

  // For crews that hold the mutex over several steps. An exception in them (the machine's memory, a plug-in)
  // ends the run: the consumer hears of it.
  std::mutex& mutex() const { return mutex_; }
  bool take_locked(Duty duty, Work& work);
  void finish_locked(Work& work);
  Pull poll_locked(Sample& out, Status& failure);
  // Whether a sleeper should look: a worker of this duty, or the consumer.
  bool has_work(Duty duty) const;
  bool has_news() const;
  // Bytes that each of so many workers may keep between samples, in case it wants them again.
  size_t scratch_to_keep(size_t workers) const;
  // Whether a patient consumer should: it looks again soon in any case, and whoever has no more work calls
  // it.
  bool has_many_news() const;
  // Whether the consumer has so much left that workers may sleep on.
  bool has_plenty() const;

 private:
  template <class F> void guarded(F&& step);
  bool take_any(Duty duty, Work& work);
  void settle(Work& work);  // what run() found
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
  std::vector<Stage*> stages_;  // what is needed first stands last
  TicketRef given_;
  uint64_t num_handed_ = 0;         // elements, since start();
  bool handed_all_ = false;         // there are no more
  Cursor before_, after_;           // where the streams stood before the last of them, and behind it,
  bool remembers_ = false;          // if somebody may ask
  std::vector<const Stage*> last_;  // those of them that feed no other
  std::vector<Stage*> open_;        // those of them that may take in work
  std::vector<Stage*> opened_;      // the same after a round of pump(), whose memory it is
  std::shared_ptr<Pool> pool_;
  size_t budget_, ring_;
  Headroom headroom_;
  bool flexible_;
  size_t running_ = 0;                 // parts in workers' hands,
  size_t reading_ = 0;                 // and how many of them are being read
  std::optional<Work> out_of_memory_;  // a part that was given back for want of memory
  bool awaits_consumer_ = false;       // it can only go on when the consumer has taken an element
  bool consumer_took_ = false;       // since a part was taken that found no memory before: there is more now
  bool waiting_for_memory_ = false;  // the last admission found no memory
  uint64_t times_out_of_memory_ = 0;
  ReclaimableMemory* reclaimable_ = nullptr;
  bool tight_ = false;  // memory does not suffice for all branches beside one another
  Status broken_;       // why nothing goes on any more
};

}  // namespace headrace
