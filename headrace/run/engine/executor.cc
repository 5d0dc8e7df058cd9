#include "headrace/run/engine/executor.h"

#include <algorithm>
#include <array>

#include "headrace/run/row_paths/level_body.h"
#include "headrace/run/work/sample_body.h"

namespace headrace {

void hand_over(const Sample& sample, Pool& pool) {
  std::array<const Buffer*, 32> blocks;  // rows often share one
  size_t n = 0;
  const auto add = [&](const BufferPtr& buffer) {
    if (!buffer || (n > 0 && blocks[n - 1] == buffer.get())) return;
    if (n == blocks.size()) pool.hand_over(blocks), n = 0;
    blocks[n++] = buffer.get();
  };
  for (const Tensor& field : sample.fields) {
    add(field.buffer);
    if (!field.rows) continue;
    for (const TextOwner& owner : field.rows->owners()) add(owner.buffer);
    if (add(field.rows->memory()); field.rows->memory()) continue;
    for (const Tensor& row : *field.rows) add(row.buffer);
  }
  if (n > 0) pool.hand_over(std::span(blocks).first(n));
}

Executor::Executor(StreamPtr root, std::shared_ptr<Pool> pool, size_t ring, bool flexible)
    : root_(std::move(root)),
      pool_(std::move(pool)),
      budget_(pool_->budget()),
      ring_(ring),
      headroom_(budget_),
      flexible_(flexible) {
  root_->stages(stages_);
  bool are_samples = true;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const Body& body = stages_[i]->body();
    const auto* level = dynamic_cast<const LevelBody*>(&body);
    const bool takes_one = dynamic_cast<const SampleBody*>(&body) != nullptr;
    stages_[i]->set_number(static_cast<uint8_t>(std::min<size_t>(i, 255)),
                           level || (are_samples && takes_one));
    are_samples = are_samples && (level ? !level->makes_batches() : takes_one);
    if (!flexible) stages_[i]->body().take_fewer(0);  // makes no more ahead than requested
  }
  std::vector<Stage*> feeding;
  for (Stage* stage : stages_) {
    stage->stages(feeding);
    feeding.pop_back();  // itself
  }
  for (const Stage* stage : stages_)
    if (std::ranges::find(feeding, stage) == feeding.end()) last_.push_back(stage);
}

void Executor::start(uint64_t epoch) {
  std::lock_guard lock(mutex_);
  broken_ = {}, tight_ = false;
  num_handed_ = 0, handed_all_ = false;
  root_->start(epoch, 0, true);
  remember();
}

void Executor::remember() {
  if (!remembers_) return;
  before_.swap(after_), after_.clear();
  root_->save(after_);
}

Status Executor::restore(const Cursor& cursor, const StopFlag* stop) {
  std::lock_guard lock(mutex_);
  CursorReader reader(cursor, stop);
  root_->restore(reader);
  remember();
  return reader.status();
}

Executor::Handed Executor::handed(bool without_last) const {
  std::lock_guard lock(mutex_);
  if (without_last && num_handed_ > 0) return {num_handed_ - 1, false, before_};
  Handed out{num_handed_, handed_all_, {}};
  root_->save(out.cursor);
  return out;
}

uint64_t Executor::num_handed() const {
  std::lock_guard lock(mutex_);
  return num_handed_;
}

size_t Executor::in_flight() const {
  std::lock_guard lock(mutex_);
  size_t n = 0;
  for (const Stage* stage : stages_) n += stage->in_flight();
  return n;
}

bool Executor::gives(const Stage& stage) const { return std::ranges::find(last_, &stage) != last_.end(); }

Executor::Phases Executor::phases() const {
  Phases out{.io_running = reading_, .cpu_running = running_ - reading_};
  for (const Stage* stage : stages_)
    out.io_queued += stage->num_runnable(true), out.cpu_queued += stage->num_runnable(false),
        out.io_each += stage->parts_to_read();
  for (const Stage* stage : last_) out.ready += stage->num_done();
  return out;
}

template <class F> void Executor::guarded(F&& step) {
  try {
    step();
  } catch (const std::exception& e) {
    broken_ = internal_error(std::string("the run stopped: ") + e.what());
  }
}

// Fills the rings: downstream first, so that taking an item makes room upstream; again when a stage has
// ended, which affects those after it, or when another stage may admit work.
void Executor::pump() {
  open_.clear();
  root_->open_stages(open_);
  bool again = true;
  while (again) {
    again = waiting_for_memory_ = false;
    for (auto it = open_.rbegin(); it != open_.rend() && !waiting_for_memory_; ++it) {
      // This stage and earlier ones would take the memory that the out-of-memory part waits for.
      if (out_of_memory_ && out_of_memory_->stage == *it) break;
      if (!may_work(**it)) continue;
      const bool had_ended = (*it)->ended();
      Stage::Admitted admitted;
      while ((admitted = admit(**it)) == Stage::Admitted::yes)
        if ((*it)->ended()) break;
      waiting_for_memory_ = admitted == Stage::Admitted::no_memory;
      times_out_of_memory_ += waiting_for_memory_ ? 1 : 0;
      again = again || ((*it)->ended() && !had_ended && *it != stages_.back());
    }
    opened_.clear();
    root_->open_stages(opened_);
    again = again || opened_ != open_;
    open_.swap(opened_);
  }
}

