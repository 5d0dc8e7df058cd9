#include "headrace/run/loader.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "headrace/core/cache/element_cache.h"
#include "headrace/core/stop_flag.h"
#include "headrace/core/text/text.h"
#include "headrace/graph/explain/notes.h"
#include "headrace/io/new_file.h"
#include "headrace/io/retrying_store.h"
#include "headrace/run/cache/auto_cache.h"
#include "headrace/run/engine/crew.h"
#include "headrace/run/engine/simulated_crew.h"
#include "headrace/run/explained.h"
#include "headrace/run/loader_settings.h"
#include "headrace/run/lower/pipeline.h"
#include "headrace/run/measure/machine.h"
#include "headrace/run/point_saver.h"
#include "headrace/run/report/report.h"
#include "headrace/run/report/watch.h"
#include "headrace/run/row_paths/level_body.h"
#include "headrace/run/state/iteration_state.h"
#include "headrace/run/state/merge.h"
#include "headrace/run/state/state_cursor.h"

namespace headrace {
namespace {

constexpr size_t kMostPointMemory = size_t{64} << 20;
constexpr uint64_t kSaveTime = 40;  // ms, of the 100 that stopping a run takes at most

// For the consumers of an iteration that another call ended: only its last element is an end.
Status ended_by(const char* call) {
  return {Code::cancelled,
          "this iteration was ended by " + std::string(call) +
              "() of its loader; begin() starts the next one, and load() of its state continues it"};
}

bool is_elastic(const Pipeline& pipeline) { return pipeline.elastic.form != Pipeline::Elastic::Form::none; }

// Where an iteration from `next` begins.
IterationState begin_of(const IterationState& next, const Pipeline& pipeline) {
  // With another world size nothing of the epoch may be left for this rank: the same as finished.
  const bool nothing_left =
      is_elastic(pipeline) && next.consumed > 0 && is_finished(pipeline.elastic, next.consumed);
  if (next.finished || nothing_left) return {.epoch = next.epoch + 1};
  return next;
}

Result<IterationState> where_of(const Value& state, const std::string& fingerprint, const Stream& root,
                                const Pipeline& pipeline) {
  HEADRACE_ASSIGN(IterationState where, state_from_value(state, fingerprint, root));
  HEADRACE_TRY(check_fits(where, pipeline));
  HEADRACE_TRY(check_sum(state));
  return where;
}

// Two mutexes. `control_` is held while beginning, stopping, saving or reporting; never while waiting for
// data or for the crew to end, because functions of the pipeline may call these methods, too. `counts_` is
// taken by a consumer that returns from waiting, to count its element; stopping the run waits for that.
// Order: control_, then counts_.
class LoaderImpl final : public Loader {
 public:
  LoaderImpl(NodePtr plan, LoaderOptions options, Pipeline pipeline, std::shared_ptr<Pool> pool,
             std::shared_ptr<StopFlag> stop, SettingLimits limits, bool ready_given,
             std::unique_ptr<AutoCache> caching, std::shared_ptr<Store> store,
             std::shared_ptr<const Retries> retries)
      : caching_(std::move(caching)),
        plan_(std::move(plan)),
        options_(std::move(options)),
        pool_(std::move(pool)),
        stop_(std::move(stop)),
        store_(std::move(store)),
        retries_(std::move(retries)),
        pipeline_(std::move(pipeline)),
        fingerprint_(headrace::fingerprint(plan_, options_.seed)),
        root_(pipeline_.root.get()),
        executor_(std::move(pipeline_.root), pool_, options_.ready, !ready_given),
        team_({pool_.get(), pipeline_.operators.size(), options_.watched ? executor_.stages().size() : 0,
               options_.seed, options_.write_into_slot, stop_.get()}),
        steer_(settings_of(options_), limits, cores_of(options_), pipeline_.batched,
               options_.simulated || options_.virtual_seed
                   ? Steer::CpuTimes{}
                   : Steer::CpuTimes{&process_cpu_ns, &machine_cpu_ns, usable_cpu(), machine_cores()}),
        watch_(executor_.stages(), options_.watched, options_.trace),
        saver_(pipeline_.points) {
    if (caching_) executor_.set_reclaimable(caching_.get());
    if (options_.may_lack_last && !is_elastic(pipeline_)) executor_.remember_before();
  }
  ~LoaderImpl() override { stop(false); }

