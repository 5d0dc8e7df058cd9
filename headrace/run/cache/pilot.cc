#include "headrace/run/cache/pilot.h"

#include "headrace/run/lower/lower_level.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include "headrace/core/cache/element_cache.h"
#include "headrace/graph/passes/partial_outputs.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/run/measure/machine.h"
#include "headrace/run/row_paths/level_body.h"

namespace headrace {
namespace {

constexpr size_t kLeastSamples = 2;   // samples to measure, however long they take
constexpr size_t kMostFailed = 16;    // before the first good one
constexpr uint64_t kMostRows = 4096;  // rows of a block are counted up to this number

bool holds_interpreter(const Call& call) {
  if (call.op->phase() != Phase::python) return false;
  return !call.op->params().find("python");  // worker processes have a GIL each
}

// Time of this thread and of processes that work for it, without waiting for a core.
class Stopwatch {
 public:
  explicit Stopwatch(Evaluator& evaluator) : clock_(evaluator.part_clock()) {}
  void begin() {
    (void)core_wait_.since_last();
    cpu_ = clock_.cpu_ns(), wall_ = now_ns();
  }
  struct Lap {
    double cpu_s = 0, wait_s = 0;
  };
  Lap end() {
    const double wall = seconds(now_ns() - wall_), cpu = seconds(clock_.cpu_ns() - cpu_);
    return {cpu, std::max(0.0, wall - cpu - seconds(core_wait_.since_last()))};
  }

 private:
  const PartClock& clock_;
  CoreWait core_wait_;
  uint64_t cpu_ = 0, wall_ = 0;
};

uint64_t hash_of(std::span<const MutView> views) {
  uint64_t hash = views.size();
  for (const MutView& view : views)
    hash =
        XXH3_64bits_withSeed(view.data, view.size_bytes(), hash + static_cast<uint64_t>(view.shape.rank()));
  return hash;
}

// The steps of one sample.
class Steps final : public CallWatcher {
 public:
  Steps(const Program& program, Evaluator& evaluator)
      : laps(program.steps.size()), bytes(laps.size()), hashes(laps.size()), watch_(evaluator) {}
  void begin() override { watch_.begin(); }
  void end(const Program& program, const Call& call, std::span<const MutView> outputs) override {
    const auto step = static_cast<size_t>(&call - program.steps.data());
    laps[step] = watch_.end();
    if (!may_wait(call)) laps[step].wait_s = 0;  // other threads had the core
    bytes[step].clear();
    for (const MutView& view : outputs) bytes[step].push_back(static_cast<double>(view.size_bytes()));
    hashes[step] = may_wait(call) ? hash_of(outputs) : 0;
  }

  std::vector<Stopwatch::Lap> laps;
  std::vector<std::vector<double>> bytes;
  std::vector<uint64_t> hashes;

 private:
  Stopwatch watch_;
};

// Time of calls under the GIL.
class InterpreterTime final : public CallWatcher {
 public:
  void begin() override { begin_ = thread_cpu_ns(); }
  void end(const Program&, const Call& call, std::span<const MutView>) override {
    if (holds_interpreter(call)) total_s += seconds(thread_cpu_ns() - begin_);
  }
  double total_s = 0;

 private:
  uint64_t begin_ = 0;
};

// Reads samples as they are before any program, spread over the data.
class Reader {
 public:
  static Result<std::unique_ptr<Reader>> make(const NodePtr& below, std::shared_ptr<Store> store,
                                              const PilotOptions& options) {
    uint32_t leaves = 0;
    HEADRACE_ASSIGN(const std::shared_ptr<AskedOrders> orders, AskedOrders::of(*below));
    HEADRACE_ASSIGN(std::unique_ptr<Level> level, lower_level(*below, leaves, orders));
    for (LeafPlan& leaf : level->leaves) mark_part_readers(leaf.programs);
    uint32_t operators = 0;
    each_call(*below, [&](const Call& call) { operators = std::max(operators, call.ordinal + 1); });
    auto out = std::make_unique<Reader>();
    if (orders) {
      HEADRACE_ASSIGN(out->asked_, orders->ask(0));
    }
    out->pool_ = options.pool;
    out->counters_ = std::make_unique<Counters>(operators);
    out->evaluator_ = std::make_unique<Evaluator>(out->pool_.get(), out->counters_.get(), options.seed, true);
    out->only_reads_ = operators == 0;
    out->level_ = std::move(level);
    out->body_ =
        std::make_unique<LevelBody>(out->level_, std::make_shared<Fetcher>(std::move(store), out->pool_));
    HEADRACE_TRY(out->body_->prepare(*out->counters_));
    return out;
  }

