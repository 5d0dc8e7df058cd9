#include "headrace/run/engine/stage.h"

#include <algorithm>

#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

constexpr uint64_t kPartNs = 100'000;  // target work of a part, so that taking it (about 1 µs) is negligible
constexpr uint64_t kTinyNs = 100'000;  // work on a tiny ticket, and
constexpr size_t kTinyBytes = size_t{64} << 10,
                 kTinyShare = 32;  // share of the budget for tiny tickets; their inputs take as much

size_t made_bytes(const Ticket& ticket) {
  size_t bytes = 0;
  for (const Sample& sample : ticket.outputs)
    for (const Tensor& field : sample.fields) bytes += field.size_bytes();
  if (ticket.rows_made)
    for (const Tensor& column : ticket.rows_made->columns) bytes += column.size_bytes();
  return bytes;
}

// The reads of a part are sequential; parts whose reads would take longer than this are made smaller, so that
// several readers share them. Reads from memory take some µs, reads over a network some ms.
constexpr uint64_t kReadingNs = 2'000'000;

constexpr size_t kRowsAPlace = 8;  // rows per place in the ring, where items are shortened
// The number of rows whose outputs were all handed out, and of outputs handed out of the next row: a state
// does not depend on the number of rows in a ticket.
std::pair<size_t, uint64_t> handed_out(const Body& body, const Ticket& ticket) {
  if (!body.counts_rows() || !ticket.done || ticket.ends.empty()) return {0, ticket.emitted};
  const auto row = std::lower_bound(ticket.ends.begin(), ticket.ends.end(), ticket.emitted);
  const size_t rows = static_cast<size_t>(row - ticket.ends.begin());
  if (row != ticket.ends.end() && *row == ticket.emitted) return {rows + 1, 0};
  return {rows, ticket.emitted - (rows == 0 ? 0 : ticket.ends[rows - 1])};
}

void took(Work& work, const PartClock::Time& time) {
  work.began_ns = time.began_ns, work.ended_ns = time.ended_ns, work.busy_ns = time.cpu_ns;
}

// Finished tickets that overtook a slow one and take no place any more; a state lists each of them.
constexpr size_t kMostOvertaking = 1024;

}  // namespace

Pull Stage::pull(Item& out, Status& failure, uint64_t most) {
  drop_used_up();
  for (const TicketPtr& ticket : ring_) {
    if (ticket->done && ticket->emitted < ticket->num_outputs()) {
      out = {};
      ticket->emit(out, most);
      out.given = {ticket->serial, number_};
      if (ticket->used_up()) ordered_ ? mark_after(*ticket) : ticket->forget();
      return Pull::item;
    }
    if (ticket->done && !ticket->error.ok()) {  // its turn: the outputs of earlier rows were handed out
      failure = ticket->error;
      return Pull::error;
    }
    if (ordered_) return Pull::wait;  // unordered: any finished ticket may go first
  }
  if (!ring_.empty()) return Pull::wait;
  if (!failure_.ok()) {
    failure = failure_;
    return Pull::error;
  }
  if (!ended_) return Pull::wait;
  after_.assign(1, 0);  // nothing is left
  feeder_->save(after_);
  return Pull::end;
}

const Ticket* Stage::front() const {
  for (const TicketPtr& ticket : ring_)
    if (!ticket->used_up()) return ticket.get();
  return nullptr;
}

bool Stage::has_output() const {
  const Ticket* first = front();
  if (!first) return ended_ || !failure_.ok();
  if (ordered_) return first->done;
  return std::any_of(ring_.begin(), ring_.end(),
                     [](const TicketPtr& ticket) { return ticket->done && !ticket->used_up(); });
}

void Stage::start(uint64_t epoch, uint32_t occurrence, bool valid) {
  for (const TicketPtr& ticket : ring_) ticket->dropped = true;
  ring_.clear(), io_.clear(), ready_.clear();
  ended_ = leaves_out_ = false, failure_ = {}, resumed_.clear(), admitted_ = 0;
  feeder_->start(epoch, occurrence, valid);
  after_.assign(1, 0);
  feeder_->save(after_);
}

