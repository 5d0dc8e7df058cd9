// What it costs to know: pipelines with and without sample costs, timeline and trace file, in pairs.
//
//   headrace_overheads FOLDER [PAIRS] [SECONDS] [PIPELINE]
//
// FOLDER holds JPEG files in class folders. Two loaders of a pipeline, plain and watched, take turns of
// SECONDS; while one gives, the other has filled its ring and sleeps. Printed is the median over pairs of
// turns of (cost watched / cost plain - 1), with the interval in which it lies with 95 %: CPU time of the
// process an element, and wall time. One worker and one reader, so that nothing is hidden on cores that have
// nothing to do.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
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

// Elements for so long, and what one of them cost.
Result<Cost> segment(Loader& loader, double seconds) {
  Sample batch;
  const double cpu = cpu_seconds(), wall = wall_seconds();
  uint64_t elements = 0;
  const auto goes_on = [&] {  // where there are many, not each looks at the clock
    return elements == 0 || (elements > 64 && elements % 16 != 0) || wall_seconds() - wall < seconds;
  };
  while (goes_on()) {
    HEADRACE_ASSIGN(const bool more, loader.next(batch));
    if (!more) break;
    ++elements;
  }
  const auto n = static_cast<double>(std::max<uint64_t>(1, elements));
  return Cost{(cpu_seconds() - cpu) / n, (wall_seconds() - wall) / n, elements};
}

// The median, and the ranks between which it lies with 95 %.
void print(const char* what, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  const double n = static_cast<double>(ratios.size()), off = 0.98 * std::sqrt(n);
  const auto at = [&](double rank) {
    return 100 * ratios[static_cast<size_t>(std::clamp(rank, 0.0, n - 1))];
  };
  std::printf("  %s %+6.2f %% [%+.2f, %+.2f]", what, at(n / 2), at(n / 2 - off), at(n / 2 + off));
}

Status compare(const char* name, const char* how, const Dataset& data, LoaderOptions watched, int pairs,
               double seconds) {
  LoaderOptions plain;
  plain.watched = false;
  std::unique_ptr<Loader> loaders[2];
  for (const int which : {0, 1}) {
    LoaderOptions& options = which == 0 ? plain : watched;
    options.workers = 1, options.io = 1, options.ready = 64;  // what is not given is tuned, in each apart
    HEADRACE_ASSIGN(loaders[which], data.loader(options));
    HEADRACE_TRY(segment(*loaders[which], 0.2).status());
  }
  std::vector<double> cpu, wall, plain_ns;
  double all_s = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    Cost costs[2];
    for (const int which : {pair % 2, 1 - pair % 2}) {
      HEADRACE_ASSIGN(costs[which], segment(*loaders[which], seconds));
    }
    plain_ns.push_back(1e9 * costs[0].cpu_s);
    cpu.push_back(costs[1].cpu_s / costs[0].cpu_s - 1);
    wall.push_back(costs[1].wall_s / costs[0].wall_s - 1);
    all_s += costs[1].wall_s * static_cast<double>(costs[1].elements);
  }
  std::ranges::sort(plain_ns);
  std::printf("%-15s %8.0f ns  %-10s", name, plain_ns[plain_ns.size() / 2], how);
  print("CPU", cpu), print("wall", wall);
  const double begin = cpu_seconds();
  loaders[1]->stop();
  if (!watched.trace.empty())
    std::printf("  and %.2f %% to write the file", 100 * (cpu_seconds() - begin) / all_s);
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
      headrace::compare_all(argv[1], argc > 2 ? std::atoi(argv[2]) : 400,
                            argc > 3 ? std::atof(argv[3]) : 0.05, argc > 4 ? argv[4] : "");
  if (!done.ok()) std::fprintf(stderr, "%s\n", std::string(done.text()).c_str());
  return done.ok() ? 0 : 1;
}