  // The number of positions to choose from.
  uint64_t size() const { return std::min(level_->size(0, kWholeEpochs), uint64_t{1} << 40); }
  const Schema& schema() const { return level_->schema; }

  struct Read {
    Sample sample;
    Demand demand;
    double bytes = 0;  // both divided among the next rows of the same block
  };
  Result<Read> at(uint64_t position) {
    const uint64_t bytes = counters_->io_bytes.get(), io = counters_->io_ns.get();
    Stopwatch watch(*evaluator_);
    watch.begin();
    HEADRACE_ASSIGN(Sample sample, body_->element(*level_, position, 0, 0, *evaluator_));
    const Stopwatch::Lap lap = watch.end();
    evaluator_->scratch().clear();
    // If elements are only read, all time is the reader's.
    const double whole = lap.cpu_s + lap.wait_s;
    const double reading = only_reads_ ? whole : std::min(whole, seconds(counters_->io_ns.get() - io));
    const Demand demand{lap.cpu_s, whole - reading, 0, reading};
    const double share = 1.0 / static_cast<double>(rows_together(position));
    return Read{std::move(sample), demand * share,
                static_cast<double>(counters_->io_bytes.get() - bytes) * share};
  }

 private:
  // Rows that are read with this one, if the next position is one of them.
  uint64_t rows_together(uint64_t position) const {
    if (position + 1 >= size()) return 1;
    std::array<Position, 2> at;
    level_->locate(position, 0, 0, kWholeEpochs, at);
    const LeafPlan& leaf = level_->leaves[at[0].leaf];
    if (!leaf.source || leaf.source->resident() || at[1].leaf != at[0].leaf) return 1;
    const uint64_t block = leaf.source->place(at[0].index).block;
    if (at[0].index == at[1].index || leaf.source->place(at[1].index).block != block) return 1;
    uint64_t rows = 1;
    for (uint64_t i = at[0].index; i > 0 && rows < kMostRows && leaf.source->place(i - 1).block == block; --i)
      ++rows;
    for (uint64_t i = at[0].index + 1;
         i < leaf.source->size() && rows < kMostRows && leaf.source->place(i).block == block; ++i)
      ++rows;
    return rows;
  }

  std::shared_ptr<Pool> pool_;
  std::shared_ptr<const AskedOrders::Epoch> asked_;  // the user's orders; null if there are none
  std::unique_ptr<Counters> counters_;
  std::unique_ptr<Evaluator> evaluator_;
  std::shared_ptr<const Level> level_;
  std::unique_ptr<LevelBody> body_;
  bool only_reads_ = true;
};

// Runs programs on samples.
class Runner {
 public:
  Runner(std::span<const Program> programs, const PilotOptions& options) : pool_(options.pool) {
    uint32_t operators = 0;
    for (const Program& program : programs)
      for (const Call& call : program.steps) operators = std::max(operators, call.ordinal + 1);
    counters_ = std::make_unique<Counters>(operators);
    evaluator_ = std::make_unique<Evaluator>(pool_.get(), counters_.get(), options.seed, true);
  }

  Evaluator& evaluator() { return *evaluator_; }
  // `epoch` is used for random draws.
  Result<std::vector<Tensor>> run(std::span<const Program> programs, const Schema& schema,
                                  std::span<const Tensor> fields, const Sample& sample, uint64_t epoch,
                                  CallWatcher* watcher = nullptr) {
    Identity who{sample.id, sample.shown_id};
    who.id.epoch = epoch;
    std::vector<Tensor> out(programs.empty() ? schema.size() : programs.back().schema.size());
    evaluator_->watch(watcher);
    evaluator_->begin();
    const auto mark = evaluator_->scratch().mark();
    Status status = evaluator_->run_or_pass(programs, schema, operands_of(fields), who, {}, out);
    evaluator_->scratch().reset(mark);
    HEADRACE_TRY(std::move(status));
    return out;
  }

