// How a stage frees memory: work that was begun is undone and put back.
#include <algorithm>

#include "headrace/run/engine/stage.h"

namespace headrace {

void Stage::give_back(const Work& work) {
  const TicketPtr& ticket = work.ticket;
  if (ticket->dropped) return;
  if (work.part != Work::kFinish && !work.io) ticket->parts[work.part].state = Part::State::ready;
  (work.io ? io_ : ready_).emplace(ticket->serial, work.part);
}

size_t Stage::drop_fetched() {
  std::vector<PartKey> fetched;  // oldest first
  for (const PartKey& key : ready_) {
    const TicketPtr ticket = find(key.first);
    if (key.second == Work::kFinish) continue;
    if (!ticket->parts[key.second].blocks.empty() || ticket->rows_made) fetched.push_back(key);
  }
  if (fetched.empty()) return body_->forget_kept() ? 1 : 0;
  fetched.erase(fetched.begin(), fetched.begin() + static_cast<std::ptrdiff_t>(fetched.size() / 2));
  for (const PartKey& key : fetched) {
    const TicketPtr ticket = find(key.first);
    Part& part = ticket->parts[key.second];
    part.forget();
    ticket->take_back(part);
    ticket->rows_made = nullptr;  // rows that were kept for the next step
    part.state = Part::State::io;
    ready_.erase(key), io_.insert(key);
  }
  return fetched.size();
}

bool Stage::drop_younger(const Ticket* keep) {
  if (!body_->takes_positions()) return false;
  const auto holds_memory = [](const Ticket& t) {
    const bool slots = std::any_of(t.slots.begin(), t.slots.end(), [](const MutView& s) { return s.data; });
    return t.done || slots || t.rows_made || t.parts_left < t.parts.size();
  };
  const auto untouched = [](const Ticket& t) { return t.emitted == t.item.handed_out; };
  const auto younger = [&](const Ticket& t) { return !keep || t.serial > keep->serial; };
  bool worth_it = false;
  for (auto it = ring_.rbegin(); it != ring_.rend() && it->get() != keep && untouched(**it); ++it)
    worth_it = worth_it || (younger(**it) && holds_memory(**it));
  bool gave_some = false;
  while (worth_it && !(keep && gave_some) && !ring_.empty() && ring_.back().get() != keep &&
         younger(*ring_.back()) && untouched(*ring_.back())) {
    gave_some = holds_memory(*ring_.back());
    drop_youngest();
  }
  return worth_it;
}

// REQUIRES: none of its outputs was handed out.
void Stage::drop_youngest() {
  const TicketPtr ticket = ring_.back();
  ring_.pop_back();
  ticket->dropped = true;
  for (auto* runnable : {&io_, &ready_})
    runnable->erase(runnable->lower_bound({ticket->serial, 0}), runnable->end());
  CursorReader before(ticket->before);
  feeder_->restore(before);
  --admitted_;
  ended_ = false, failure_ = {};
}

// Items are in order, so no later one was handed out.
bool Stage::split(const TicketPtr& ticket) {
  if (!body_->may_be_fewer(*ticket)) return false;
  body_->take_fewer(ticket->item.count);
  while (!ticket->dropped) drop_youngest();
  return true;
}

}  // namespace headrace