Stage::Admitted Executor::admit(Stage& stage) {
  const size_t ring = flexible_ ? stage.ring_of(ring_, budget_) : ring_;
  const Stage::Admitted admitted = stage.admit(ring, *pool_, headroom_.bytes());
  if (admitted == Stage::Admitted::yes) headroom_.admitted();
  return admitted;
}

bool Executor::take_locked(Duty duty, Work& work) {
  bool took = false;
  guarded([&] { took = broken_.ok() && take_any(duty, work); });
  if (took && work.io) ++reading_;
  return took;
}

bool Executor::take_any(Duty duty, Work& work) {
  // A part that found no memory runs first and alone, once running work is done or the consumer took
  // something.
  if (out_of_memory_ && (out_of_memory_->ticket->dropped || !may_work(*out_of_memory_->stage)))
    out_of_memory_.reset();
  if (out_of_memory_ && !is_turn_of(duty)) return false;
  pump();
  if (out_of_memory_) {
    if (out_of_memory_->io == (duty == Duty::io))
      out_of_memory_->stage->take_this(*out_of_memory_, work);
    else
      out_of_memory_->stage->take(false, work);
    work.alone = true;
    consumer_took_ = false;
    ++running_;
    return true;
  }
  if (duty == Duty::io && reads_enough()) {
    ++times_out_of_memory_;
    return false;
  }
  for (auto it = stages_.rbegin(); it != stages_.rend(); ++it)
    if (may_work(**it) && (*it)->take(duty == Duty::io, work)) {
      ++running_;
      return true;
    }
  return false;
}

// Whether enough bytes are read ahead of the running work. False while the oldest ticket needs a read:
// running work of later tickets may be useless without it.
bool Executor::reads_enough() const {
  if (running_ == 0) return false;
  const bool is_enough = pool_->in_use(Use::encoded) > pool_->budget() / 2 ||
                         pool_->in_use() + headroom_.bytes() / 2 > pool_->budget();
  return is_enough && std::ranges::none_of(stages_, [&](Stage* stage) {
           return may_work(*stage) && stage->reads_for_front();
         });
}

// While a part waits for memory: it runs when nothing else does. Before a read that waits for memory, parts
// that have their bytes already and are not younger run, which releases the bytes.
bool Executor::is_turn_of(Duty duty) const {
  const bool others_first =
      out_of_memory_->io && out_of_memory_->stage->has_ready(out_of_memory_->ticket->serial);
  return running_ == 0 && !awaits_consumer_ && (out_of_memory_->io && !others_first) == (duty == Duty::io);
}

bool Executor::has_work(Duty duty) const {
  if (!broken_.ok()) return false;
  if (out_of_memory_ && !out_of_memory_->ticket->dropped && may_work(*out_of_memory_->stage))
    return is_turn_of(duty);
  if (duty == Duty::io && reads_enough()) return false;
  return std::any_of(stages_.begin(), stages_.end(),
                     [&](Stage* stage) { return may_work(*stage) && stage->has_runnable(duty == Duty::io); });
}

// Whether the consumer waits for this stage, directly or through other stages. Of the branches of a zip or
// mix it is one at a time.
bool Executor::is_waited_for(const Stage& stage) const {
  const Stage* next = root_->giving();
  while (next && next != &stage) next = next->feeding();
  return next != nullptr;
}

// When memory is not enough for all branches, others pause until the consumer has taken something.
bool Executor::may_work(const Stage& stage) const { return !tight_ || is_waited_for(stage); }

bool Executor::drop_all_not_waited_for() {
  bool any = false;
  for (Stage* stage : stages_)
    if (!is_waited_for(*stage)) any = stage->drop_fetched() > 0 || stage->drop_younger(nullptr) || any;
  tight_ = tight_ || any;
  return any;
}

// Something to take, or a state in which only the consumer can act: a batch that finds no memory.
bool Executor::has_news() const {
  if (!broken_.ok()) return true;
  Stage* giving = root_->giving();
  if (!giving || giving->has_output()) return true;
  return running_ == 0 && !has_work(Duty::cpu) && !has_work(Duty::io);
}

size_t Executor::scratch_to_keep(size_t workers) const {
  constexpr size_t kMost = size_t{8} << 20, kShare = 16;  // at most 1/16 of the budget for all of them
  return std::min(kMost, pool_->budget() / kShare / std::max<size_t>(1, workers));
}

bool Executor::has_many_news() const {
  Stage* giving = root_->giving();
  return !broken_.ok() || !giving || giving->has_some();
}

bool Executor::has_plenty() const {
  Stage* giving = flexible_ ? root_->giving() : nullptr;
  return giving && giving->has_plenty() && broken_.ok() && !out_of_memory_;
}

bool Executor::take(Duty duty, Work& work) {
  std::lock_guard lock(mutex_);
  return take_locked(duty, work);
}

void Executor::finish(Work& work) {
  std::lock_guard lock(mutex_);
  finish_locked(work);
}