 private:
  std::shared_ptr<Pool> pool_;
  std::unique_ptr<Counters> counters_;
  std::unique_ptr<Evaluator> evaluator_;
};

// Calls look(position) until enough samples are good or the time is up.
template <class Look> Status each_sample(uint64_t size, const PilotOptions& options, Look&& look) {
  const uint64_t begin = now_ns(), count = std::min<uint64_t>(size, options.samples);
  size_t good = 0, failed = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (good >= kLeastSamples && seconds(now_ns() - begin) > options.seconds) break;
    const Status status = look(i * (size / count));
    status.ok() ? ++good : ++failed;
    if (good == 0 && failed >= kMostFailed) return status;
    if (good == 0 && i + 1 == count) return status;
  }
  return good > 0 ? Status() : invalid("there is no sample to measure");
}

struct LockCost {
  double cpu_s = 0, wait_s = 0;  // of calls that need the lock
  double all_cpu_s = 0;
  void add(const Call& call, double cpu, double wait) {
    all_cpu_s += cpu;
    if (holds_interpreter(call)) cpu_s += cpu, wait_s += wait;
  }
};

LockCost lock_cost(std::vector<Program>& programs, const Schema& schema, const Sample& sample,
                   const PilotOptions& options) {
  constexpr double kSeconds = 0.03;
  Runner runner(programs, options);
  Steps steps(programs[0], runner.evaluator());
  LockCost out;
  const uint64_t begin = now_ns();
  for (int runs = 0; runs <= static_cast<int>(kLeastSamples) || seconds(now_ns() - begin) < kSeconds;
       ++runs) {
    if (!runner.run(programs, schema, sample.fields, sample, 1, &steps).ok()) break;
    for (size_t s = 0; s < steps.laps.size() && runs > 0; ++s)  // the first one's memory is new
      out.add(programs[0].steps[s], steps.laps[s].cpu_s, steps.laps[s].wait_s);
  }
  return out;
}

// Two threads in parallel: calls that hold the lock wait for one another, longer than one did `alone`.
double lock_share(std::vector<Program>& programs, const std::vector<StepCost>& alone_costs,
                  const Schema& schema, const Sample& sample, const PilotOptions& options) {
  LockCost alone;
  for (size_t s = 0; s < alone_costs.size(); ++s)
    alone.add(programs[0].steps[s], alone_costs[s].cpu_s, alone_costs[s].wait_s);
  if (alone.cpu_s < 0.2 * alone.all_cpu_s) return 1;  // negligible
  LockCost one, other;
  std::vector<Program> others = programs;
  std::thread thread([&] { other = lock_cost(others, schema, sample, options); });
  one = lock_cost(programs, schema, sample, options);
  thread.join();
  const double cpu = one.cpu_s + other.cpu_s;
  if (cpu <= 0 || alone.cpu_s <= 0) return 1;
  const double waits = (one.wait_s + other.wait_s) / cpu - alone.wait_s / alone.cpu_s;
  // Each would find the lock taken for as much of its calls as the other one spends in them.
  const double expected = 0.4 * cpu / (one.all_cpu_s + other.all_cpu_s);
  return std::clamp(waits / expected, 0.0, 1.0);
}

}  // namespace

Demand demand_of(const Call& call, const StepCost& cost) {
  return {cost.cpu_s, cost.cpu_s + cost.wait_s, holds_interpreter(call) ? cost.cpu_s : 0, 0};
}

Result<Pilot> look_ahead(const NodePtr& below, const Program& program, std::shared_ptr<Store> store,
                         const PilotOptions& options) {
  HEADRACE_ASSIGN(const std::unique_ptr<Reader> first, Reader::make(below, store, options));
  HEADRACE_ASSIGN(const std::unique_ptr<Reader> again, Reader::make(below, std::move(store), options));
  std::vector<Program> programs{program};
  mark_part_readers(programs);
  Runner runner(programs, options);
  Steps steps(programs[0], runner.evaluator());
  const bool may_differ = std::ranges::any_of(program.steps, may_wait);
  Pilot out;
  std::optional<Sample> seen;
  out.steps.resize(program.steps.size());
  for (size_t s = 0; s < program.steps.size(); ++s)
    out.steps[s].bytes.resize(static_cast<size_t>(program.steps[s].outputs));
  out.field_bytes.resize(first->schema().size());
  const auto look = [&](uint64_t position) -> Status {
    HEADRACE_ASSIGN(const Reader::Read read, first->at(position));
    HEADRACE_ASSIGN(const Reader::Read reread, again->at(position));
    // Twice where results may differ, and where all memory is new.
    std::vector<uint64_t> hashes;
    if (may_differ || out.samples == 0) {
      HEADRACE_TRY(
          runner.run(programs, first->schema(), read.sample.fields, read.sample, 0, &steps).status());
      hashes = steps.hashes;
    }
    HEADRACE_ASSIGN(const std::vector<Tensor> made,
                    runner.run(programs, first->schema(), read.sample.fields, read.sample, 1, &steps));
    ++out.samples;
    if (!seen) seen = read.sample;
    out.below = out.below + reread.demand;
    out.below.read_s += read.demand.read_s - reread.demand.read_s;
    out.read_again_s += reread.demand.read_s, out.read_bytes += read.bytes;
    for (size_t f = 0; f < out.field_bytes.size(); ++f)
      out.field_bytes[f] += static_cast<double>(read.sample.fields[f].size_bytes());
    for (const Tensor& field : made) out.output_bytes += static_cast<double>(field.size_bytes());
    for (size_t s = 0; s < out.steps.size(); ++s) {
      StepCost& step = out.steps[s];
      step.cpu_s += steps.laps[s].cpu_s, step.wait_s += steps.laps[s].wait_s;
      for (size_t i = 0; i < step.bytes.size(); ++i) step.bytes[i] += steps.bytes[s][i];
      step.differs = step.differs || (!hashes.empty() && steps.hashes[s] != hashes[s]);
    }
    return {};
  };
  HEADRACE_TRY(each_sample(first->size(), options, [&](uint64_t position) {
    Status status = look(position);
    out.failed += !status.ok();
    return status;
  }));
  const double mean = 1.0 / static_cast<double>(out.samples);
  out.below = out.below * mean;
  for (double* sum : {&out.read_again_s, &out.read_bytes, &out.output_bytes}) *sum *= mean;
  for (double& bytes : out.field_bytes) bytes *= mean;
  for (StepCost& step : out.steps) {
    step.cpu_s *= mean, step.wait_s *= mean;
    for (double& bytes : step.bytes) bytes *= mean;
  }
  if (std::ranges::any_of(program.steps, holds_interpreter) && usable_cores() > 1)
    out.lock_share = lock_share(programs, out.steps, first->schema(), *seen, options);
  return out;
}