// The number of partly consumed tickets, which and how much, then the start of the oldest. In order, the
// position after the last delivered output, whatever work is done beyond it: ranks must agree on what is
// left.
void Stage::save(Cursor& cursor) const {
  if (!ordered_) return save_unordered(cursor);
  const auto front =
      std::find_if(ring_.begin(), ring_.end(), [](const TicketPtr& t) { return !t->used_up(); });
  if (front == ring_.end() || (*front)->emitted == (*front)->item.handed_out) {
    cursor.insert(cursor.end(), after_.begin(), after_.end());
    return;
  }
  const auto [rows, outputs] = handed_out(*body_, **front);
  if (outputs > 0)
    cursor.insert(cursor.end(), {1, 0, outputs});
  else
    cursor.push_back(0);  // between two rows: as if each row had its own ticket
  cursor.insert(cursor.end(), (*front)->before.begin(), (*front)->before.end());
  if (rows > 0) *(cursor.end() - static_cast<std::ptrdiff_t>((*front)->before.size())) += rows;
}

// All outputs of the front were handed out: the next ones come from the row after the last row with outputs.
void Stage::mark_after(const Ticket& front) {
  after_.assign(1, 0);
  if (body_->counts_rows() && !leaves_out_) {
    after_.insert(after_.end(), front.before.begin(), front.before.end());
    after_[1] += front.ends.empty() ? front.item.count : handed_out(*body_, front).first;
  } else if (ring_.size() > 1 || ended_) {
    const Cursor& next = ring_.size() > 1 ? ring_[1]->before : before_end_;
    after_.insert(after_.end(), next.begin(), next.end());
  } else {
    feeder_->save(after_);
  }
}

void Stage::save_unordered(Cursor& cursor) const {
  const size_t count_at = cursor.size();
  cursor.push_back(0);
  size_t first = 0;
  while (first < ring_.size() && ring_[first]->used_up()) ++first;
  for (size_t i = first; i < ring_.size(); ++i) {
    if (ring_[i]->emitted == 0) continue;
    ++cursor[count_at];
    cursor.insert(cursor.end(), {i - first, ring_[i]->used_up() ? Ticket::kAll : ring_[i]->emitted});
  }
  for (const auto& [offset, emitted] : resumed_) {  // not admitted again yet
    ++cursor[count_at];
    cursor.insert(cursor.end(), {offset - admitted_ + (ring_.size() - first), emitted});
  }
  if (first == ring_.size())
    feeder_->save(cursor);
  else
    cursor.insert(cursor.end(), ring_[first]->before.begin(), ring_[first]->before.end());
}

void Stage::restore(CursorReader& cursor) {
  const uint64_t count = cursor.next();
  resumed_.clear(), admitted_ = 0;
  after_.assign(1, count);
  for (uint64_t i = 0; i < count && cursor.good(); ++i) {
    const uint64_t offset = cursor.next();
    resumed_[offset] = cursor.next();
    after_.insert(after_.end(), {offset, resumed_[offset]});
  }
  feeder_->restore(cursor);
  feeder_->save(after_);
}

// Only there while elements have handed out a part of their outputs, or while that holds for a stage right
// below, so that each such part belongs to the stage that is next.
void Stage::describe(StateForm& form) const {
  constexpr std::string_view kVerb = "partial", kElements = "elements", kInput = "input";
  if (!form.is(kVerb, form.names() && form.peek() > 0)) {
    form.nothing();
    feeder_->describe(form);
    if (form.names() && form.named().find("verb") && *form.named().find("verb")->text() == kVerb) {
      Value below = std::exchange(form.named(), Value(Value::Object()));
      form.stream(kVerb);
      form.named().set(kElements, Value::List());
      form.named().set(kInput, std::move(below));
    }
    return;
  }
  form.stream(kVerb);
  form.list(kElements, 0, true, [](StateForm& one) {
    one.number("number");
    one.any_number("handed_out");  // -1: all of them, while earlier elements are unfinished
  });
  form.child(kInput, *feeder_);
}

uint64_t Stage::most_elements() const {
  const auto adds = [](const Link& link) { return std::holds_alternative<UnbatchLink>(link); };
  return std::ranges::any_of(body_->chain, adds) ? kInfinite : feeder_->most_elements();
}

// A position is one output if no chain can drop or add outputs, and if the item in which the state was taken
// has handed out nothing.
bool Stage::leave_out(std::span<const Gap> outputs) {
  const bool begun = std::ranges::any_of(resumed_, [](const auto& one) { return one.second > 0; });
  leaves_out_ =
      ordered_ && !begun && body_->takes_positions() && body_->chain.empty() && feeder_->leave_out(outputs);
  if (leaves_out_) after_.assign(1, 0), feeder_->save(after_);  // the position after what it left out first
  return leaves_out_;
}