void Executor::finish_locked(Work& work) {
  --running_;
  if (work.io) --reading_;
  guarded([&] { settle(work); });
}

void Executor::settle(Work& work) {
  const bool no_memory = work.result.status.code() == Code::exhausted;
  if (no_memory && !work.ticket->dropped) {
    if (work.stage->split(work.ticket)) {
      work.ticket.reset();
      return pump();
    }
    if (answer_out_of_memory(work)) return;
  }
  if (out_of_memory_ && out_of_memory_->ticket == work.ticket && out_of_memory_->part == work.part)
    out_of_memory_.reset();
  work.stage->finish(work);
  work.ticket.reset();
}

// A part found the pool empty. Other running parts will return memory, or just have; then bytes read ahead
// can be dropped, then younger tickets, then the consumer can take ready elements. Only when nothing of that
// is left the part is too large.
bool Executor::answer_out_of_memory(Work& work) {
  ++times_out_of_memory_;
  headroom_.was_short();
  bool retry = true;
  awaits_consumer_ = false;
  if (running_ == 0 && work.alone && !consumer_took_ && work.stage->drop_fetched() == 0 &&
      !work.stage->drop_younger(work.ticket.get())) {
    Stage* giving = root_->giving();  // no other stage is drained by the consumer itself
    awaits_consumer_ = giving && giving->has_output();
    bool others = !work.stage->is_front(*work.ticket);
    bool downstream = false, paused = false, freed = false;
    if (!is_waited_for(*work.stage)) {
      tight_ = paused = true;
      work.stage->drop_younger(nullptr);
    } else if (drop_all_not_waited_for()) {
      paused = true;
    }
    for (Stage* stage : stages_) {
      if (stage == work.stage)
        downstream = true;
      else if (paused || !is_waited_for(*stage))
        continue;
      else if (downstream)
        others = others || stage->has_runnable(true) || stage->has_runnable(false) || stage->has_output();
      else
        freed = stage->drop_fetched() > 0 || stage->drop_younger(nullptr) || freed;
    }
    if (!awaits_consumer_ && !others && !paused && !freed) {
      freed = reclaims_memory();
      if (!freed) return false;
    }
    retry = awaits_consumer_ || paused || freed;
  }
  work.result = {};
  work.stage->give_back(work);
  const bool oldest = !out_of_memory_ || out_of_memory_->stage != work.stage ||
                      out_of_memory_->ticket->serial >= work.ticket->serial;
  if (!retry)
    out_of_memory_.reset();
  else if (oldest)
    out_of_memory_ = work;
  work.ticket.reset();
  return true;
}

Pull Executor::poll_locked(Sample& out, Status& failure) {
  Pull pulled = Pull::error;
  guarded([&] { pulled = poll_any(out, failure); });
  if (broken_.ok()) return pulled;
  failure = broken_;
  return Pull::error;
}

Pull Executor::poll_any(Sample& out, Status& failure) {
  pump();
  Item item;
  Pull pulled = root_->pull_one(item, failure);
  // Another child may have started after this, or the last one may have ended: the consumer checks again
  // itself, because no other thread would wake it.
  for (size_t tries = 0; pulled == Pull::wait && tries <= stages_.size(); ++tries) {
    pump();
    const Stage* giving = root_->giving();
    if (!giving || !giving->has_output()) break;
    pulled = root_->pull_one(item, failure);
  }
  if (pulled == Pull::item) {
    if (item.samples.empty()) {
      failure = internal_error("an element without a sample");
      return Pull::error;
    }
    out = std::move(item.samples[0]);
    if (!item.is_alone)  // ignored when there is no room: the consumer must continue
      for (Tensor& field : out.fields) (void)separate(field, *pool_);
    given_ = item.given, ++num_handed_;
    remember();
    hand_over(out, *pool_);  // before threads that wait for memory check again
    awaits_consumer_ = false, consumer_took_ = true, tight_ = false;
    pump();
    return pulled;
  }
  handed_all_ = handed_all_ || pulled == Pull::end;
  if (pulled != Pull::wait || running_ > 0) return pulled;
  awaits_consumer_ = false;  // it polled and found nothing
  if (!waiting_for_memory_ || give_up_later_children()) return pulled;
  if (std::all_of(stages_.begin(), stages_.end(), [](const Stage* stage) { return stage->empty(); })) {
    if (reclaims_memory()) {
      pump();
      return pulled;
    }
    const auto ledger = pool_->ledger();
    failure = Status(Code::exhausted, "batch: the memory budget of " + std::to_string(ledger.budget) +
                                          " bytes has no room for one batch, with " +
                                          std::to_string(ledger.in_use) +
                                          " bytes in use; lower the batch size or raise memory_budget");
    return Pull::error;
  }
  return pulled;
}

// The stage whose turn it is finds no memory, while stages with later turns hold some.
bool Executor::give_up_later_children() {
  const bool any = drop_all_not_waited_for();
  if (any) pump();
  return any;
}

Pull Executor::poll(Sample& out, Status& failure) {
  std::lock_guard lock(mutex_);
  return poll_locked(out, failure);
}

}  // namespace headrace
