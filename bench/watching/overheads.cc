// The cost of observing a run: pipelines with and without sample costs, timeline and trace file, in pairs.
//
//   headrace_overheads FOLDER [PAIRS] [SECONDS] [PIPELINE]
//
// FOLDER holds JPEG files in class folders. Two loaders of a pipeline, plain and watched, alternate every
// SECONDS; while one delivers, the other has filled its ring and sleeps. After six pairs of turns both are
// made anew, in the other order: the placement of its memory makes a loader some per cent faster or slower
// for its whole life. Prints the median over pairs of loaders of (cost watched / cost plain - 1), with a 95 %
// interval: CPU time of the process per element, and wall time. One worker and one reader, so that idle cores
// hide nothing.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/headrace.h"

namespace headrace {
namespace {

struct Cost {
  double cpu_s = 0, wall_s = 0;
  uint64_t elements = 0;
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Waits until all threads are idle; the time of that.
double settle() {
  constexpr double kIdle = 30e-6;  // of 200 us: checking takes time, too
  while (true) {
    const double wall = wall_seconds(), cpu = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (cpu_seconds() - cpu < kIdle) return wall;
  }
}

// Takes elements for this long; the cost of one. At the end as many are ready as at the beginning.
Result<Cost> segment(Loader& loader, double seconds) {
  Sample batch;
  const double cpu = cpu_seconds(), wall = wall_seconds();
  uint64_t elements = 0;
  const auto goes_on = [&] {  // reads the clock less often if elements are many
    return elements == 0 || (elements > 64 && elements % 16 != 0) || wall_seconds() - wall < seconds;
  };
  while (goes_on()) {
    HEADRACE_ASSIGN(const bool more, loader.next(batch));
    if (!more) break;
    ++elements;
  }
  batch = {};
  const double end = settle();
  const auto n = static_cast<double>(std::max<uint64_t>(1, elements));
  return Cost{(cpu_seconds() - cpu) / n, (end - wall) / n, elements};
}

// The median, with the ranks of its 95 % interval.
void print(const char* what, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  const double n = static_cast<double>(ratios.size()), off = 0.98 * std::sqrt(n);
  const auto at = [&](double rank) {
    return 100 * ratios[static_cast<size_t>(std::clamp(rank, 0.0, n - 1))];
  };
  std::printf("  %s %+6.2f %% [%+.2f, %+.2f]", what, at(n / 2), at(n / 2 - off), at(n / 2 + off));
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The results of all pairs of loaders.
struct Ratios {
  std::vector<double> cpu, wall, plain_ns;
  double watched_s = 0, writing_s = 0;  // CPU time
};

// Two alternating loaders; `first` is made first.
Status compare_two(const Dataset& data, const LoaderOptions& watched, int turns, double seconds, int first,
                   Ratios& out) {
  LoaderOptions plain;
  plain.watched = false;
  std::unique_ptr<Loader> loaders[2];
  for (const int which : {first, 1 - first}) {
    LoaderOptions options = which == 0 ? plain : watched;
    options.workers = 1, options.io = 1, options.ready = 64;  // or they would be tuned, separately in each
    HEADRACE_ASSIGN(loaders[which], data.loader(options));
    HEADRACE_ASSIGN(const Cost cost, segment(*loaders[which], 0.1));
    if (which == 1) out.watched_s += cost.cpu_s * static_cast<double>(cost.elements);
  }
  std::vector<double> cpu, wall;
  for (int turn = 0; turn < turns; ++turn) {
    Cost costs[2];
    for (const int which : {turn % 2, 1 - turn % 2}) {
      HEADRACE_ASSIGN(costs[which], segment(*loaders[which], seconds));
    }
    out.plain_ns.push_back(1e9 * costs[0].cpu_s);
    cpu.push_back(costs[1].cpu_s / costs[0].cpu_s - 1);
    wall.push_back(costs[1].wall_s / costs[0].wall_s - 1);
    out.watched_s += costs[1].cpu_s * static_cast<double>(costs[1].elements);
  }
  out.cpu.push_back(median(cpu)), out.wall.push_back(median(wall));
  loaders[0]->stop();
  const double begin = cpu_seconds();
  loaders[1]->stop();
  out.writing_s += cpu_seconds() - begin;
  return {};
}

Status compare(const char* name, const char* how, const Dataset& data, const LoaderOptions& watched,
               int pairs, double seconds) {
  constexpr int kTurns = 6;
  Ratios ratios;
  for (int round = 0; round * kTurns < pairs; ++round)
    HEADRACE_TRY(compare_two(data, watched, kTurns, seconds, round % 2, ratios));
  std::printf("%-15s %8.0f ns  %-10s", name, median(ratios.plain_ns), how);
  print("CPU", ratios.cpu), print("wall", ratios.wall);
  if (!watched.trace.empty())
    std::printf("  and %.2f %% to write the file", 100 * ratios.writing_s / ratios.watched_s);
  std::printf("\n");
  std::fflush(stdout);
  return {};
}

Status compare_all(const std::string& folder, int pairs, double seconds, const std::string& only) {
  const std::string file = (std::filesystem::temp_directory_path() / "headrace-overheads.json").string();
  const auto plus_one = [](const Fields& s) -> Outputs {
    return {{"x", s["value"].apply("add", {{"value", 1}})}};
  };
  const auto numbers = [] { return from_source(*range_source(0, int64_t{1} << 40)); };
  const std::pair<const char*, Dataset> pipelines[] = {
      {"110 kB images",
       read(folder)
           .shuffle({.seed = 1})
           .map([](const Fields& s) -> Outputs {
             return {
                 {"image", s["image"].apply("decode_image").apply("random_resized_crop", {{"size", 224}})}};
           })
           .batch(1)
           .repeat(0)},
      {"image bytes", read(folder).shuffle({.seed = 1}).batch(16).repeat(0)},
      {"numbers", numbers().map(plus_one)},
      {"batches of 1", numbers().map(plus_one).batch(1)},
      {"batches of 256", numbers().map(plus_one).batch(256)},
  };
  for (const auto& [name, data] : pipelines) {
    if (!only.empty() && only != name) continue;
    LoaderOptions traced;
    traced.trace = file;
    HEADRACE_TRY(compare(name, "watched", data, {}, pairs, seconds));
    HEADRACE_TRY(compare(name, "trace file", data, traced, pairs, seconds));
  }
  std::filesystem::remove(file);
  return {};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: headrace_overheads FOLDER [PAIRS] [SECONDS]\n"), 2;
  const headrace::Status done =
      headrace::compare_all(argv[1], argc > 2 ? std::atoi(argv[2]) : 200,
                            argc > 3 ? std::atof(argv[3]) : 0.05, argc > 4 ? argv[4] : "");
  if (!done.ok()) std::fprintf(stderr, "%s\n", std::string(done.text()).c_str());
  return done.ok() ? 0 : 1;
}