  Status prepare() {
    for (Stage* stage : executor_.stages())
      if (auto* body = dynamic_cast<LevelBody*>(&stage->body()))
        HEADRACE_TRY(body->prepare(team_.member(Duty::cpu, 0).counters));
    return {};
  }

  Status begin() override {
    std::unique_lock control(control_);
    return begin_locked(control, true);
  }
  Result<bool> next(Sample& out) override {
    HEADRACE_ASSIGN(const std::optional<bool> found, next_by(out, std::nullopt));
    return *found;
  }
  Result<std::optional<bool>> next_within(Sample& out, uint64_t milliseconds) override {
    return next_by(out, milliseconds);
  }
  void stop(bool without_last) override {
    if (is_restoring_) stop_->raise();  // that may take long, and holds control_
    std::unique_lock control(control_);
    if (pause(control, ended_by("stop"), without_last)) saver_.start();
    saver_.give_up_after(kSaveTime);
  }
  Status check_outside() const override {
    std::lock_guard lock(control_);
    return check_outside_locked();
  }

  Result<Value> save(bool without_last) const override {
    std::lock_guard lock(control_);
    const bool was_stopped = paused_ && over_;
    if (crew_ || (was_stopped && without_last))
      return state_to_value(here(without_last), fingerprint_, root_);
    return state_to_value(paused_ ? *paused_ : next_, fingerprint_, root_);
  }
  Status check_state(const Value& state) const override {
    return where_of(state, fingerprint_, *root_, pipeline_).status();
  }
  Status load(const Value& state) override;
  bool set_epoch(uint64_t epoch) override {
    std::lock_guard lock(control_);
    if (crew_) {
      next_ = {.epoch = epoch};
      return true;
    }
    const bool is_next = !over_ && !next_.finished && epoch == next_.epoch;
    if (is_next) return false;  // a loaded position in it stays
    over_ = false, failure_ = {};
    next_ = {.epoch = epoch}, paused_.reset();
    return false;
  }
  uint64_t epoch() const override {
    std::lock_guard lock(control_);
    return crew_ ? began_.epoch : next_.epoch + (next_.finished ? 1 : 0);
  }
  uint64_t position() const override {
    std::lock_guard lock(control_);
    return executor_.num_handed() +
           (is_elastic(pipeline_) ? elements_before(pipeline_.elastic, began_.consumed) : began_.delivered);
  }
  std::optional<uint64_t> size() const override { return plan_->size; }
  const Schema& schema() const override { return plan_->schema; }
  std::string fingerprint() const override { return fingerprint_; }
  Value report() const override;
  std::string explain(bool measure) const override;
  std::vector<std::string> warnings() const override {
    const auto most = static_cast<double>(Fetcher::most_kept(options_.memory_budget, true));
    return headrace::warnings(pipeline_.plan, {most, element_sizes(pipeline_.plan)});
  }
  std::shared_ptr<const Timeline> timeline() const override {
    std::lock_guard lock(control_);
    return watch_.timeline();
  }

 private:
  Result<std::optional<bool>> next_by(Sample& out, std::optional<uint64_t> milliseconds);
  Result<std::optional<bool>> end_by(std::optional<uint64_t> milliseconds);
  void count(Pull pulled, const Sample& element);
  void save_points_of(const std::shared_ptr<Crew>& crew);
  Result<std::optional<bool>> stopped_by_another(std::optional<uint64_t> milliseconds);
  Result<std::shared_ptr<Crew>> join_consumers();
  // REQUIRES: control_ is held.
  // `anew`: also where another thread has begun an iteration meanwhile.
  Status begin_locked(std::unique_lock<std::mutex>& control, bool anew);
  Status make_way(std::unique_lock<std::mutex>& control, bool anew);
  void start_crew();
  bool pause(std::unique_lock<std::mutex>& control, Status why, bool without_last = false);
  void wait_for_leaving(std::unique_lock<std::mutex>& control);
  Status check_outside_locked() const;
  IterationState here(bool without_last = false) const;
  uint64_t clock() const { return options_.simulated ? options_.simulated->now_ns : now_ns(); }