void Stage::stages(std::vector<Stage*>& out) {
  feeder_->stages(out);
  out.push_back(this);
}

void Stage::open_stages(std::vector<Stage*>& out) {
  feeder_->open_stages(out);
  out.push_back(this);
}

void Stage::drop_used_up() {
  while (!ring_.empty() && ring_.front()->used_up()) ring_.pop_front();
}

// Items that are smaller than possible, because of gaps or slow rows, count by their rows.
bool Stage::has_place(size_t ring) const {
  if (ring_.size() < ring) return true;
  if (!ordered_) return ring_.size() < ring + kMostOvertaking && in_flight() < ring;
  const uint64_t most_rows = leaves_out_ ? kRowsAPlace : body_->most_rows_of_item();
  if (most_rows <= 1) return false;
  uint64_t rows = 0;
  for (const TicketPtr& ticket : ring_) rows += ticket->item.count;
  return rows < most_rows * ring;
}

// Whether admitting another item leaves the headroom free; true for items that cannot be put back.
bool Stage::leaves(size_t headroom, const Pool& pool) const {
  if (headroom == 0 || !body_->takes_positions() || in_flight() == 0) return true;
  return pool.in_use() + headroom + bytes_admitted_ <= pool.budget();
}

Stage::Admitted Stage::admit(size_t ring, Pool& pool, size_t headroom) {
  drop_used_up();
  if (ended_ || !failure_.ok() || !has_place(ring)) return Admitted::no;
  auto ticket = std::make_shared<Ticket>();
  feeder_->save(ticket->before);
  if (ticket->before.empty()) return Admitted::no;  // the position of the next item is unknown
  Status failure;
  const Pull pulled = feeder_->pull(ticket->item, failure, 1);
  if (pulled == Pull::wait) return Admitted::no;
  if (pulled == Pull::end) {
    ended_ = true;
    before_end_ = std::move(ticket->before);
    return Admitted::yes;
  }
  if (pulled == Pull::error) {
    failure_ = std::move(failure);
    return Admitted::yes;
  }
  ticket->serial = next_serial_++;
  ticket->emitted = ticket->item.handed_out;
  const auto split = leaves(headroom, pool) ? body_->admit(*ticket, std::min(grain_, most_rows_), pool)
                                            : Result<bool>(false);
  if (!split.ok() || !*split) {
    // No memory now: put the item back. Feeders that cannot un-pull have bodies that take no memory.
    CursorReader before(ticket->before);
    feeder_->restore(before);
    if (!split.ok()) failure_ = split.status();
    return split.ok() ? Admitted::no_memory : Admitted::yes;
  }
  if (const auto it = resumed_.find(admitted_); it != resumed_.end()) {
    ticket->emitted = std::max(ticket->emitted, it->second);
    resumed_.erase(it);
  }
  ++admitted_;
  bytes_admitted_ = 0;
  for (const Tensor& column : ticket->columns) bytes_admitted_ += column.size_bytes();
  ring_.push_back(ticket);
  ticket->parts_left = ticket->parts.size();
  parts_to_read_ = static_cast<size_t>(std::ranges::count(ticket->parts, Part::State::io, &Part::state));
  for (size_t p = 0; p < ticket->parts.size(); ++p) make_runnable(ticket, p);
  if (ticket->parts.empty()) part_done(ticket);
  return Admitted::yes;
}

void Stage::make_runnable(const TicketPtr& ticket, size_t part) {
  const bool io = part != Work::kFinish && ticket->parts[part].state == Part::State::io;
  (io ? io_ : ready_).emplace(ticket->serial, part);
}

TicketPtr Stage::find(uint64_t serial) const {
  const auto it = std::lower_bound(ring_.begin(), ring_.end(), serial,
                                   [](const TicketPtr& t, uint64_t s) { return t->serial < s; });
  return it != ring_.end() && (*it)->serial == serial ? *it : nullptr;
}

bool Stage::take(bool io, Work& work) {
  auto& runnable = io ? io_ : ready_;
  if (runnable.empty()) return false;
  const auto [serial, part] = *runnable.begin();
  Work wanted;
  wanted.ticket = find(serial), wanted.part = part, wanted.io = io;
  take_this(wanted, work);
  return true;
}

