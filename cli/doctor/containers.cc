#include "cli/doctor/containers.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/doctor/files.h"
#include "cli/output/terminal.h"
#include "headrace/formats/opening/open.h"
#include "headrace/headrace.h"

namespace headrace::cli {
namespace {

constexpr uint64_t kSamples = 500, kMostSamples = 20'000;  // more than kSamples only if they are small
constexpr uint64_t kWantedBytes = 4 << 20, kMostBytes = 32 << 20;
constexpr uint64_t kRun = 2000;      // samples timed together, repeated if there are fewer
constexpr int kContainerRounds = 3;  // the best one counts
constexpr uint64_t kPilot = 64;      // samples that show how many there is time for
constexpr double kMostCpu = 1;       // seconds per round, roughly
constexpr std::array<std::string_view, 4> kFormats{"arrow", "tfrecord", "webdataset", "recordio"};

// The files of this machine, without remembering their indexes.
class Passing final : public WrappedStore {
 public:
  Passing() : WrappedStore(file_store()) {}
};

// CPU time per element, of `samples` of all in random order, repeated `times` times; the best round after the
// first.
double cpu_of(const Dataset& data, uint64_t samples, uint64_t times, int rounds) {
  LoaderOptions options;
  options.checkpoints = false;
  options.map_files = true;  // as Python's loaders do; nothing reads the bytes
  const Dataset some = data.shuffle({.seed = 1}).take(samples).repeat(times);
  const auto loader = some.batch(64, {.ragged = true}).loader(options);
  if (!loader.ok()) return 0;
  double best = 0;
  for (int round = 0; round <= rounds; ++round) {
    const double before = process_cpu_s();
    if (!(*loader)->begin().ok()) return 0;
    Sample batch;
    uint64_t batches = 0;
    for (Result<bool> more = true;; ++batches) {
      more = (*loader)->next(batch);
      if (!more.ok()) return 0;
      if (!*more) break;
    }
    const double taken = (process_cpu_s() - before) / static_cast<double>(samples * times);
    if (round > 0) best = best == 0 ? taken : std::min(best, taken);  // the first one reads from the disk
  }
  return best;
}

// The same for as many samples as there is time for: where samples share large blocks, each may cost a block.
double cpu_of(const Dataset& data, uint64_t samples) {
  const double pilot = cpu_of(data, std::min(samples, kPilot), 1, 1);
  if (pilot == 0) return 0;
  const auto most = std::max(kPilot, static_cast<uint64_t>(kMostCpu / pilot));
  const uint64_t some = std::min(samples, most), times = (std::min(kRun, most) + some - 1) / some;
  return cpu_of(data, some, times, kContainerRounds);
}

uint64_t size_of_files(const std::string& folder) {
  uint64_t out = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error))
    if (entry.is_regular_file(error)) out += entry.file_size(error);
  return out;
}

}  // namespace

Containers measure_containers(const SourcePtr& source, const Look& look) {
  Containers out;
  const double mean = look.num_bytes / static_cast<double>(std::max<uint64_t>(1, look.read.count()));
  const auto as_many = [&](uint64_t bytes) {
    return std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(bytes) / std::max(1.0, mean)));
  };
  const uint64_t wanted = std::max(kSamples, std::min(kMostSamples, as_many(kWantedBytes)));
  const uint64_t samples = std::min({source->size(), wanted, as_many(kMostBytes)});
  if (samples == 0 || source->num_files() == 0) return out;
  Progress progress("measuring containers", kFormats.size() + 1);
  progress.show(0);
  // Drawn from all samples: how much a sample reads along with it, and how soon that is used, is then as in a
  // whole epoch.
  const Dataset all = from_source(source).on_error(OnErrorPolicy::replace), data = all.take(samples);
  out.as_they_lie_s = cpu_of(all, samples);
  if (out.as_they_lie_s == 0) return out;
  out.samples = samples;
  const auto folder = ScratchFolder::make(source->file(0), 8 * kMostBytes);
  if (!folder.ok()) return out;
  for (size_t i = 0; i < kFormats.size() && !ScratchFolder::is_interrupted(); ++i) {
    const std::string path = (*folder)->path() + "/" + std::string(kFormats[i]);
    WriteOptions options;
    options.format = kFormats[i], options.shards = 1;
    Passing store;
    const auto made = write(data, path, options).ok() ? open_source(store, path, kFormats[i])
                                                      : Result<SourcePtr>(invalid(""));
    if (const double cpu = made.ok() ? cpu_of(from_source(*made), samples) : 0; cpu > 0) {
      const auto bytes = static_cast<double>(size_of_files(path)) / static_cast<double>(samples);
      out.others.push_back({std::string(kFormats[i]), cpu, bytes});
    }
    progress.show(i + 1);
  }
  std::ranges::sort(out.others, {}, &ContainerCost::cpu_s);
  return out;
}

}  // namespace headrace::cli
