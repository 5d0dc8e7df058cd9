#include "headrace/run/loader_settings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "headrace/io/bounded_file.h"
#include "headrace/run/engine/simulated_crew.h"
#include "headrace/run/measure/machine.h"

namespace headrace {
namespace {

// Readers mostly wait, and so do workers in functions that wait: there may be more of them than cores.
constexpr size_t kMostReaders = 256, kMostWorkers = 256, kMostWorkersACore = 16, kMostReady = 1024;
constexpr size_t kMostThreads = 4096;  // of a kind, if the user sets the number

// Each has a file open.
size_t most_readers() { return std::min(kMostReaders, BoundedFile::most_open()); }

}  // namespace

size_t cores_of(const LoaderOptions& o) { return o.simulated ? o.simulated->cores : usable_cores(); }

Status check_threads(const LoaderOptions& o) {
  for (const auto& [name, wanted] : {std::pair{"workers", std::max(o.workers.value_or(0), o.start.workers)},
                                     std::pair{"io", std::max(o.io, o.start.io)}})
    if (wanted > kMostThreads)
      return invalid(std::string("options: ") + name + " must be at most " + std::to_string(kMostThreads) +
                     ", got " + std::to_string(wanted));
  return {};
}

Settings settings_of(const LoaderOptions& o) {
  return {std::max<size_t>(1, o.workers.value_or(1)), o.io, o.ready};
}

SettingLimits limits_of(const LoaderOptions& given, const LoaderOptions& chosen) {
  const Settings start = settings_of(chosen);
  SettingLimits out{start, start};
  if (!given.tuned || given.workers == 0) return out;
  if (!given.workers)
    out.least.workers = 1,
    out.most.workers = std::max({start.workers, kMostWorkers, kMostWorkersACore * cores_of(given)});
  if (given.io == 0) out.least.io = 1, out.most.io = std::max(chosen.io, most_readers());
  if (given.ready == 0)
    out.least.ready = std::max<size_t>(1, given.prefetch),
    out.most.ready = std::max(chosen.ready, kMostReady);
  return out;
}

LoaderOptions with_defaults(LoaderOptions o, const Store& store) {
  if (!o.workers) o.workers = o.start.workers > 0 ? o.start.workers : cores_of(o);
  if (o.workers == 0) o.io = o.ready = 1, o.prefetch = 0;  // unused
  const size_t at_first = std::min(store.reads_at_first(), most_readers());
  if (o.io == 0)
    o.io = o.start.io > 0 ? o.start.io : at_first > 0 ? at_first : std::clamp<size_t>(*o.workers, 2, 16);
  if (o.ready == 0) o.ready = o.start.ready > 0 ? o.start.ready : 3;
  o.ready = std::max(o.ready, o.prefetch);
  if (o.memory_budget == 0) o.memory_budget = default_memory_budget();
  return o;
}

}  // namespace headrace