namespace {

// Measures one way.
class Tried {
 public:
  Tried(const Way& way, const PilotOptions& options)
      : programs_(way.programs),
        kept_(way.kept),
        memory_(options.pool->budget()),
        runner_(programs_, options),
        watch_(runner_.evaluator()) {
    mark_part_readers(before());
    mark_part_readers(after());
    waits_ = std::ranges::any_of(
        after(), [](const Program& program) { return std::ranges::any_of(program.steps, may_wait); });
  }

  // `again`: when its memory is new, or its input is not where it would be in a run.
  Status measure(const Schema& incoming, const Sample& sample, bool again) {
    const Schema& schema = before().empty() ? incoming : before().back().schema;
    HEADRACE_ASSIGN(std::vector<Tensor> fields, runner_.run(before(), incoming, sample.fields, sample, 0));
    for (const Tensor& field : fields) bytes_ += static_cast<double>(field.size_bytes());
    const auto cache = memory_cache(memory_);
    if (kept_ > 0) HEADRACE_TRY(cache->put({}, fields));
    if (again || kept_ > 0) HEADRACE_TRY(runner_.run(after(), schema, fields, sample, 1).status());
    watch_.begin();
    if (kept_ > 0) {
      HEADRACE_ASSIGN(const bool is_there, cache->get({}, fields));
      if (!is_there) return internal_error("pilot: a cached element is missing");
    }
    HEADRACE_TRY(runner_.run(after(), schema, fields, sample, 1, &interpreter_).status());
    const Stopwatch::Lap lap = watch_.end();
    sum_.cpu_s += lap.cpu_s, sum_.busy_s += lap.cpu_s + (waits_ ? lap.wait_s : 0);
    return {};
  }
  WayCost mean(size_t laps) const {
    const Demand all{sum_.cpu_s, sum_.busy_s, interpreter_.total_s, 0};
    return {all * (1.0 / static_cast<double>(laps)), bytes_ / static_cast<double>(laps)};
  }

 private:
  std::span<Program> before() { return std::span(programs_).first(kept_); }
  std::span<Program> after() { return std::span(programs_).subspan(kept_); }

  std::vector<Program> programs_;
  const size_t kept_, memory_;
  Runner runner_;
  bool waits_ = false;
  InterpreterTime interpreter_;
  Stopwatch watch_;
  Demand sum_;
  double bytes_ = 0;
};

}  // namespace

Result<std::vector<WayCost>> compare(const NodePtr& below, std::span<const Way> ways,
                                     std::shared_ptr<Store> store, const PilotOptions& options) {
  HEADRACE_ASSIGN(const std::unique_ptr<Reader> reader, Reader::make(below, std::move(store), options));
  std::vector<std::unique_ptr<Tried>> tried;
  for (const Way& way : ways) tried.push_back(std::make_unique<Tried>(way, options));
  size_t laps = 0;
  HEADRACE_TRY(each_sample(reader->size(), options, [&](uint64_t position) -> Status {
    HEADRACE_ASSIGN(const Reader::Read read, reader->at(position));
    for (const auto& one : tried) HEADRACE_TRY(one->measure(reader->schema(), read.sample, laps == 0));
    ++laps;
    return {};
  }));
  std::vector<WayCost> out;
  for (const auto& one : tried) out.push_back(one->mean(laps));
  return out;
}

}  // namespace headrace
