// The tuner on threads of this machine, over simulated stores, compared with every point of a grid.
//   build/release/bench/tuning/headrace_paced [--log] [NAME…]
// A tuned run is measured after twenty seconds, between two runs with the best settings of the grid. Prints
// the share of those that it reached, and the limit that it named.
#include <fmt/core.h>

#include <vector>

#include "bench/tuning/zeros.h"
#include "headrace/formats/opening/open.h"
#include "headrace/headrace.h"

namespace headrace {
namespace {

using tuning::must, tuning::Pace, tuning::Zeros;

constexpr double kTuning_s = 20, kMeasured_s = 5, kGridWarm_s = 0.7, kGrid_s = 1;

struct Pipeline {
  const char* name;
  Pace pace;
  int side;  // of an image of bytes, 3 channels
  uint64_t batch;
  bool resized;  // the work for the cores
  double consumer_s;
  const char* limit;
  std::vector<size_t> workers, io, ready;
};

const std::vector<Pipeline>& pipelines() {
  static const std::vector<Pipeline> all{
      {"latency",
       {.latency_s = 0.04},
       64,
       32,
       false,
       0,
       "store latency",
       {2},
       {16, 64, 128, 256},
       {3, 12, 24}},
      {"bandwidth",
       {.latency_s = 0.005, .bytes_per_s = 200e6},
       192,
       32,
       false,
       0,
       "store bandwidth",
       {2},
       {2, 8, 16, 32, 64},
       {3, 6, 12}},
      {"mixed",
       {.latency_s = 0.02, .bytes_per_s = 1e9},
       192,
       32,
       true,
       0,
       "cpu",
       {1, 2, 3},
       {8, 32, 64, 128},
       {3, 6, 12}},
      {"slow consumer", {.latency_s = 0.005}, 192, 32, true, 0.1, "consumer", {1, 2}, {2, 8, 32}, {2, 3, 6}},
  };
  return all;
}

struct Run {
  double rate = 0;  // samples per second
  Value report;
};

Run run(const Pipeline& p, const LoaderOptions& options, double warm_s, double measured_s) {
  const int64_t bytes = int64_t{3} * p.side * p.side;
  const uint64_t size = 100'000 * static_cast<uint64_t>(bytes);
  const auto store = std::make_shared<Zeros>(size, p.pace);
  Value layout{Value::Object()};
  layout.set("record_bytes", static_cast<uint64_t>(bytes));
  const Dataset data =
      from_source(must(open_source(*std::make_shared<Zeros>(size), "records", "fixed", layout), p.name))
          .shuffle({.seed = 1})
          .repeat()
          .map([&](const Fields& s) -> Outputs {
            const Symbol image = s["record"]
                                     .apply("decode_raw", {{"dtype", "u8"}, {"shape", bytes}})
                                     .apply("reshape", {{"shape", Value::List{p.side, p.side, 3}}});
            return {{"image", p.resized ? image.apply("resize", {{"size", 640}}) : image}};
          })
          .batch(p.batch);
  const auto loader = must(Loader::make(must(data.node(), p.name), options, store), p.name);
  using Clock = std::chrono::steady_clock;
  const auto seconds = [begin = Clock::now()] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  Sample element;
  uint64_t counted = 0;
  double since = 0, now = 0;
  while (now < warm_s + measured_s) {
    if (!must(loader->next(element), p.name)) tuning::must(Result<int>(invalid("ended")), p.name);
    element = {};
    if (p.consumer_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(p.consumer_s));
    now = seconds();
    if (now < warm_s) continue;
    if (since > 0)
      ++counted;
    else
      since = now;
  }
  return {static_cast<double>(counted * p.batch) / (now - since), loader->report()};
}

LoaderOptions locked(const Settings& settings) {
  LoaderOptions out;
  out.tuned = false, out.start = settings;
  return out;
}

Settings best_of(const Pipeline& p) {
  Settings best;
  double most = 0;
  for (const size_t workers : p.workers)
    for (const size_t io : p.io)
      for (const size_t ready : p.ready) {
        const Settings settings{workers, io, ready};
        const double rate = run(p, locked(settings), kGridWarm_s, kGrid_s).rate;
        if (rate > most) most = rate, best = settings;
      }
  return best;
}

std::string settings_text(const Value& report) {
  const Value& s = *report.find("settings");
  return fmt::format("{}/{}/{}", *s.find("workers")->integer(), *s.find("io")->integer(),
                     *s.find("ready")->integer());
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  using namespace headrace;
  std::vector<std::string> names(argv + 1, argv + argc);
  const bool log = std::erase(names, "--log") > 0;
  fmt::print("{:15} {:>9} {:>9} {:>6}  {:12} {:12} {:16} {:16}\n", "pipeline", "tuned/s", "best/s", "share",
             "tuned w/i/r", "best w/i/r", "limit named", "true limit");
  for (const Pipeline& p : pipelines()) {
    if (!names.empty() && std::ranges::find(names, p.name) == names.end()) continue;
    const Settings settings = best_of(p);
    const double before = run(p, locked(settings), kGridWarm_s, kMeasured_s).rate;
    const Run tuned = run(p, {}, kTuning_s, kMeasured_s);
    const double best = (before + run(p, locked(settings), kGridWarm_s, kMeasured_s).rate) / 2;
    fmt::print("{:15} {:9.0f} {:9.0f} {:6.2f}  {:12} {:12} {:16} {:16}\n", p.name, tuned.rate, best,
               tuned.rate / best, settings_text(tuned.report),
               fmt::format("{}/{}/{}", settings.workers, settings.io, settings.ready),
               *tuned.report.find("limited_by")->text(), p.limit);
    if (log) tuning::print_decisions(tuned.report);
    std::fflush(stdout);
  }
  return 0;
}