void Stage::take_this(const Work& wanted, Work& work) {
  (wanted.io ? io_ : ready_).erase({wanted.ticket->serial, wanted.part});
  work = {};
  work.stage = this;
  work.ticket = wanted.ticket, work.part = wanted.part, work.io = wanted.io;
  if (work.part != Work::kFinish && !work.io) work.ticket->parts[work.part].state = Part::State::running;
}

// Of short parts only the timed ones are counted; they stand for the others.
inline void Stage::count_costs(const Work& work, const PartClock::Time& time, Evaluator& evaluator,
                               Counters& counters) const {
  if (!takes_samples_ || !work.result.status.ok() || number_ >= counters.costs.size()) return;
  const size_t samples = work.ticket->num_samples(work.ticket->parts[work.part]);
  SampleCosts& costs = counters.costs[number_];
  if (time.was_asked_about || costs.may_be_slow(work.busy_ns + work.waited_ns, samples))
    count_each(work, samples, time, evaluator.row_times(), costs);
  else
    costs.leave_out(samples);
}

void Stage::run(Work& work, Evaluator& evaluator, Counters& counters) const {
  Ticket& ticket = *work.ticket;
  PartClock& clock = evaluator.part_clock();
  clock.begin();
  if (work.io) {
    const uint64_t reads = counters.io_reads.get(), bytes = counters.io_bytes.get(),
                   python_ns = counters.reading_python_ns.get();
    work.result.status = body_->fetch(ticket, ticket.parts[work.part], counters);
    const PartClock::Time time = clock.end();
    took(work, time);
    work.reading_ns = work.ended_ns - work.began_ns;
    counters.reading_cpu_ns.add(work.busy_ns);
    work.reads = counters.io_reads.get() - reads;
    work.read_bytes = counters.io_bytes.get() - bytes;
    work.python_ns = counters.reading_python_ns.get() - python_ns;
    if (ticket.parts[work.part].has_passed) count_costs(work, time, evaluator, counters);
    return;
  }
  if (work.part == Work::kFinish)
    work.result.status = body_->finish(ticket, evaluator);
  else
    work.result = body_->run(ticket, ticket.parts[work.part], evaluator);
  const PartClock::Time time = clock.end();
  took(work, time);
  work.called = evaluator.take_called();
  work.waited_ns = evaluator.take_waited();
  work.python_ns = evaluator.take_in_python();
  if (work.part != Work::kFinish) count_costs(work, time, evaluator, counters);
  counters.parts.add(1);
  counters.busy_ns.add(work.busy_ns);
}

// The cost of each row of the part if it was timed, otherwise the mean.
void Stage::count_each(const Work& work, size_t samples, const PartClock::Time& time, const RowTimes& times,
                       SampleCosts& costs) const {
  if (samples == 0) return;
  const Part& part = work.ticket->parts[work.part];
  const uint64_t all_ns = work.busy_ns + work.waited_ns, mean_ns = all_ns / samples;
  const bool stands_for_others = time.is_short && !costs.may_be_slow(all_ns, samples);
  const uint64_t others = stands_for_others ? costs.take_left_out(mean_ns) : 0;
  const auto keep_if_slow = [&](uint64_t ns, size_t row, size_t of) {
    if (!costs.is_slow(ns)) return;
    const auto sample = sample_of(*work.ticket, part, row);
    sample ? costs.keep({*sample, ns, static_cast<uint32_t>(of)}) : costs.has_no_name();
  };
  if (samples == 1 || times.num_rows() != samples) {
    costs.add(mean_ns, samples + others);
    if (samples > 1) costs.are_averaged(samples);
    return keep_if_slow(mean_ns, 0, samples);
  }
  const double share =
      static_cast<double>(all_ns) / static_cast<double>(std::max<uint64_t>(1, times.all_ns()));
  for (size_t row = 0; row < samples; ++row) {
    const auto ns = static_cast<uint64_t>(static_cast<double>(times.row_ns(row)) * share);
    costs.add(ns, 1 + others / samples + (row < others % samples ? 1 : 0));
    keep_if_slow(ns, row, 1);
  }
}

