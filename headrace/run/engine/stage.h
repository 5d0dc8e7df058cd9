// A Stage: an ordered ring of tickets between a feeder and its reader. Workers take parts in any order;
// results leave in the order of the items, so outputs never depend on timing. Guarded by the executor's
// mutex.
#pragma once
#include <deque>
#include <memory>
#include <set>

#include "headrace/run/streams/stream.h"
#include "headrace/run/work/body.h"

namespace headrace {

// One piece of work: reading a part, running it, or (part == kFinish) the end of its ticket.
struct Work {
  static constexpr size_t kFinish = ~size_t{0};
  Stage* stage = nullptr;
  TicketPtr ticket;
  size_t part = 0;
  bool io = false;
  RowStatus result;                     // set by run()
  uint64_t began_ns = 0, ended_ns = 0;  // as now_ns()
  uint64_t busy_ns = 0, waited_ns = 0;
  uint64_t python_ns = 0;              // of busy_ns, in Python functions; estimated
  uint64_t reading_ns = 0, reads = 0;  // reading a part: duration with waits, and the number of reads
  uint64_t read_bytes = 0;
  uint64_t taken_ns = 0;  // of parts to read, when a reader took them; 0: unknown
  bool called = false;    // called Python functions
  bool alone = false;     // it found no memory before, and was taken again with no other work running
};

class Stage final : public Stream {
 public:
  Stage(StreamPtr feeder, std::unique_ptr<Body> body) : feeder_(std::move(feeder)), body_(std::move(body)) {}
  // Unordered delivery. Call before the first ticket; REQUIRES: nothing above depends on the order.
  void give_what_is_ready() { ordered_ = false; }
  // Its number within the executor, and whether its inputs are samples rather than batches.
  void set_number(uint8_t number, bool takes_samples) { number_ = number, takes_samples_ = takes_samples; }
  uint8_t number() const { return number_; }

  // Stream.
  Pull pull(Item& out, Status& failure, uint64_t most) override;
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override;
  void save(Cursor& cursor) const override;
  void restore(CursorReader& cursor) override;
  void describe(StateForm& form) const override;
  void stages(std::vector<Stage*>& out) override;
  void open_stages(std::vector<Stage*>& out) override;
  uint64_t most_elements() const override;
  bool leave_out(std::span<const Gap> outputs) override;
  Stage* giving() override { return this; }
  Stage* outermost() override { return this; }
  Stage* feeding() const { return feeder_->giving(); }  // the stage it waits for next; null: none
  bool has_taken_all() const override { return ended_; }

  // Takes one more item from the feeder, if there is one, a place in the ring and memory for it. One item may
  // always be in flight, others if they leave `headroom` bytes free.
  enum class Admitted : uint8_t { yes, no, no_memory };
  Admitted admit(size_t ring, Pool& pool, size_t headroom);
  bool take(bool io, Work& work);                  // the oldest runnable part
  void take_this(const Work& wanted, Work& work);  // a part given back; REQUIRES: its ticket is not dropped
  void run(Work& work, Evaluator& evaluator, Counters& counters) const;  // without the mutex
  void finish(Work& work);                                               // processes the result of run()
  // The sample that row `i` of a part came from; empty if unknown, as for batches of batches.
  std::optional<SampleRef> sample_of(const Ticket& ticket, const Part& part, size_t i) const {
    return takes_samples_ ? body_->sample_of(ticket, part, i) : std::nullopt;
  }
  void give_back(const Work& work);  // the part could not get memory: runnable again
  size_t drop_fetched();  // drops half of the read bytes not in use; returns the number of parts affected

  // Drops the youngest ticket after `keep` that holds memory, to be admitted again later; with null, all
  // tickets. False if no ticket holds memory or can be undone.
  bool drop_younger(const Ticket* keep);
  // A ticket of many batches found no memory: it and the younger ones are put back, to be admitted as tickets
  // of fewer batches. False if it has only one.
  bool split(const TicketPtr& ticket);
  // Tickets in flight: more than `ring` if they are so small that waking a thread for each would cost more
  // than the work, and all of them take little of the budget.
  size_t ring_of(size_t ring, size_t budget) const;
  bool has_plenty() const;  // enough elements are ready that no thread needs to be woken for more
  // Whether enough is ready to wake the consumer: not for one of many tiny tickets.
  bool has_some() const;