  const std::unique_ptr<AutoCache> caching_;  // null: off
  const NodePtr plan_;
  LoaderOptions options_;
  const std::shared_ptr<Pool> pool_;
  const std::shared_ptr<StopFlag> stop_;
  const std::shared_ptr<Store> store_;
  const std::shared_ptr<const Retries> retries_;
  Pipeline pipeline_;
  std::string fingerprint_;
  const Stream* root_;  // of the executor: names the numbers of cursors
  Executor executor_;
  Team team_;
  Steer steer_;

  std::atomic<bool> is_restoring_ = false;

  mutable std::mutex control_;  // guards the next members
  Watch watch_;
  std::shared_ptr<Crew> crew_;     // exists during an iteration
  std::shared_ptr<Crew> leaving_;  // was asked to stop, and may still be working; then crew_ is null
  bool is_waited_for_ = false;     // a thread waits for leaving_
  bool ends_within_ = false;       // leaving_ was asked from within
  std::condition_variable left_;   // notified when leaving_ has ended
  IterationState next_;            // where the next begin() begins
  IterationState began_;           // where the current iteration began
  std::shared_ptr<const AskedOrders::Epoch> asked_;  // the user's orders; null if there are none
  Cursor fresh_;                                     // the cursor at the beginning of an epoch
  std::optional<IterationState> paused_;             // where the last iteration stopped
  bool over_ = false;                                // the iteration has ended or was stopped
  Status failure_;                                   // of next() once the iteration is over; ok: it has ended
  Status ended_;  // what ended the last iteration that was ended before its end
  uint64_t started_ns_ = 0;
  PointSaver saver_;