void Stage::finish(Work& work) {
  const TicketPtr& ticket = work.ticket;
  if (ticket->dropped) return;
  ticket->busy_ns += work.busy_ns;
  if (!work.result.status.ok() && work.result.row <= ticket->error_row) {
    ticket->error = std::move(work.result.status);
    ticket->error_row = work.result.row;
  }
  if (work.part == Work::kFinish) {
    ticket->done = true;
    ticket->parts.clear();
    settle_size(*ticket);
    return;
  }
  Part& part = ticket->parts[work.part];
  if (work.io) settle_reads(work);
  // The error of the earliest failing row is reported: it must not depend on timing.
  const bool counts = part.first < ticket->error_row;
  if (work.io && counts && !part.has_passed) {
    part.state = Part::State::ready;
    make_runnable(ticket, work.part);
    return;
  }
  settle_grain(work);
  part.state = Part::State::done;
  part.forget();
  part_done(ticket);
}

void Stage::part_done(const TicketPtr& ticket) {
  if (ticket->parts_left > 0) --ticket->parts_left;
  if (ticket->parts_left > 0) return;
  const bool has_outputs = ticket->error.ok() || !ticket->batch;
  if (has_outputs && !body_->finish_at_once(*ticket)) return make_runnable(ticket, Work::kFinish);
  ticket->done = true;
  if (ticket->error.ok()) ticket->parts.clear();
  settle_size(*ticket);
}

void Stage::settle_size(const Ticket& ticket) {
  const size_t bytes = ticket.busy_ns < kTinyNs ? made_bytes(ticket) : kTinyBytes;
  const bool tiny = bytes < kTinyBytes;
  num_tiny_ = tiny ? num_tiny_ + 1 : 0;
  tiny_bytes_ = tiny ? std::max(bytes, tiny_bytes_) : 1;
}

size_t Stage::ring_of(size_t ring, size_t budget) const {
  if (!are_tiny()) return ring;
  const size_t fit = budget / kTinyShare / tiny_bytes_;
  return std::max(ring, std::min(fit, tiny_ring()));
}

size_t Stage::tiny_ring() const {
  constexpr size_t kInCache = size_t{512} << 10, kLeast = 16;
  return std::clamp(kInCache / tiny_bytes_, kLeast, kTinyRing);
}

size_t Stage::in_flight() const {
  return static_cast<size_t>(std::ranges::count_if(ring_, [](const TicketPtr& t) { return !t->used_up(); }));
}

size_t Stage::num_done() const {
  return static_cast<size_t>(
      std::ranges::count_if(ring_, [](const TicketPtr& t) { return t->done && !t->used_up(); }));
}

// The ticket at that place stands for those before it: counting would cost more than tiny tickets do.
bool Stage::has_plenty() const { return are_tiny() && is_done(tiny_ring() / 2); }

bool Stage::has_some() const { return are_tiny() ? is_done(tiny_ring() / 4) : has_output(); }

void Stage::settle_grain(const Work& work) {
  const size_t rows = std::max<size_t>(1, work.ticket->parts[work.part].count);
  const uint64_t row_ns = (work.busy_ns + work.waited_ns) / rows + 1;
  const size_t want = std::clamp<size_t>(kPartNs / row_ns, 1, kMaxGrain);
  grain_ = want > grain_ * 2 ? grain_ * 2 : want < grain_ ? std::max<size_t>(1, (grain_ + want) / 2) : grain_;
  const uint64_t reading_ns = work.io ? work.reading_ns / rows + 1 : 0;
  if (ordered_) body_->settle_items(std::max(row_ns, reading_ns));
}

// A part has at least as many rows as one read brings: splitting that would make it several reads. Rows that
// were in memory came with earlier reads, as rows of a block do, and are counted: otherwise a block of many
// rows would be split into single rows because it took long to read. The mean is taken over many reads: with
// few reads between rows in memory it is unreliable, and rows that each wait for their own read would be put
// in one part, with sequential reads.
void Stage::settle_reads(const Work& work) {
  const auto rows = static_cast<double>(std::max<size_t>(1, work.ticket->parts[work.part].count));
  if (work.reads == 0 && lately_.reads == 0) return;
  if (work.reads > 0) {
    for (double* sum : {&lately_.rows, &lately_.reads, &lately_.reading_ns}) *sum *= kPastReads;
    lately_.reads += static_cast<double>(work.reads);
    lately_.reading_ns += static_cast<double>(work.reading_ns);
  }
  lately_.rows += rows;
  const double by_read = lately_.rows / lately_.reads;
  const double by_time = static_cast<double>(kReadingNs) * lately_.rows / (lately_.reading_ns + 1);
  const auto want = static_cast<size_t>(std::clamp(std::max(by_read, by_time), 1.0, double{kMaxGrain}));
  most_rows_ = std::min(want, 2 * most_rows_);
}

}  // namespace headrace