  bool is_front(const Ticket& ticket) const { return front() == &ticket; }
  bool reads_for_front() const { return !io_.empty() && io_.begin()->first == front()->serial; }
  bool has_ready(uint64_t serial) const {
    return !ready_.empty() && ready_.begin()->first <= serial;
  }  // up to it
  bool has_runnable(bool io) const { return io ? !io_.empty() : !ready_.empty(); }
  size_t num_runnable(bool io) const { return io ? io_.size() : ready_.size(); }
  size_t parts_to_read() const { return parts_to_read_; }  // of the last ticket that was admitted
  size_t num_done() const;
  bool has_output() const;  // pull() would not return `wait`: an element, an error, the end

  size_t in_flight() const;  // tickets that are not used up
  bool empty() const { return ring_.empty(); }
  bool ended() const { return ended_; }
  Body& body() { return *body_; }
  const Body& body() const { return *body_; }

 private:
  using PartKey = std::pair<uint64_t, size_t>;  // (serial, part): the order of need
  const Ticket* front() const;                  // the oldest ticket that is not used up; null: none
  void drop_used_up();
  void drop_youngest();
  bool has_place(size_t ring) const;
  bool leaves(size_t headroom, const Pool& pool) const;
  void mark_after(const Ticket& front);
  void save_unordered(Cursor& cursor) const;
  void make_runnable(const TicketPtr& ticket, size_t part);
  void part_done(const TicketPtr& ticket);
  TicketPtr find(uint64_t serial) const;
  void settle_grain(const Work& work);
  void settle_size(const Ticket& ticket);
  static constexpr size_t kTinyRing = 128, kTinyInARow = 32;
  size_t tiny_ring() const;  // as many tickets as fit the CPU cache
  bool is_done(size_t place) const { return ring_.size() > place && ring_[place]->done; }
  bool are_tiny() const { return num_tiny_ >= kTinyInARow; }
  void settle_reads(const Work& work);
  void count_costs(const Work& work, const PartClock::Time& time, Evaluator& evaluator,
                   Counters& counters) const;
  void count_each(const Work& work, size_t samples, const PartClock::Time& time, const RowTimes& times,
                  SampleCosts& costs) const;

  StreamPtr feeder_;
  std::unique_ptr<Body> body_;
  bool ordered_ = true, takes_samples_ = false;
  uint8_t number_ = 0;
  std::deque<TicketPtr> ring_;  // oldest first
  std::set<PartKey> io_, ready_;
  uint64_t next_serial_ = 0;
  size_t bytes_admitted_ = 0;  // memory that the last ticket took at admission
  size_t parts_to_read_ = 0;   // and how many of its parts had to be read
  static constexpr size_t kMaxGrain = 4096;
  size_t grain_ = 1;  // rows per part, by the cost of running them; affects speed only
  static constexpr double kPastReads = 15.0 / 16;
  size_t most_rows_ = kMaxGrain;  // maximum rows per part, by the cost of reading them
  struct {
    double rows = 0, reads = 0, reading_ns = 0;
  } lately_;               // decaying sums over recent reads
  size_t num_tiny_ = 0;    // consecutive tiny tickets,
  size_t tiny_bytes_ = 1;  // and bytes of the largest of them
  // Ticket after restore() -> outputs it had handed out when the state was taken.
  std::map<uint64_t, uint64_t> resumed_;
  Cursor after_;             // in order: the state after the last output that used up its ticket
  uint64_t admitted_ = 0;    // tickets since start() or restore()
  bool leaves_out_ = false;  // items end at gaps
  bool ended_ = false;
  Cursor before_end_;  // of the feeder, before it ended
  Status failure_;     // of the feeder, or of a ticket; reported in its turn
};

}  // namespace headrace
