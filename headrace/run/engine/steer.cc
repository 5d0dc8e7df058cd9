#include "headrace/run/engine/steer.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kLookNs = 10 * kMs;  // between two checks whether an interval is over
// An interval contains enough to tell noise from effect: parts of work, and elements for a consumer that
// takes one at a time.
constexpr uint64_t kShortest = 200 * kMs, kLonger = 1'000 * kMs, kLongest = 5'000 * kMs;
constexpr uint64_t kManyParts = 32, kManyElements = 8, kSomeElements = 3;
constexpr uint64_t kSlowReadNs = 2 * kMs;         // readers that take longer may decide an interval
constexpr uint64_t kPause = 500 * kMs;            // after which earlier measurements are discarded
constexpr uint64_t kBetweenOthers = 1'000 * kMs;  // between two looks at what other processes use
constexpr uint64_t kUnusual = 8;                  // a step this many times longer than usual is a pause
constexpr double kLately = 5;                     // minimum seconds of the report's recent measurements
constexpr size_t kMostMoments = 512;

}  // namespace

Steer::Steer(Settings start, SettingLimits limits, size_t cores, bool batched, CpuTimes cpu_times)
    : tuner_(start, limits, cores), cores_(cores), batched_(batched), cpu_times_(cpu_times) {}

void Steer::begin(uint64_t now, const Executor& executor, const Team& team) {
  // An iteration that follows at once continues the interval: iterations may be shorter than an interval.
  if (ended_ns_ > 0 && now - ended_ns_ < kPause) {
    began_ns_ += now - ended_ns_;
    if (cpu_times_.process_ns) then_.process += cpu_times_.process_ns() - at_end_.process;
  } else {
    begin_anew(now, executor, team);
    checked_ns_ = now, waited_then_ = waited_ns(now);
  }
  waits_since_ = 0, under_way_ = true, open_ = {};
}

// Discards what was measured since the interval began.
void Steer::begin_anew(uint64_t now, const Executor& executor, const Team& team) {
  tuner_.restart();
  look_at_others(now);
  then_ = sums(now, executor, team);
  began_ns_ = now;
}

// Not in each interval: the system call is slow (it sums interrupts over all cores), and work waits for it.
void Steer::look_at_others(uint64_t now) {
  if (!cpu_times_.machine_ns || now < others_.next_ns) return;
  const auto before = others_;
  const uint64_t begin = now_ns();
  others_ = {now, cpu_times_.process_ns(), cpu_times_.machine_ns(), -1};
  others_.next_ns = now + std::max(kBetweenOthers, 1000 * (now_ns() - begin));
  if (before.at_ns == 0 || others_.machine_ns <= before.machine_ns) return;
  const double all = seconds(others_.machine_ns - before.machine_ns);
  const double own = seconds(others_.process_ns - before.process_ns);
  others_.cores = std::max(0.0, all - own) / seconds(now - before.at_ns);
}

void Steer::end(uint64_t now, const Executor& executor, const Team& team) {
  if (!under_way_) return;
  consumer_waited(now);
  under_way_ = false, ended_ns_ = now;
  const Sums sums_now = at_end_ = sums(now, executor, team);
  if (!history_.empty() || sums_now.rows == then_.rows) return;
  tuner_.pass(close_interval(now, sums_now, executor).seconds);  // a short run has a history, too
}

Gauge Steer::close_interval(uint64_t now, const Sums& sums_now, const Executor& executor) {
  look_at_others(now);
  const Gauge g = gauge(then_, sums_now, now - began_ns_, executor);
  remember(g);
  at_s_ += g.seconds;
  then_ = sums_now, began_ns_ = now;
  return g;
}

void Steer::worked(const Work& work, uint64_t occupied_ns, const Executor& executor) {
  if (work.io && work.taken_ns > 0) --open_.reads, open_.taken_ns -= work.taken_ns;
  if (work.io)
    now_.reading += occupied_ns, now_.reading_cpu += work.busy_ns, now_.reading_in_python += work.python_ns;
  else
    now_.occupied += occupied_ns, now_.busy += work.busy_ns, now_.in_python += work.python_ns;
  if (!work.result.status.ok() || work.part == Work::kFinish || !executor.gives(*work.stage)) return;
  const Part& part = work.ticket->parts[work.part];
  if (work.io) now_.rows_read += std::max<size_t>(1, part.count), ++now_.parts_read;
  if (work.io && !part.has_passed) return;
  now_.rows += std::max<size_t>(1, part.count);
  ++now_.parts;
}

void Steer::delivered(const Sample& element) {
  ++now_.elements;
  now_.samples += batched_ && !element.fields.empty() ? static_cast<uint64_t>(element.fields[0].shape[0]) : 1;
}

