#include "headrace/tune/tuner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headrace {
namespace {

constexpr double kNeverWaits = 0.01;  // a smaller share of the time counts as not waiting
constexpr double kFullReaders = 0.8, kFullWorkers = 0.85;
constexpr double kWorthIt = 1.03;       // a gain that is not noise
constexpr double kWorthItInNeed = 1.1;  // when low on memory, where more in flight may slow itself down
constexpr int kCalm = 3;                // intervals without waiting before something is given back
constexpr double kSpare = 0.75;         // target occupancy of the threads that are kept
constexpr double kMemoryShare = 0.8;
constexpr double kRemembered = 4;   // seconds
constexpr size_t kMostSteps = 4;    // maximum factor for readers in one step
constexpr double kSlowRead = 2e-3;  // seconds of waiting: shorter reads are many in any interval
constexpr double kAhead = 1.5;      // parts to read for each reader, so that none lacks one
constexpr double kSlower = 1.4;     // reads that wait this much longer share something
constexpr size_t kRowsEnough = 32;  // to know what a row costs
constexpr size_t kMostDecisions = 1000;

size_t index(Knob knob) { return static_cast<size_t>(knob); }

size_t rounded_up(double x) { return static_cast<size_t>(std::ceil(std::clamp(x, 0.0, 1e9))); }

// The occupancy of the busiest kind of server.
double occupancy(const Gauge& g) {
  return std::max({g.workers_occupied() / static_cast<double>(g.settings.workers),
                   g.readers_occupied() / static_cast<double>(g.settings.io), 1 - g.wait_share()});
}

// Little's law: the number in flight at the rate that all others could sustain.
size_t wanted_readers(const Gauge& gauge, const Model& model) {
  const double others = std::min({model.by_cores, model.by_python, model.by_consumer});
  if (!std::isfinite(others) || gauge.rows == 0) return rounded_up(1e9);
  return rounded_up(1.15 * others * gauge.reading / static_cast<double>(gauge.rows));
}

// The readers have all that is in progress: more of them would find nothing to read.
bool lacks_parts(const Gauge& g) {
  const double parts = static_cast<double>(g.settings.ready) * g.parts_each;
  return g.queued == 0 && parts > 0 && static_cast<double>(g.settings.io) >= parts;
}

// At most as many elements as the budget has room for.
size_t room_for(size_t ready, const Gauge& g) {
  if (g.budget == 0 || g.memory == 0) return ready;
  const auto now = static_cast<double>(g.settings.ready), memory = static_cast<double>(g.memory);
  const double one = (memory - std::min(memory, static_cast<double>(g.fixed))) / now;
  const double room = kMemoryShare * static_cast<double>(g.budget) - memory;
  return one > 0 ? std::min(ready, static_cast<size_t>(std::max(0.0, now + room / one))) : ready;
}

// Four times as many, as far as the others could use them, with elements in progress for them all.
Settings more_reads(const Gauge& g, const Model& model, const SettingLimits& may) {
  const Settings now = g.settings;
  Settings out = now;
  if (g.readers_occupied() >= kFullReaders * static_cast<double>(now.io)) {
    const size_t wanted = g.rows < kRowsEnough ? may.most.io : wanted_readers(g, model);
    out.io = std::min({kMostSteps * now.io, std::max(2 * now.io, wanted), may.most.io});
    out.io = std::max(out.io, now.io);
  }
  const double each = std::max(1.0, g.parts_each);
  const size_t ready = rounded_up(kAhead * static_cast<double>(out.io) / each) + 2;
  if (ready > now.ready && !g.starved)
    out.ready = std::max(now.ready, std::min(room_for(ready, g), may.most.ready));
  // Further readers would find nothing to read.
  const size_t parts = rounded_up(static_cast<double>(out.ready) * each);
  out.io = std::max(now.io, std::min(out.io, parts));
  return out;
}

void note(Decision decision, std::vector<Decision>& all) {
  if (all.size() == kMostDecisions) all.pop_back();
  all.push_back(std::move(decision));
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

}  // namespace

const Settings& Tuner::look(const Gauge& gauge) {
  at_s_ += gauge.seconds;
  if (look_at_reads(gauge)) return settings_;
  if (settle_ > 0) {
    --settle_;
    return settings_;
  }
  if (gauge.rows == 0) return settings_;
  if (trial_) {
    judge(gauge);
    return settings_;
  }
  if (since_.seconds > kRemembered) since_ = {}, looks_ = 0;
  since_ += gauge, ++looks_;
  decide(since_);
  return settings_;
}

// Only parts that are being read are in progress, and the consumer waits for them.
std::optional<Settings> Tuner::by_reads(const Gauge& gauge) const {
  if (trial_ && !trial_->is_of_reads) return std::nullopt;
  const auto readers = static_cast<double>(settings_.io);
  const double in_flight = static_cast<double>(settings_.ready) * std::max(1.0, gauge.parts_each);
  const auto parts = static_cast<double>(gauge.parts_read);
  if (parts < std::min(readers, in_flight) || gauge.seconds * parts < gauge.reading) return std::nullopt;
  Gauge lately = since_;  // that they have just caught up says little
  lately += gauge;
  const bool are_few = lately.wait_share() >= 0.5 && lately.reads_wait() && gauge.store_wait() >= kSlowRead &&
                       lately.workers_occupied() < kFullWorkers * static_cast<double>(settings_.workers) &&
                       (lately.readers_occupied() >= kFullReaders * readers || gauge.queued == 0);
  if (!are_few) return std::nullopt;
  if (trial_) return settings_;
  SettingLimits may = limits_;  // what was not tried in vain
  if (in_vain_[index(Knob::io)] || std::isfinite(bandwidth_)) may.most.io = settings_.io;
  if (in_vain_[index(Knob::ready)]) may.most.ready = settings_.ready;
  const Settings to = more_reads(gauge, Model::of(gauge, cores_, tried()), may);
  return to == settings_ ? std::nullopt : std::optional(to);
}

bool Tuner::look_at_reads(const Gauge& gauge) {
  if (!by_reads(gauge)) return false;
  if (trial_) judge(gauge);
  const Settings from = settings_, to = by_reads(gauge).value_or(from);
  if (trial_ || to == from) return true;
  Gauge before = gauge;
  before.rows = gauge.rows_read;
  const double predicted = before.rate() * static_cast<double>(to.io) / static_cast<double>(from.io);
  trial_ = Trial{.aim = Aim::more, .before = before, .from = from, .is_of_reads = true, .decisions = 0};
  const auto raise = [&](Knob knob, std::string why) {
    if (to.of(knob) <= from.of(knob)) return;
    note({at_s_, knob, from.of(knob), to.of(knob), std::move(why), predicted, -1, false}, decisions_);
    ++trial_->decisions;
  };
  raise(Knob::ready,
        "elements in progress have too little to read for " + std::to_string(to.io) + " readers");
  raise(Knob::io, "all " + std::to_string(from.io) + " reads in flight wait for the store");
  settings_ = to;
  since_ = {}, looks_ = 0, settle_ = 1, calm_ = 0;
  return true;
}

// A trial continues: the change is judged later, and nothing else is changed until then.
void Tuner::restart() {
  if (trial_) trial_->once.reset();
  settle_ = 1, calm_ = 0, since_ = {}, looks_ = 0;
}

Settings Tuner::found() const {
  Settings out = settings_;
  if (trial_) out = trial_->from;
  return out;
}

void Tuner::judge(const Gauge& gauge) {
  const Aim aim = trial_->aim;
  Gauge after = gauge;
  if (trial_->once && !trial_->is_of_reads) {
    after = *trial_->once;
    after += gauge;
  }
  if (trial_->is_of_reads) after.rows = after.rows_read;
  for (size_t i = 0; i < trial_->decisions; ++i)
    decisions_[decisions_.size() - 1 - i].obtained = after.rate();
  // More elements in flight should make a kind of server busier; rates differ for many reasons, such as slow
  // samples.
  const bool is_ready = decisions_.back().knob == Knob::ready;
  const double gain = is_ready ? occupancy(after) / std::max(1e-9, occupancy(trial_->before))
                               : after.rate() / std::max(1e-9, trial_->before.rate());
  const bool waits = after.wait_share() >= kNeverWaits;
  const double worth_it = gauge.starved ? kWorthItInNeed : kWorthIt;
  const bool helped = aim == Aim::more
                          ? !waits || gain >= worth_it
                          : !waits || (trial_->before.wait_share() >= kNeverWaits && gain >= 0.985);
  // Less than half of the expected gain may be noise.
  const double expected = decisions_.back().predicted / std::max(1e-9, trial_->before.rate());
  const bool is_clear = aim == Aim::less || !waits || gain >= 1 + 0.5 * (expected - 1);
  if (helped && (is_clear || trial_->once)) return keep(Gauge(trial_->before), after, aim);
  if (!trial_->once) {
    trial_->once = gauge;
    return;
  }
  undo(after, aim);
}

void Tuner::keep(const Gauge& before, const Gauge& after, Aim aim) {
  const Decision& last = decisions_.back();
  trial_.reset();
  if (aim == Aim::less) {
    // The same rate with fewer readers: they wait for one another.
    if (last.knob == Knob::io && after.wait_share() >= kNeverWaits) bandwidth_ = after.rate();
    return;
  }
  forget_failures();
  if (last.knob != Knob::io || after.wait_share() < kNeverWaits) return;
  // Much less than independent readers would gain: the store's bandwidth is used up. Keep as many readers as
  // reach this rate.
  const double wanted = static_cast<double>(last.to) / static_cast<double>(last.from);
  const double gain = after.rate() / std::max(1e-9, before.rate());
  const bool still_full = after.readers_occupied() > kFullReaders * static_cast<double>(last.to);
  // Reads of their own that take longer share the store; parts that wait for a block that another reader
  // opens share that.
  const bool is_slower =
      after.reads >= after.parts_read && after.store_wait() > kSlower * before.store_wait();
  const bool is_shared = after.readers_compute() || is_slower;
  if (!still_full || !is_shared || gain > 1 + 0.6 * (wanted - 1)) return;
  bandwidth_ = after.rate();
  in_vain_[index(Knob::io)] = true, steady_rate_ = after.rate();
  const size_t enough = rounded_up(1.3 * gain * static_cast<double>(last.from));
  if (enough < last.to)
    turn(Knob::io, enough, Aim::less, after, Model::of(after, cores_, tried()),
         after.readers_compute() ? "more readers are not faster"
                                 : "more readers get no more bytes per second from the store");
}

void Tuner::undo(const Gauge& after, Aim aim) {
  Decision& last = decisions_.back();
  for (size_t i = 0; i < trial_->decisions; ++i) decisions_[decisions_.size() - 1 - i].undone = true;
  settings_ = trial_->from;
  if (aim == Aim::more) {
    in_vain_[index(last.knob)] = true;
    // More reads were in flight at once, and took longer in proportion.
    if (last.knob == Knob::io && after.readers_occupied() > 1.1 * trial_->before.readers_occupied())
      bandwidth_ = std::max(after.rate(), trial_->before.rate());
  } else {
    needed_[index(last.knob)] = last.from;
    // Far more than expected of so few readers, each as slow as before: readers wait for one another.
    if (last.knob == Knob::io && after.rate() > 0.5 * (last.predicted + trial_->before.rate()))
      bandwidth_ = trial_->before.rate();
  }
  steady_rate_ = usual_rate_ = std::max(after.rate(), trial_->before.rate());
  trial_.reset();
  since_ = {}, looks_ = 0, settle_ = 1, calm_ = 0;
}

void Tuner::forget_failures() { in_vain_ = {}, bandwidth_ = Model::kNoBound, no_room_ = false; }

void Tuner::decide(const Gauge& gauge) {
  const Model model = Model::of(gauge, cores_, tried());
  usual_rate_ = usual_rate_ > 0 ? 0.7 * usual_rate_ + 0.3 * gauge.rate() : gauge.rate();
  // Conditions have changed since a number was tried without a gain.
  if (steady_rate_ > 0 && std::abs(usual_rate_ / steady_rate_ - 1) > 0.25) {
    forget_failures();
    needed_ = {}, steady_rate_ = 0;
  }
  if (gauge.wait_share() < kNeverWaits) {
    if (++calm_ >= kCalm && give_back(gauge, model)) calm_ = 0;
    return;
  }
  calm_ = 0;
  // Other programs occupy the cores: measurements now do not depend on the settings.
  if (limit_of(gauge, model, cores_) == Limit::cores) return;
  try_more(gauge, model);
}

// The fullest kind of server first. If none is full, too little is in flight.
bool Tuner::try_more(const Gauge& gauge, const Model& model) {
  const bool readers_full = gauge.readers_occupied() >= kFullReaders * static_cast<double>(settings_.io);
  const bool workers_full = gauge.workers_occupied() >= kFullWorkers * static_cast<double>(settings_.workers);
  if (workers_full && fewer_for_python(gauge, model)) return true;
  if (workers_full && more_workers(gauge, model)) return true;
  const bool cores_full = gauge.own_cores_used() >= 0.9 * static_cast<double>(cores_);
  if (cores_full) return false;
  if (readers_full && (more_readers(gauge, model) || fewer_readers(gauge, model))) return true;
  if (workers_full || (readers_full && !in_vain_[index(Knob::io)] && !lacks_parts(gauge))) return false;
  if (readers_full && std::isfinite(bandwidth_)) return false;
  if (more_ready(gauge, model)) return true;
  // Readers that alternate with others may still be too few, unless memory is what is missing.
  const bool readers_used = gauge.readers_occupied() >= 0.4 * static_cast<double>(settings_.io);
  return !workers_full && readers_used && !gauge.starved && more_readers(gauge, model);
}

bool Tuner::more_readers(const Gauge& gauge, const Model& model) {
  if (in_vain_[index(Knob::io)] || gauge.reads == 0 || lacks_parts(gauge)) return false;
  const size_t to = std::min(wanted_readers(gauge, model), kMostSteps * settings_.io);
  const size_t waiting = std::min(settings_.io, rounded_up(gauge.readers_occupied()));
  const std::string all = std::to_string(waiting) + " of " + std::to_string(settings_.io);
  return turn(Knob::io, to, Aim::more, gauge, model,
              gauge.readers_compute() ? all + " readers are busy while cores are idle"
                                      : all + " reads in flight wait for the store while cores are idle");
}

// More readers brought no gain: perhaps fewer are enough.
bool Tuner::fewer_readers(const Gauge& gauge, const Model& model) {
  const size_t to = std::max((settings_.io + 1) / 2, needed_[index(Knob::io)]);
  if (!in_vain_[index(Knob::io)] || looks_ < 2) return false;
  return turn(Knob::io, to, Aim::less, gauge, model,
              "more reads in flight brought no gain; fewer may be enough");
}

bool Tuner::more_workers(const Gauge& gauge, const Model& model) {
  if (in_vain_[index(Knob::workers)]) return false;
  const double used = std::max(0.05, gauge.cores_used());
  const auto cores = static_cast<double>(cores_);
  const bool waits = gauge.functions_wait();
  if (!waits && settings_.workers >= cores_) return false;
  if (std::min(model.by_python, model.by_cores) < kWorthIt * gauge.rate()) return false;
  // As many as keep the cores busy; step by step, because more workers may wait longer.
  const double most = gauge.stalled() > 0.8 * gauge.occupied ? 4 : 2;
  const double wanted = static_cast<double>(settings_.workers) * std::clamp(cores / used, 1.0, most);
  const size_t to = std::max(settings_.workers + 1, rounded_up(wanted));
  return turn(
      Knob::workers, waits ? to : std::min(to, cores_), Aim::more, gauge, model,
      waits ? "workers wait in functions while cores are idle" : "all workers are busy while cores are idle");
}

// Threads that wait for the GIL slow down the thread that holds it.
bool Tuner::fewer_for_python(const Gauge& gauge, const Model& model) {
  const double python = gauge.in_python / gauge.seconds;
  const bool waits = gauge.functions_wait();
  if (python < 0.6 || python > 1.1 || !waits || settings_.workers < 2) return false;
  if (settings_.workers <= needed_[index(Knob::workers)]) return false;
  return turn(Knob::workers, settings_.workers / 2, Aim::less, gauge, model,
              "Python functions hold the GIL; the other workers only wait for it");
}

bool Tuner::more_ready(const Gauge& gauge, const Model& model) {
  if (in_vain_[index(Knob::ready)] || gauge.starved || looks_ < 2) return false;
  const size_t to = room_for(2 * settings_.ready, gauge);
  no_room_ = to <= settings_.ready;
  return turn(Knob::ready, to, Aim::more, gauge, model,
              "neither readers nor workers are fully busy: too little is in flight");
}

// One number at a time, most of the idle threads.
bool Tuner::give_back(const Gauge& gauge, const Model& model) {
  const std::string why =
      "the consumer waits " + percent(gauge.wait_share()) + " of the time; fewer are enough";
  for (const Knob knob : {Knob::workers, Knob::io}) {
    const double used = knob == Knob::io ? gauge.readers_occupied() : gauge.workers_occupied();
    const size_t enough = std::max(rounded_up(used / kSpare), needed_[index(knob)]);
    if (enough < settings_.of(knob) && turn(knob, enough, Aim::less, gauge, model, why)) return true;
  }
  return false;
}

bool Tuner::turn(Knob knob, size_t to, Aim aim, const Gauge& gauge, const Model& model, std::string why) {
  const size_t from = settings_.of(knob);
  to = std::clamp(to, limits_.least.of(knob), limits_.most.of(knob));
  if (aim == Aim::more ? to <= from : to >= from) return false;
  const Settings before = settings_;
  settings_.of(knob) = to;
  note({at_s_, knob, from, to, std::move(why), model.predict(before, settings_), -1, false}, decisions_);
  trial_ = Trial{.aim = aim, .before = gauge, .from = before};
  since_ = {}, looks_ = 0, settle_ = 1;
  return true;
}

}  // namespace headrace
