// Wraps run/: loaders and single elements. The GIL is released whenever the engine works or waits.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "headrace/core/stop_flag.h"
#include "headrace/io/store.h"
#include "headrace/run/find_points.h"
#include "headrace/run/loader.h"
#include "headrace/run/report/report.h"
#include "headrace/run/report/report_page.h"
#include "headrace/run/report/timeline.h"
#include "headrace/run/state/iteration_state.h"
#include "headrace/run/state/merge.h"
#include "python/src/arrays/tensors.h"
#include "python/src/base/errors.h"
#include "python/src/base/gil.h"
#include "python/src/base/module.h"
#include "python/src/base/text.h"
#include "python/src/base/value.h"
#include "python/src/base/watcher.h"
#include "python/src/functions/runner.h"
#include "python/src/loader_options.h"

namespace headrace::python {

LoaderOptions loader_options(const nb::dict& options) {
  LoaderOptions out;
  out.map_files = true;  // BytesColumn detects truncated files
  for (const auto& [key, value] : options) {
    const auto name = nb::cast<std::string>(key);
    if (name == "seed")
      out.seed = nb::cast<uint64_t>(value);
    else if (name == "workers")
      out.workers = nb::cast<size_t>(value);
    else if (name == "io")
      out.io = nb::cast<size_t>(value);
    else if (name == "ready")
      out.ready = nb::cast<size_t>(value);
    else if (name == "prefetch")
      out.prefetch = nb::cast<size_t>(value);
    else if (name == "tuning")
      out.tuned = nb::cast<std::string>(value) == "auto";
    else if (name == "settings")
      for (const Knob knob : kKnobs) {
        const nb::dict settings = nb::cast<nb::dict>(value);
        const nb::str key(std::string(knob_name(knob)).c_str());
        if (!settings.contains(key)) continue;
        out.start.of(knob) = nb::cast<size_t>(settings[key]);
        const bool is_alone = knob == Knob::workers && out.start.workers == 0;  // like the run that found it
        if (is_alone && !out.workers) out.workers = 0;
      }
    else if (name == "memory_budget")
      out.memory_budget = nb::cast<size_t>(value);
    else if (name == "deterministic")
      out.deterministic = nb::cast<bool>(value);
    else if (name == "rewrites_off")
      out.rewrites_off = nb::cast<std::set<std::string>>(value);
    else if (name == "checkpoints")
      out.checkpoints = nb::cast<bool>(value);
    else if (name == "map_files")
      out.map_files = nb::cast<bool>(value);
    else if (name == "retries")
      out.retries = nb::cast<size_t>(value);
    else if (name == "cache")
      out.cache = nb::cast<std::string>(value);
    else if (name == "only_explained")
      out.only_explained = nb::cast<bool>(value);
    else if (name == "cache_version")
      out.cache_version = nb::cast<std::string>(value);
    else if (name == "trace")
      out.trace = nb::cast<std::string>(value);
    else
      check(invalid("options: there is no option '" + name + "'"));
  }
  return out;
}

namespace {

constexpr uint64_t kSignalCheckMs = 20;  // maximum delay until Ctrl-C is noticed

constexpr int64_t kLongReplay = int64_t{1} << 22;  // draws of a window shuffle that take a moment

// The largest "emitted" of a state.
int64_t emitted_in(const Value& state) {
  int64_t out = 0;
  if (const auto* list = state.list())
    for (const Value& item : *list) out = std::max(out, emitted_in(item));
  if (const auto* object = state.object())
    for (const auto& [name, value] : *object)
      out = std::max(out, name == "emitted" && value.integer() ? *value.integer() : emitted_in(value));
  return out;
}

// The draws of a window shuffle take seconds to replay: another thread does that, so that Ctrl-C ends it.
void begin_watched(Loader& loader) {
  std::promise<Status> promise;
  std::future<Status> begun = promise.get_future();
  std::thread beginning([&] { promise.set_value(loader.begin()); });
  const auto is_over = [&] {
    return quietly([&] {
      return begun.wait_for(std::chrono::milliseconds(kSignalCheckMs)) == std::future_status::ready;
    });
  };
  std::optional<nb::python_error> signal;
  while (!is_over())
    if (!signal && PyErr_CheckSignals() != 0) {
      signal.emplace();
      quietly([&] { return loader.stop(false), 0; });
    }
  beginning.join();
  if (signal) throw nb::python_error(std::move(*signal));
  check(begun.get());
}

nb::list fields_to_python(Sample sample) {
  nb::list out;
  for (Tensor& field : sample.fields) out.append(to_python(std::move(field)));
  return out;
}

// Cached, since getpid() is a system call and this is used for each element; updated at fork.
std::atomic<pid_t> process_now = [] {
  pthread_atfork(nullptr, nullptr, [] { process_now.store(getpid(), std::memory_order_relaxed); });
  return getpid();
}();
pid_t this_process() { return process_now.load(std::memory_order_relaxed); }

nb::dict index(const NodeHandle& node, int64_t step, size_t workers, bool beside, nb::handle progress) {
  IndexOptions options{.step = step, .beside = beside, .workers = workers};
  constexpr uint64_t kSignalCheckSamples = 16;
  Watcher watcher(progress);
  options.progress = [&](uint64_t done) {
    return done % kSignalCheckSamples != 0 || watcher.watch([&] { return nb::make_tuple(done); });
  };
  const Result<IndexedPoints> made = quietly([&] { return index_points(node.node, options, file_store()); });
  watcher.rethrow();
  const IndexedPoints counts = unwrap(made);
  nb::dict out;
  out["samples"] = counts.samples, out["files"] = counts.files, out["failed"] = counts.failed;
  out["bytes"] = counts.bytes, out["path"] = counts.path;
  return out;
}

// Loaders that cannot end where they are released, because they wait for the code that releases them, or for
// threads that wait for the end of the process.
class LastOnes {
 public:
  void end(std::unique_ptr<Loader> loader, std::chrono::milliseconds patience) {
    std::lock_guard lock(mutex_);
    std::erase_if(ending_, [](const std::future<void>& one) {
      return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    ending_.push_back(
        std::async(std::launch::async, [loader = std::move(loader)]() mutable { loader.reset(); }));
    (void)ending_.back().wait_for(patience);
  }
  void wait() {
    if (this_process() != process_) return;
    std::vector<std::future<void>> all;
    {
      std::lock_guard lock(mutex_);
      all.swap(ending_);
    }
    for (const std::future<void>& one : all) one.wait();
  }

 private:
  std::mutex mutex_;
  std::vector<std::future<void>> ending_;  // guarded by mutex_
  const pid_t process_ = this_process();   // none of their threads is in a forked child
};
// Never destroyed: a future would wait for its thread, in a forked child forever.
LastOnes& last_ones() {
  static auto* made = new LastOnes;
  return *made;
}

// The threads of a loader only exist in the process that created them: a forked child must not use or join
// them.
class LoaderHandle {
 public:
  LoaderHandle(const NodeHandle& node, const nb::dict& options) {
    LoaderOptions wanted = loader_options(options);
    wanted.may_lack_last = true;
    loader_ = unwrap(quietly([&] { return Loader::make(node.node, std::move(wanted), file_store()); }));
  }
  ~LoaderHandle() {
    if (this_process() != process_) {
      (void)loader_.release();
      return;
    }
    const NoGil nogil;
    constexpr std::chrono::milliseconds kAtTheEnd(500);
    if (!Py_IsInitialized())  // made or begun after the exit function has closed all
      last_ones().end(std::move(loader_), kAtTheEnd);
    else if (loader_->check_outside().ok())
      loader_.reset();
    else  // a function of the pipeline released the last reference
      last_ones().end(std::move(loader_), {});
  }

  void check_outside() const {
    check_process();
    check(quietly([&] { return loader_->check_outside(); }));
  }
  bool is_within() const {
    return this_process() == process_ && !quietly([&] { return loader_->check_outside(); }).ok();
  }
  // Returns the number of the new iteration, for next(): a thread still waiting in the previous iteration
  // gets no element of this one.
  uint64_t begin() {
    check_process();
    give_way_to_exit();
    const uint64_t number = unwrap(quietly([&]() -> Result<uint64_t> {
      HEADRACE_TRY(loader_->check_outside());
      const uint64_t number = ++begun_;
      while (const size_t consumers = consumers_) consumers_.wait(consumers);
      if (!has_long_replay_) HEADRACE_TRY(loader_->begin());
      return number;
    }));
    if (has_long_replay_) begin_watched(*loader_), has_long_replay_ = false;
    return number;
  }

  std::optional<nb::list> next(uint64_t iteration) {
    check_process();
    if (is_on_my_way()) on_its_way_to_ = std::thread::id();
    while (true) {
      give_way_to_exit();
      if (iteration <= ended_)  // by a signal handler
        check(Status(Code::cancelled, "this iteration was ended by another epoch or state of its loader"));
      Sample sample;
      Result<std::optional<bool>> given = quietly([&] { return next_of(iteration, sample); });
      if (!given.ok()) give_way_to_exit();  // stopped by it
      const bool is_over = !given.ok() || (*given && !**given);
      if (is_over && iteration == ends_after_) ended_ = iteration;
      const std::optional<bool> more = unwrap(std::move(given));
      if (more && *more) {
        on_its_way_to_ = std::this_thread::get_id();
        return fields_to_python(std::move(sample));
      }
      if (more) return std::nullopt;
      if (PyErr_CheckSignals() == 0) continue;
      is_interrupted_ = true;
      throw nb::python_error();
    }
  }

  // With a number, stops only that iteration. `on_its_way`: the last element given to this thread has not
  // reached the loop and will not, so it is not counted. Returns whether there is such an element.
  bool stop(std::optional<uint64_t> iteration, bool on_its_way) {
    if (this_process() != process_ || (iteration && *iteration != begun_)) return false;
    const bool without_last = on_its_way && is_on_my_way();
    if (has_calls_elsewhere() && !is_within()) {
      stop_with_calls(without_last);
    } else {
      const NoGil nogil;
      loader_->stop(without_last);
    }
    return without_last;
  }

  // The same for an iteration that may continue.
  nb::dict save(bool on_its_way) {
    check_process();
    const bool without_last = on_its_way && is_on_my_way();
    return nb::cast<nb::dict>(to_python(unwrap(quietly([&] { return loader_->save(without_last); }))));
  }
  nb::dict beginning_of(uint64_t epoch) {
    return nb::cast<nb::dict>(to_python(state_to_value({.epoch = epoch}, loader_->fingerprint(), nullptr)));
  }
  void check_state(nb::handle state) {
    check_process();
    const Value value = state_value(state);
    check(quietly([&] { return loader_->check_state(value); }));
  }
  void load(nb::handle state) {
    check_process();
    const Value value = state_value(state);
    const bool within = is_within();
    check(quietly([&] { return loader_->load(value); }));
    has_long_replay_ = emitted_in(value) > kLongReplay;
    end_begun(within);
  }
  void set_epoch(uint64_t epoch) {
    check_process();
    const bool within = is_within();
    const bool goes_on = quietly([&] { return loader_->set_epoch(epoch); });
    if (!goes_on) end_begun(within);
  }
  uint64_t epoch() {
    check_process();
    return quietly([&] { return loader_->epoch(); });
  }
  uint64_t position() {
    check_process();
    return quietly([&] { return loader_->position(); });
  }
  nb::dict report() {
    check_process();
    return nb::cast<nb::dict>(to_python(quietly([&] { return loader_->report(); })));
  }
  std::string report_text() {
    check_process();
    return headrace::report_text(quietly([&] { return loader_->report(); }));
  }
  std::shared_ptr<const Timeline> timeline() {
    check_process();
    return quietly([&] { return loader_->timeline(); });
  }
  std::string explain(bool measure) {
    check_process();
    return quietly([&] { return loader_->explain(measure); });
  }
  std::string fingerprint() { return loader_->fingerprint(); }
  std::vector<std::string> warnings() { return loader_->warnings(); }

 private:
  Result<std::optional<bool>> next_of(uint64_t iteration, Sample& out) {
    ++consumers_;  // first: either begin() of the next iteration is seen here, or it waits for this thread
    auto more = iteration == begun_ ? loader_->next_within(out, kSignalCheckMs)
                                    : Result<std::optional<bool>>(stopped());
    --consumers_;
    consumers_.notify_all();
    return more;
  }
  // The iteration is replaced by another epoch or state. If a function of the pipeline did that, it may still
  // fail: next() reports that first.
  void end_begun(bool within) { (within ? ends_after_ : ended_) = begun_.load(); }

  // A call in another process may never return. After Ctrl-C, before or during this, it gets a moment to
  // finish.
  void stop_with_calls(bool without_last) {
    constexpr auto kMoment = std::chrono::milliseconds(100), kLook = std::chrono::milliseconds(10);
    std::promise<void> promise;
    const std::future<void> stopped = promise.get_future();
    std::thread stopping([&] { loader_->stop(without_last), promise.set_value(); });
    std::optional<nb::python_error> signal;
    auto since = std::chrono::steady_clock::now();
    while (true) {
      const bool is_over = quietly([&] { return stopped.wait_for(kLook) == std::future_status::ready; });
      if (is_over) break;
      if (!signal && PyErr_CheckSignals() != 0) {
        signal.emplace();
        if (!is_interrupted_) since = std::chrono::steady_clock::now();
        is_interrupted_ = true;
      }
      if (is_interrupted_ && std::chrono::steady_clock::now() - since > kMoment) end_calls_elsewhere();
    }
    stopping.join();
    is_interrupted_ = false;
    if (signal) throw nb::python_error(std::move(*signal));
  }
  void check_process() const {
    if (this_process() != process_)
      check(Status(Code::foreign,
                   "this loader belongs to process " + std::to_string(process_) +
                       " and cannot be used in process " + std::to_string(this_process()) +
                       ", which was forked from it: threads do not survive a fork; "
                       "create a loader from the dataset in the child process (datasets can be pickled)"));
  }

  bool is_on_my_way() const { return on_its_way_to_ == std::this_thread::get_id(); }

  std::unique_ptr<Loader> loader_;
  std::atomic<bool> has_long_replay_ = false;  // the next iteration begins with one
  std::atomic<uint64_t> begun_ = 0;            // the number of the last iteration
  std::atomic<uint64_t> ended_ = 0;            // the last one that was replaced by another epoch or state
  std::atomic<uint64_t> ends_after_ = 0;       // the same, set by a function of the pipeline that still runs
  std::atomic<std::thread::id>
      on_its_way_to_;                  // the thread that got the last element, until it asks for more
  std::atomic<size_t> consumers_ = 0;  // threads that wait for an element
  pid_t process_ = this_process();
  bool is_interrupted_ = false;
};

// A forked child creates new ones (dataset.py) and does not touch these: another thread may have held a lock
// at the fork.
class ElementsHandle {
 public:
  ElementsHandle(const NodeHandle& node, uint64_t seed, size_t memory_budget) {
    elements_ = unwrap(quietly([&] { return Elements::make(node.node, seed, memory_budget, file_store()); }));
  }
  ~ElementsHandle() {
    if (this_process() != process_) {
      (void)elements_.release();
      return;
    }
    const NoGil nogil;
    elements_.reset();
  }
  nb::list at(uint64_t position, uint64_t epoch) {
    give_way_to_exit();
    return fields_to_python(unwrap(quietly([&] { return elements_->at(position, epoch); })));
  }

 private:
  std::unique_ptr<Elements> elements_;
  pid_t process_ = this_process();
};

nb::dict merge(const nb::list& states) {
  std::vector<Value> values;
  for (nb::handle state : states) values.push_back(state_value(state));
  return nb::cast<nb::dict>(to_python(unwrap(merge_states(values))));
}

// The timeline of a report, which may outlive the loader.
struct TimelineHandle {
  std::shared_ptr<const Timeline> timeline;
};

}  // namespace

void bind_run(nb::module_& m) {
  m.def("begin_exit", &begin_exit,
        "Called when the interpreter is about to end, by the thread that ends it.");
  m.def("give_way_to_exit", &give_way_to_exit,
        "Wait for the end of the process, if it is another thread that ends it.");
  m.def(
      "wait_for_last_loaders", [] { quietly([] { return last_ones().wait(), 0; }); },
      "Wait for loaders whose last reference was released by a function of their own pipeline.");
  m.def(
      "report_page",
      [](nb::handle report, const std::optional<TimelineHandle>& timeline, const std::string& title) {
        return report_page(to_value(report), timeline ? timeline->timeline.get() : nullptr, title);
      },
      nb::arg("report"), nb::arg("timeline").none(), nb::arg("title"), "A report as an HTML page.");
  m.def(
      "limit_names",
      [] {
        nb::list out;
        for (const std::string_view name : limit_names()) out.append(std::string(name));
        return out;
      },
      "The names of what may limit a run, as in reports.");
  m.def(
      "report_card", [](nb::handle report) { return report_card(to_value(report)); }, nb::arg("report"),
      "A report as an HTML fragment.");
  nb::class_<TimelineHandle>(m, "Timeline", "A part of a run, for drawing.");
  m.def(
      "check_rewrites", [](const std::set<std::string>& names) { check(check_rewrite_names(names)); },
      nb::arg("names"), "Raise if one of them is not a rewrite.");
  m.def("merge_states", &merge, nb::arg("states"),
        "Merge the states of all ranks into one for any world size.");
  m.def("index", &index, nb::arg("node"), nb::arg("step"), nb::arg("workers"), nb::arg("beside"),
        nb::arg("progress").none(), "Find the entropy points of encoded images in advance.");
  nb::class_<LoaderHandle>(m, "Loader", "Runs a plan on its own threads.")
      .def(nb::init<const NodeHandle&, const nb::dict&>(), nb::arg("node"), nb::arg("options"))
      .def("check_outside", &LoaderHandle::check_outside, "Raise if called from a function of the pipeline.")
      .def_prop_ro("is_within", &LoaderHandle::is_within,
                   "Whether it is called from a function of the pipeline.")
      .def("begin", &LoaderHandle::begin,
           "Begin the next epoch, or continue a loaded state; returns the number of the iteration.")
      .def("next", &LoaderHandle::next, nb::arg("iteration"),
           "The leaves of the next element of this iteration; None at the end.")
      .def(
          "stop", &LoaderHandle::stop, nb::arg("iteration") = nb::none(), nb::arg("on_its_way") = false,
          "End all threads, only of the given iteration if one is given; the state is kept. True: an element "
          "on its way to this thread will not arrive, and states do not count it.")
      .def("save", &LoaderHandle::save, nb::arg("on_its_way") = false,
           "The state: the elements handed out, without one that is on its way to this thread.")
      .def("beginning_of", &LoaderHandle::beginning_of, nb::arg("epoch"),
           "The state at the beginning of an epoch.")
      .def("check_state", &LoaderHandle::check_state, nb::arg("state"), "Raise if it cannot be loaded.")
      .def("load", &LoaderHandle::load, nb::arg("state"), "Continue from a state at the next begin().")
      .def("set_epoch", &LoaderHandle::set_epoch, nb::arg("epoch"), "Set the epoch of the next begin().")
      .def_prop_ro("epoch", &LoaderHandle::epoch, "The epoch of the current iteration, or of the next.")
      .def_prop_ro("position", &LoaderHandle::position, "Elements of the epoch handed out so far.")
      .def("report", &LoaderHandle::report, "The statistics, as a dict.")
      .def(
          "timeline",
          [](LoaderHandle& self) -> std::optional<TimelineHandle> {
            auto timeline = self.timeline();
            if (!timeline) return std::nullopt;
            return TimelineHandle{std::move(timeline)};
          },
          "A part of the last run, for drawing; None if nothing was traced.")
      .def("report_text", &LoaderHandle::report_text, "The statistics, as human-readable text.")
      .def("explain", &LoaderHandle::explain, nb::arg("measure"), "The plan before and after each rewrite.")
      .def_prop_ro("warnings", &LoaderHandle::warnings, "What makes this run many times slower.")
      .def_prop_ro("fingerprint", &LoaderHandle::fingerprint, "Must be equal for a state to be loaded.");
  nb::class_<ElementsHandle>(m, "Elements", "Single elements by position, computed in the calling thread.")
      .def(nb::init<const NodeHandle&, uint64_t, size_t>(), nb::arg("node"), nb::arg("seed"),
           nb::arg("memory_budget"))
      .def("at", &ElementsHandle::at, nb::arg("position"), nb::arg("epoch"), "The leaves of an element.");
}

}  // namespace headrace::python