void Steer::consumer_waited(uint64_t until) {
  if (waits_since_ > 0 && until > waits_since_) now_.waited += until - waits_since_;
  waits_since_ = 0;
}

uint64_t Steer::waited_ns(uint64_t now) const {
  return now_.waited + (waits_since_ > 0 && now > waits_since_ ? now - waits_since_ : 0);
}

Steer::Sums Steer::sums(uint64_t now, const Executor& executor, const Team& team) const {
  Sums out = now_;
  if (cpu_times_.process_ns) out.process = cpu_times_.process_ns();
  out.waited = waited_ns(now), out.starved = executor.times_out_of_memory();
  out.reading_open = static_cast<int64_t>(open_.reads * now - open_.taken_ns);
  team.each([&](const Worker& worker) {
    out.lacked += worker.counters.core_wait_ns.get();
    out.reading_lacked += worker.counters.reading_core_wait_ns.get();
    out.reads += worker.counters.io_reads.get(), out.bytes += worker.counters.io_bytes.get();
  });
  return out;
}

Gauge Steer::gauge(const Sums& from, const Sums& to, uint64_t ns, const Executor& executor) const {
  const auto ledger = executor.ledger();
  Gauge out;
  out.seconds = seconds(ns), out.settings = tuner_.settings();
  out.rows = to.rows - from.rows, out.samples = to.samples - from.samples;
  out.elements = to.elements - from.elements, out.parts = to.parts - from.parts;
  out.waited = seconds(to.waited - from.waited);
  out.occupied = seconds(to.occupied - from.occupied), out.busy = seconds(to.busy - from.busy);
  out.lacked = seconds(to.lacked - from.lacked), out.process = seconds(to.process - from.process);
  out.others = others_.cores, out.usable = cpu_times_.usable, out.machine = cpu_times_.cores;
  out.worker_time = out.seconds * static_cast<double>(out.settings.workers);
  out.reader_time = out.seconds * static_cast<double>(out.settings.io);
  out.in_python = std::min(out.busy, seconds(to.in_python - from.in_python));
  out.reading = seconds(to.reading - from.reading);
  out.reading_cpu = seconds(to.reading_cpu - from.reading_cpu);
  out.reading_in_python = std::min(out.reading_cpu, seconds(to.reading_in_python - from.reading_in_python));
  const auto readers = static_cast<double>(tuner_.settings().io);
  // Of some readers only: they stand for all.
  const double watched = std::min(readers, static_cast<double>(std::max<size_t>(1, cores_)));
  out.reading_lacked = seconds(to.reading_lacked - from.reading_lacked) * readers / watched;
  out.reading_open = static_cast<double>(to.reading_open - from.reading_open) * 1e-9;
  out.rows_read = to.rows_read - from.rows_read, out.parts_read = to.parts_read - from.parts_read;
  const Executor::Phases phases = executor.phases();
  out.queued = phases.io_queued, out.parts_each = static_cast<double>(phases.io_each);
  out.reads = to.reads - from.reads, out.bytes = to.bytes - from.bytes;
  out.fixed = ledger.by_use[static_cast<size_t>(Use::other)];
  out.memory = ledger.in_use, out.budget = ledger.budget, out.starved = to.starved > from.starved;
  return out;
}

bool Steer::is_over(uint64_t ns) const {
  const uint64_t parts = now_.parts - then_.parts, elements = now_.elements - then_.elements;
  if (ns < kShortest) return false;
  if (parts >= kManyParts && elements >= kManyElements) return true;
  return ns >= kLongest || (ns >= kLonger && parts > 0 && elements >= kSomeElements);
}

// Each of them has read at least once: with slow reads that is long before workers have made elements.
bool Steer::reads_decide(uint64_t now, const Executor& executor, const Team& team) {
  const uint64_t ns = now - began_ns_, parts = now_.parts_read - then_.parts_read;
  const bool may_be = parts > 0 && ns >= kLookNs && now >= read_ns_ + kLookNs &&
                      now_.reading - then_.reading >= parts * kSlowReadNs &&
                      2 * (waited_ns(now) - then_.waited) >= ns;
  if (!may_be) return false;
  const bool out = tuner_.by_reads(gauge(then_, sums(now, executor, team), ns, executor)).has_value();
  if (out || parts >= tuner_.settings().io) read_ns_ = now;
  return out;
}