  mutable std::mutex counts_;  // guards the next members
  std::condition_variable counted_;
  size_t consumers_ = 0;  // consumers that took the crew and have not counted yet
  RunTotals totals_;
};

Status LoaderImpl::check_outside_locked() const {
  const Crew* const crew = crew_ ? crew_.get() : leaving_.get();
  if (!crew || !crew->is_within()) return {};
  return invalid(
      "a function of a pipeline, or a signal handler that runs during one, may close the pipeline's loader, "
      "but "
      "not begin or continue an iteration of it: it would wait for itself");
}

// Ends the iteration under way and asks the user's orders for the epoch that begins: functions of the user,
// which are called without the mutex.
Status LoaderImpl::make_way(std::unique_lock<std::mutex>& control, bool anew) {
  const auto running = asked_;  // is kept until its iteration has ended
  for (;;) {
    if (pause(control, ended_by("begin"))) saver_.start();
    const uint64_t epoch = begin_of(next_, pipeline_).epoch;
    if (!pipeline_.orders || (asked_ && asked_->epoch == epoch)) return {};
    control.unlock();
    auto asked = pipeline_.orders->ask(epoch);
    control.lock();
    if (crew_ && !anew) return {};  // another consumer has begun an iteration
    if (!asked.ok()) return asked.status();
    asked_ = *std::move(asked);
  }
}

Status LoaderImpl::begin_locked(std::unique_lock<std::mutex>& control, bool anew) {
  HEADRACE_TRY(check_outside_locked());
  HEADRACE_TRY(make_way(control, anew));
  if (crew_) return {};
  IterationState begins = begin_of(next_, pipeline_);
  if (asked_ && !begins.order.empty() && begins.order != asked_->digest)
    return invalid({.expected = "the positions that epoch " + std::to_string(begins.epoch) +
                                " had when the state was saved",
                    .got = "others",
                    .fix = "the function or sampler must depend on the epoch alone"})
        .in_op("reorder");
  began_ = std::move(begins);
  next_ = {.epoch = began_.epoch + 1};
  paused_.reset();
  over_ = false, failure_ = {};
  if (pipeline_.level) {
    Level::Start outer{began_.epoch, 0, 0}, rows{began_.epoch, 0, 0};
    if (is_elastic(pipeline_)) starts_at(pipeline_.elastic, began_.epoch, began_.consumed, outer, rows);
    pipeline_.level->set_starts(outer, rows);
  }
  executor_.start(began_.epoch);
  fresh_ = executor_.handed().cursor;
  const Cursor cursor = cursor_of(began_, fresh_, pipeline_);
  if (!cursor.empty()) {
    stop_->lower();
    is_restoring_ = true;
    const Status restored = executor_.restore(cursor, stop_.get());
    is_restoring_ = false;
    if (!restored.ok()) {
      stop_->lower();
      next_ = began_;  // the same state is tried again
      return restored;
    }
  }
  started_ns_ = clock();
  start_crew();
  return {};
}

void LoaderImpl::start_crew() {
  if (options_.virtual_seed) {
    crew_ = virtual_crew(executor_, team_, steer_, *options_.virtual_seed + began_.epoch);
    return;
  }
  if (options_.simulated) {
    crew_ = simulated_crew(executor_, team_, steer_, *options_.simulated);
    return;
  }
  const auto crew = options_.workers == 0 ? callers_crew : threads_crew;
  crew_ = crew(executor_, team_, steer_, watch_.begin(started_ns_));
}

// Ends the current iteration; returns whether there was one. `why`: what next() returns from now on. When
// called from within the crew it does not wait: the crew ends after the calling function has returned.
bool LoaderImpl::pause(std::unique_lock<std::mutex>& control, Status why, bool without_last) {
  saver_.give_up_after(0);
  if (without_last && !crew_ && paused_ && over_) paused_ = here(true);
  bool was_under_way = false;
  while (crew_ || leaving_) {
    if (crew_) {
      was_under_way = true;
      stop_->raise();
      crew_->ask_to_stop();
      ends_within_ = crew_->is_within();
      leaving_ = std::move(crew_);
      over_ = true;
      if (why.code() == Code::cancelled) {
        ended_ = why;
        const auto handed = executor_.handed(without_last);
        const bool is_unused = handed.elements == 0 && !handed.all;
        if (is_unused && next_.epoch == began_.epoch + 1) next_ = began_;
      }
      failure_ = why;
      paused_ = here(without_last);
      std::lock_guard lock(counts_);
      totals_.wall_ns += clock() - started_ns_;
    }
    if (leaving_->is_within()) break;
    wait_for_leaving(control);
  }
  return was_under_way;
}

// Releases the mutex while waiting. REQUIRES: leaving_ is set, and this thread does not work for it.
void LoaderImpl::wait_for_leaving(std::unique_lock<std::mutex>& control) {
  const std::shared_ptr<Crew> crew = leaving_;
  if (std::exchange(is_waited_for_, true)) return left_.wait(control, [&] { return leaving_ != crew; });
  control.unlock();
  crew->stop();
  {
    std::unique_lock counting(counts_);
    counted_.wait(counting, [&] { return consumers_ == 0; });
  }
  control.lock();
  stop_->lower();
  leaving_.reset(), is_waited_for_ = false;
  watch_.end();
  left_.notify_all();
}

// The position of the current iteration: elements handed out count, elements read ahead do not.
IterationState LoaderImpl::here(bool without_last) const {
  auto [delivered, finished, cursor] = executor_.handed(without_last);
  IterationState out{.epoch = began_.epoch, .elastic = is_elastic(pipeline_)};
  if (asked_) out.order = asked_->digest;
  out.finished = finished;
  const bool nothing_here = plan_->size == 0;  // fewer samples than ranks, with even="drop"
  const uint64_t before = began_.consumed + began_.delivered;
  if (!finished && delivered == 0 && before == 0 && !nothing_here) return {.epoch = began_.epoch};
  if (is_elastic(pipeline_)) {
    out.consumed = consumed_after(pipeline_.elastic, began_.consumed, delivered);
    out.finished = finished || is_finished(pipeline_.elastic, out.consumed);
    put_rank(pipeline_, out);
    return out;
  }
  out.delivered = began_.delivered + delivered;
  const auto steps = pipeline_.shard ? pipeline_.shard->steps : std::nullopt;
  const std::optional<uint64_t> most = steps ? steps : plan_->size;
  out.finished = finished || (most && out.delivered >= *most);
  if (!out.finished) put_cursor(std::move(cursor), fresh_, pipeline_, out);
  return out;
}

// The crew to wait for; null when the iteration is over.
Result<std::shared_ptr<Crew>> LoaderImpl::join_consumers() {
  std::unique_lock control(control_);
  HEADRACE_TRY(check_outside_locked());
  const bool leaves = leaving_ && ends_within_;  // then the function that asked for that may still fail
  if (!leaves && !failure_.ok()) return failure_;
  if (!crew_ && !leaves) {
    if (over_) return std::shared_ptr<Crew>();  // begin() starts the next epoch
    HEADRACE_TRY(begin_locked(control, false));
  }
  std::lock_guard counting(counts_);
  ++consumers_;
  return crew_ ? crew_ : leaving_;
}

void LoaderImpl::count(Pull pulled, const Sample& element) {
  std::lock_guard lock(counts_);
  if (--consumers_ == 0) counted_.notify_all();
  if (pulled != Pull::item) return;
  ++totals_.elements;
  const bool rows = pipeline_.batched && !element.fields.empty();
  totals_.samples += rows ? static_cast<uint64_t>(element.fields[0].shape[0]) : 1;
}

// Empty at a timeout.
Result<std::optional<bool>> LoaderImpl::next_by(Sample& out, std::optional<uint64_t> milliseconds) {
  HEADRACE_ASSIGN(const std::shared_ptr<Crew> crew, join_consumers());
  if (!crew) return end_by(milliseconds);
  Status failure;
  const Pull pulled = crew->next(out, failure, milliseconds);
  count(pulled, out);
  if (pulled == Pull::wait) return std::optional<bool>();
  if (pulled == Pull::item) {
    if (saver_.is_due()) save_points_of(crew);
    return std::optional(true);
  }
  const bool was_stopped = failure.code() == Code::cancelled;
  {
    std::unique_lock control(control_);
    if (crew_ == crew) {  // otherwise another thread has stopped this iteration
      const bool at_end = pulled == Pull::end;
      pause(control, at_end ? Status() : failure);
      if (at_end) {
        saver_.start();
        const uint64_t following = began_.epoch + 1;
        if (next_.epoch == began_.epoch) next_ = {.epoch = following};
        if (next_.epoch != following) paused_.reset();  // set_epoch() has said what comes next
      }
    } else if (!crew_ && ends_within_ && leaving_) {
      wait_for_leaving(control);  // until all work has ended
    }
  }
  if (pulled == Pull::end) return end_by(milliseconds);
  return was_stopped ? stopped_by_another(milliseconds) : failure;
}

// The result for a consumer that waited while another one of the same iteration reached the end or an error.
Result<std::optional<bool>> LoaderImpl::stopped_by_another(std::optional<uint64_t> milliseconds) {
  {
    std::lock_guard lock(control_);
    if (!failure_.ok()) return failure_;
    if (!executor_.handed().all) return ended_.ok() ? stopped() : ended_;
  }
  return end_by(milliseconds);
}

// During the iteration: under an endless repeat it never ends.
void LoaderImpl::save_points_of(const std::shared_ptr<Crew>& crew) {
  std::lock_guard lock(control_);
  if (crew_ == crew) saver_.start();
}

// The end of an iteration; empty at a timeout.
Result<std::optional<bool>> LoaderImpl::end_by(std::optional<uint64_t> milliseconds) {
  std::shared_ptr<const PointSaver::Save> saving;
  {
    std::lock_guard lock(control_);
    saving = saver_.under_way();
  }
  if (saving && !PointSaver::wait(*saving, milliseconds)) return std::optional<bool>();
  return std::optional(false);
}

Status LoaderImpl::load(const Value& state) {
  HEADRACE_ASSIGN(IterationState where, where_of(state, fingerprint_, *root_, pipeline_));
  std::unique_lock control(control_);
  pause(control, ended_by("load"));
  failure_ = {};
  over_ = false;
  next_ = where;
  paused_ = std::move(where);
  return {};
}

Value LoaderImpl::report() const {
  std::lock_guard lock(control_);
  RunTotals totals;
  {
    std::lock_guard counting(counts_);
    totals = totals_;
  }
  const uint64_t now = clock();
  if (crew_) totals.wall_ns += now - started_ns_;
  std::unique_lock running(executor_.mutex());
  totals.waited_ns = steer_.waited_ns(now), totals.phases = executor_.phases();
  totals.cores = steer_.cores(), totals.tried = steer_.tuner().tried();
  totals.alone = options_.workers == 0;
  totals.may_wait = options_.simulated || pipeline_.may_wait;
  totals.found = steer_.tuner().found(), totals.most = steer_.tuner().limits().most;
  const Gauge lately = steer_.lately(now, executor_, team_);
  Value history = steer_.history(totals.alone), decisions = steer_.decisions();
  std::vector<const Counters*> counters;
  team_.each([&](const Worker& worker) { counters.push_back(&worker.counters); });
  running.unlock();
  if (crew_) totals.in_flight = executor_.in_flight();
  totals.retried = retries_->done;
  Value out = make_report(totals, lately, counters, pipeline_.operators, pool_->ledger());
  if (caching_) add_what_if(out, caching_->what_if());
  out.set("history", std::move(history)), out.set("decisions", std::move(decisions));
  out.set("sample_cost", watch_.sample_cost(counters));
  Value::List caches;
  for (const auto& cache : pipeline_.caches) {
    Value one;
    one.set("elements", uint64_t{cache->size()}), one.set("bytes", cache->bytes());
    one.set("hits", cache->hits()), one.set("misses", cache->misses());
    if (const std::string trouble = cache->trouble(); !trouble.empty()) one.set("trouble", trouble);
    caches.push_back(std::move(one));
  }
  out.set("caches", std::move(caches));
  return out;
}

std::string LoaderImpl::explain(bool measure) const {
  std::unique_lock running(executor_.mutex());
  const Settings settings = steer_.settings();
  const SettingLimits limits = steer_.tuner().limits();
  running.unlock();
  return explain_run({plan_, pipeline_, executor_.stages(), options_, settings, limits,
                      caching_ ? caching_->text() : "", measure ? store_ : std::shared_ptr<Store>()});
}

}  // namespace

Status check_rewrite_names(const std::set<std::string>& names) {
  std::string known = "all, write_into_slot";
  for (const Rewrite& r : rewrites()) known += ", " + std::string(r.name);
  for (const std::string& name : names) {
    bool found = name == "all" || name == "write_into_slot";
    for (const Rewrite& r : rewrites()) found = found || r.name == name;
    if (!found) return invalid("options: no rewrite '" + name + "'; the rewrites are " + known);
  }
  return {};
}

Result<std::unique_ptr<Loader>> Loader::make(NodePtr plan, LoaderOptions options,
                                             std::shared_ptr<Store> store) {
  HEADRACE_TRY(check_rewrite_names(options.rewrites_off));
  if (!options.trace.empty())  // it is written after the run: check now that it can be
    HEADRACE_TRY(NewFile::make(options.trace).status().in_op("trace"));
  HEADRACE_TRY(check_threads(options));
  const LoaderOptions given = options;
  options = with_defaults(std::move(options), *store);
  const SettingLimits limits = limits_of(given, options);
  auto pool = Pool::make(options.memory_budget);
  auto stop = std::make_shared<StopFlag>();
  const auto retries = std::make_shared<Retries>();
  retries->most = options.retries, retries->stop = stop;
  store = with_retries(std::move(store), retries);
  auto fetcher = std::make_shared<Fetcher>(store, pool, stop);
  if (options.map_files) fetcher->allow_copies_of_maps();
  HEADRACE_ASSIGN(auto caching, auto_cache(options, limits.most, store, pool));
  HEADRACE_ASSIGN(
      Pipeline pipeline,
      lower(plan, std::move(fetcher),
            {.seed = options.seed,
             .rewrites_off = options.rewrites_off,
             .ordered = options.deterministic,
             .point_memory = options.checkpoints ? std::min(kMostPointMemory, options.memory_budget / 16) : 0,
             .read_block = 2 * options.io / options.ready + 1,  // some wait to be taken while others are read
             .caches = caching.get(),
             .keep_failures = options.keep_failures,
             .fewest_fields = options.fewest_fields}));
  if (options.map_files && pipeline.level) pipeline.level->allow_maps();
  if (options.rewrites_off.contains("all") || options.rewrites_off.contains("write_into_slot"))
    options.write_into_slot = false;
  auto loader = std::make_unique<LoaderImpl>(
      std::move(plan), std::move(options), std::move(pipeline), std::move(pool), std::move(stop), limits,
      given.ready > 0 && given.workers != 0, std::move(caching), std::move(store), retries);
  HEADRACE_TRY(loader->prepare());
  return std::unique_ptr<Loader>(std::move(loader));
}

}  // namespace headrace
