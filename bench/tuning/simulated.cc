// The tuner on machines whose best settings are known because all were tried: pipelines of paced stages run
// in simulated time (headrace/run/engine/simulated_crew.h).
//   build/release/bench/tuning/headrace_tuning [--json] [--log] [NAME…]
// Each line: the rate after 20 s (of slow stores: after 3 s) and its share of the best point of the grid; the
// limit that was named, and the true one; the predicted gain of a change, and the gain obtained; memory
// against its budget.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "bench/tuning/zeros.h"
#include "headrace/formats/opening/open.h"
#include "headrace/headrace.h"
#include "headrace/run/engine/simulated_crew.h"

namespace headrace {
namespace {

using tuning::must, tuning::real, tuning::Zeros;

constexpr double kMs = 1e6;

struct Pipeline {
  const char* name;
  uint64_t record, batch;  // bytes of a sample, samples of a batch
  SimulatedMachine machine;
  const char* limit;   // the true one when it is tuned
  const char* change;  // as the report names it, and how to apply it
  void (*remove)(SimulatedMachine&);
  size_t budget = size_t{1} << 30;
  size_t more_memory = 1;  // times the budget, if that is the limit to remove
  bool shuffled = true;    // false: small records that lie side by side come with one read
  double warm = 20;        // seconds until the rate is measured
};

void twice_the_cores(SimulatedMachine& m) { m.cores *= 2; }
void twice_the_store(SimulatedMachine& m) { m.latency_ns /= 2, m.bytes_per_s *= 2; }
void no_lock(SimulatedMachine& m) { m.cpu_ns += m.python_ns, m.python_ns = 0; }
void half_the_wait(SimulatedMachine& m) { m.sleep_ns /= 2; }
void nothing(SimulatedMachine&) {}

// A store that takes long to read, and a machine with two cores whose other programs keep none or all of
// them.
Pipeline slow_store(const char* name, double latency_ms, bool is_busy, bool are_shards) {
  Pipeline out{name,
               are_shards ? uint64_t{8'000} : uint64_t{20'000},
               64,
               {.cores = 2,
                .others = is_busy ? size_t{2} : size_t{0},
                .cpu_ns = (are_shards ? 0.005 : 0.05) * kMs,
                .latency_ns = latency_ms * kMs},
               "store latency",
               "with a store twice as fast",
               twice_the_store};
  out.shuffled = !are_shards, out.warm = 3;
  return out;
}
void no_consumer(SimulatedMachine& m) { m.consumer_ns = 0; }

const std::vector<Pipeline>& pipelines() {
  static const std::vector<Pipeline> all{
      {"decode",
       110'000,
       32,
       {.cores = 8, .cpu_ns = 10 * kMs, .latency_ns = 0.1 * kMs},
       "cpu",
       "with 16 cores",
       twice_the_cores},
      {"latency",
       110'000,
       32,
       {.cores = 8, .cpu_ns = 1 * kMs, .latency_ns = 100 * kMs},
       "store latency",
       "with a store twice as fast",
       twice_the_store},
      {"bandwidth",
       110'000,
       32,
       {.cores = 8, .cpu_ns = 1 * kMs, .latency_ns = 5 * kMs, .bytes_per_s = 200e6},
       "store bandwidth",
       "with a store twice as fast",
       twice_the_store},
      {"unpacking readers",
       10'000,
       32,
       {.cores = 8, .unpack_ns = 2 * kMs, .latency_ns = 1 * kMs},
       "cpu",
       "with 16 cores",
       twice_the_cores},
      {"tiny elements",
       100,
       1024,
       {.cores = 4, .cpu_ns = 20'000, .latency_ns = 10'000},
       "cpu",
       "with 8 cores",
       twice_the_cores},
      {"python",
       10'000,
       32,
       {.cores = 8, .cpu_ns = 0.1 * kMs, .python_ns = 2 * kMs, .latency_ns = 0.1 * kMs},
       "python",
       "with functions that do not hold the GIL",
       no_lock},
      {"slow consumer",
       110'000,
       32,
       {.cores = 8, .cpu_ns = 5 * kMs, .latency_ns = 1 * kMs, .consumer_ns = 50 * kMs},
       "consumer",
       "with a consumer that takes no time",
       no_consumer},
      {"mixed",
       110'000,
       32,
       {.cores = 4, .cpu_ns = 4 * kMs, .latency_ns = 20 * kMs, .bytes_per_s = 1e9},
       "cpu",
       "with 8 cores",
       twice_the_cores},
      {"functions that wait",
       1'000,
       32,
       {.cores = 4, .cpu_ns = 1 * kMs, .sleep_ns = 80 * kMs, .latency_ns = 0.1 * kMs},
       "functions that wait",
       "with functions that wait half as long",
       half_the_wait},
      {"large elements",
       10'000'000,
       2,
       {.cores = 8, .cpu_ns = 20 * kMs, .latency_ns = 10 * kMs, .bytes_per_s = 1e9},
       "store bandwidth",
       "with a store twice as fast",
       twice_the_store,
       size_t{256} << 20},
      {"little memory",
       10'000'000,
       4,
       {.cores = 8, .cpu_ns = 20 * kMs, .latency_ns = 400 * kMs},
       "memory",
       "with twice the memory budget",
       nothing,
       size_t{256} << 20,
       2},
      {"slow samples",
       110'000,
       32,
       {.cores = 8, .cpu_ns = 1 * kMs, .slow_one_in = 100, .slow_times = 100, .latency_ns = 1 * kMs},
       "cpu",
       "with 16 cores",
       twice_the_cores},
      {"object store",
       1'000'000,
       16,
       {.cores = 16, .cpu_ns = 12 * kMs, .latency_ns = 80 * kMs, .bytes_per_s = 4e9, .jitter = 0.5},
       "cpu",
       "with 32 cores",
       twice_the_cores},
      slow_store("images, 20 ms", 20, false, false),
      slow_store("images, 50 ms", 50, false, false),
      slow_store("images, 20 ms, busy", 20, true, false),
      slow_store("images, 50 ms, busy", 50, true, false),
      slow_store("shards, 20 ms", 20, false, true),
      slow_store("shards, 50 ms", 50, false, true),
      slow_store("shards, 20 ms, busy", 20, true, true),
      slow_store("shards, 50 ms, busy", 50, true, true),
  };
  return all;
}

struct Run {
  double rate = 0;
  Value report;
};

// Samples per second between `warm` and `warm + measured` seconds of the machine's time.
Run run(const Pipeline& p, const SimulatedMachine& machine, const Settings& settings, double warm,
        double measured) {
  const uint64_t records = 100'000;
  const auto store = std::make_shared<Zeros>(records * p.record);
  Value layout{Value::Object()};
  layout.set("record_bytes", p.record);
  const auto source = must(open_source(*store, "records", "fixed", layout), p.name);
  const Dataset all = from_source(source);
  const Dataset data =
      (p.shuffled ? all.shuffle({.seed = 1}) : all)
          .repeat()
          .map([&](const Fields& s) -> Outputs {
            return {
                {"record", s["record"].apply("decode_raw", {{"dtype", "u8"}, {"shape", int64_t(p.record)}})}};
          })
          .batch(p.batch);
  LoaderOptions options;
  options.simulated = std::make_shared<SimulatedMachine>(machine);
  options.memory_budget = p.budget;
  if (settings.workers > 0) options.workers = settings.workers;
  options.io = settings.io, options.ready = settings.ready;
  const auto loader = must(Loader::make(must(data.node(), p.name), options, store), p.name);
  const uint64_t& now = options.simulated->now_ns;
  Sample element;
  uint64_t before = 0, count = 0, began = 0, ended = 0;
  while (static_cast<double>(now) < (warm + measured) * 1e9) {
    const auto more = loader->next(element);
    if (!more.ok() || !*more) {
      fmt::print(stderr, "{}: {}\n", p.name, more.ok() ? "ended" : more.status().text());
      std::exit(1);
    }
    element = {};
    ++count;
    if (static_cast<double>(now) <= warm * 1e9) before = count, began = now;
    ended = now;
  }
  Run out;
  out.rate = static_cast<double>((count - before) * p.batch) / (static_cast<double>(ended - began) * 1e-9);
  out.report = loader->report();
  return out;
}

struct Best {
  double rate = 0;
  Settings settings;
};

// All settings of a grid, finer than it needs to be. A higher number only counts as better if it brings more.
Best best_of(const Pipeline& p) {
  Best out;
  std::vector<size_t> workers, io;
  const bool sleeps = p.machine.sleep_ns > 0;
  for (size_t n = 1; n <= (sleeps ? 256 : 16 * p.machine.cores); n *= 2) workers.push_back(n);
  for (size_t n = 1; n <= 256; n *= 2) io.push_back(n);
  const bool is_large = p.record >= 1'000'000;  // every byte of it is really copied
  const double seconds = is_large ? 3 : 4;
  for (const size_t w : workers) {
    if (!sleeps && w > p.machine.cores) continue;
    if (is_large && w < p.machine.cores) continue;
    for (const size_t i : io)
      for (const size_t r : {2, 3, 6, 12, 24, 48}) {
        if (r * p.batch * p.record > p.budget || (is_large && i > 128)) continue;
        const double rate = run(p, p.machine, {w, i, r}, seconds / 2, seconds).rate;
        if (rate > out.rate) out = {rate, {w, i, r}};
      }
  }
  return out;
}

Settings settings_of(const Value& report) {
  const Value& s = *report.find("settings");
  return {static_cast<size_t>(real(s, "workers")), static_cast<size_t>(real(s, "io")),
          static_cast<size_t>(real(s, "ready"))};
}

std::string text(const Settings& s) { return fmt::format("{}/{}/{}", s.workers, s.io, s.ready); }

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  using namespace headrace;
  bool json = false, log = false, grid = true;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--json")
      json = true;
    else if (arg == "--log")
      log = true;
    else if (arg == "--no-grid")
      grid = false;
    else
      names.push_back(arg);
  }
  Value::List rows;
  if (!json)
    fmt::print("{:20} {:>9} {:>9} {:>6}  {:12} {:12} {:>5}  {:18} {:18} {:>9} {:>8} {:>6}\n", "pipeline",
               "tuned/s", "best/s", "share", "tuned w/i/r", "best w/i/r", "moves", "limit named",
               "true limit", "predicted", "obtained", "memory");
  for (const Pipeline& p : pipelines()) {
    if (!names.empty() && std::ranges::find(names, p.name) == names.end()) continue;
    const double measured = p.warm / 2;
    const Run tuned = run(p, p.machine, {0, 0, 0}, p.warm, measured);
    Best best = grid ? best_of(p) : Best{};
    // The best of many is partly luck: measure it again, at the same time of its run as the tuned one.
    if (grid) best.rate = run(p, p.machine, best.settings, p.warm, measured).rate;
    const std::string named = *tuned.report.find("limited_by")->text();
    double predicted = 0, obtained = 0;
    if (p.change) {
      for (const Value& what : *tuned.report.find("what_if")->list())
        if (*what.find("change")->text() == p.change) predicted = real(what, "speedup");
      SimulatedMachine changed = p.machine;
      p.remove(changed);
      Pipeline roomy = p;
      roomy.budget *= p.more_memory;
      obtained = run(roomy, changed, {0, 0, 0}, p.warm, measured).rate / tuned.rate;
    }
    const Value& memory = *tuned.report.find("memory");
    const double used = real(memory, "peak") / real(memory, "budget");
    const Settings settings = settings_of(tuned.report);
    if (json) {
      Value row{Value::Object()};
      row.set("pipeline", p.name), row.set("tuned_samples_per_s", tuned.rate),
          row.set("best_samples_per_s", best.rate);
      row.set("share", tuned.rate / best.rate), row.set("limited_by", named), row.set("true_limit", p.limit);
      row.set("settings", text(settings)), row.set("best_settings", text(best.settings));
      row.set("predicted", predicted), row.set("obtained", obtained), row.set("memory_share", used);
      rows.push_back(std::move(row));
      continue;
    }
    fmt::print("{:20} {:9.0f} {:9.0f} {:6.2f}  {:12} {:12} {:5}  {:18} {:18} {:>9} {:>8} {:6.2f}\n", p.name,
               tuned.rate, best.rate, grid ? tuned.rate / best.rate : 0, text(settings), text(best.settings),
               tuned.report.find("decisions")->list()->size(), named, p.limit,
               p.change ? fmt::format("{:.2f}x", predicted) : "-",
               p.change ? fmt::format("{:.2f}x", obtained) : "-", used);
    std::fflush(stdout);
    if (log) tuning::print_decisions(tuned.report);
  }
  if (json) fmt::print("{}\n", Value(std::move(rows)).dump(1));
  return 0;
}