// No work for a long time while the consumer asked for nothing: it validates or writes a checkpoint. A
// consumer whose steps always take this long does not pause: only its first few steps are taken for pauses.
bool Steer::is_pause(uint64_t quiet_ns, uint64_t waited_ns) {
  if (quiet_ns < kPause || waited_ns > quiet_ns / 2 || quiet_ns < kUnusual * usual_step_ns_) return false;
  usual_step_ns_ = (3 * usual_step_ns_ + quiet_ns) / 4;
  return true;
}

std::optional<Settings> Steer::look(uint64_t now, const Executor& executor, const Team& team) {
  if (!under_way_) return std::nullopt;
  const bool reads_decide = this->reads_decide(now, executor, team);
  if (now < checked_ns_ + kLookNs && !reads_decide) return std::nullopt;
  const uint64_t quiet = now - std::exchange(checked_ns_, now);
  const uint64_t waited = waited_ns(now), waited_for = waited - std::exchange(waited_then_, waited);
  if (is_pause(quiet, waited_for)) {
    begin_anew(now, executor, team);
    return std::nullopt;
  }
  const uint64_t ns = now - began_ns_;
  if (!reads_decide && !is_over(ns)) return std::nullopt;
  if (now_.elements > then_.elements)
    usual_step_ns_ = (3 * usual_step_ns_ + ns / (now_.elements - then_.elements)) / 4;
  const Gauge g = close_interval(now, sums(now, executor, team), executor);
  const Settings before = tuner_.settings();
  const Settings& after = tuner_.look(g);
  return after == before ? std::nullopt : std::optional(after);
}

void Steer::remember(const Gauge& gauge) {
  if (!(gauge.settings == lately_.settings)) older_ = {}, lately_ = {};
  if (lately_.seconds > kLately) older_ = std::exchange(lately_, {});
  lately_ += gauge;
  if (in_last_ > 0 && in_last_ < per_moment_) {
    history_.back().gauge += gauge;
    ++in_last_;
    return;
  }
  if (history_.size() >= kMostMoments) {  // every two become one
    for (size_t i = 0; i + 1 < history_.size(); i += 2) {
      history_[i / 2] = {history_[i].at_s, history_[i].gauge};
      history_[i / 2].gauge += history_[i + 1].gauge;
    }
    history_.resize(kMostMoments / 2);
    per_moment_ *= 2;
  }
  history_.push_back({at_s_, gauge});
  in_last_ = 1;
}

Gauge Steer::lately(uint64_t now, const Executor& executor, const Team& team) const {
  Gauge out = older_;
  if (lately_.seconds > 0) out += lately_;
  // The current interval, if there is little else.
  const uint64_t until = under_way_ ? now : ended_ns_;
  if (out.seconds < 1 && until > began_ns_)
    out += gauge(then_, under_way_ ? sums(now, executor, team) : at_end_, until - began_ns_, executor);
  if (out.seconds == 0) out.settings = tuner_.settings();
  return out;
}

Value Steer::history(bool alone) const {
  Value::List out;
  for (const Moment& moment : history_) {
    const Gauge& g = moment.gauge;
    const auto share = [](double sum, double of) { return of > 0 ? std::min(1.0, sum / of) : 0; };
    Value one{Value::Object()};
    one.set("at_s", moment.at_s), one.set("seconds", g.seconds);
    one.set("samples_per_s", static_cast<double>(g.samples) / g.seconds);
    one.set("wait", share(g.waited, 1));
    one.set("workers_busy", share(g.occupied, g.worker_time));
    one.set("io_busy", share(g.reading, g.reader_time));
    for (const Knob knob : kKnobs) one.set(knob_name(knob), uint64_t{g.settings.of(knob)});
    if (alone) one.set(knob_name(Knob::workers), uint64_t{0});
    one.set("memory", uint64_t{g.memory}), one.set("bytes_per_s", static_cast<double>(g.bytes) / g.seconds);
    out.push_back(std::move(one));
  }
  return out;
}

Value Steer::decisions() const {
  // The tuner counts rows; the report gives samples.
  const double samples_a_row =
      now_.rows > 0 ? static_cast<double>(now_.samples) / static_cast<double>(now_.rows) : 1;
  Value::List out;
  for (const Decision& d : tuner_.decisions()) {
    Value one{Value::Object()};
    one.set("at_s", d.at_s), one.set("knob", knob_name(d.knob));
    one.set("from", uint64_t{d.from}), one.set("to", uint64_t{d.to}), one.set("why", d.why);
    one.set("predicted_samples_per_s", d.predicted * samples_a_row);
    if (d.obtained >= 0) one.set("obtained_samples_per_s", d.obtained * samples_a_row);
    one.set("undone", d.undone);
    one.set("trying", tuner_.is_trying() && &d == &tuner_.decisions().back());
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace headrace
