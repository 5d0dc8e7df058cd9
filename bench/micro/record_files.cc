// TFRecord files with records of 110 kB and of 100 B, half a gigabyte each in the page cache: the walk that
// finds the records, compared with a loop of pread over the same headers, and reading through the loader,
// compared with plain reads. They are made below $TMPDIR and removed. Compare only within one run; items are
// records.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "headrace/codecs/crc32c.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/tfrecord/testing.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

constexpr size_t kFileBytes = size_t{512} << 20;
constexpr uint64_t kSmall = 100, kLarge = 110'000;

// The file system, as a store that is not persistent, so that no index is stored.
class Forgetful final : public Store {
 public:
  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    return file_store()->open(path);
  }
  Result<FileInfo> info(const std::string& path) override { return file_store()->info(path); }
  Result<Listing> list(const std::string& root) override { return file_store()->list(root); }
};

const std::string& file_of(uint64_t length) {
  static const TemporaryFolder folder;
  static std::map<uint64_t, std::string> paths;
  std::string& path = paths[length];
  if (!path.empty()) return path;
  std::string bytes;
  bytes.reserve(kFileBytes + length);
  std::string data(length, '\0');
  std::mt19937_64 random(length);
  while (bytes.size() < kFileBytes) {
    for (size_t i = 0; i < std::min<size_t>(length, 64); ++i) data[i] = static_cast<char>(random());
    bytes += framed(data);
  }
  const std::string name = std::to_string(length) + ".tfrecord";
  folder.write(name, bytes);
  return path = folder / name;
}

SourcePtr source_of(uint64_t length, bool verify = true) {
  Forgetful store;
  Value options;
  options.set("verify", verify);
  return *open_source(store, file_of(length), "tfrecord", options);
}

void walk(benchmark::State& state) {
  const auto length = static_cast<uint64_t>(state.range(0));
  uint64_t records = source_of(length)->size();
  for (auto _ : state) benchmark::DoNotOptimize(records = source_of(length)->size());
  state.SetItemsProcessed(static_cast<int64_t>(records) * state.iterations());
}
BENCHMARK(walk)->Arg(kLarge)->Arg(kSmall)->Unit(benchmark::kMillisecond)->UseRealTime();

void pread_headers(benchmark::State& state) {
  const auto length = static_cast<uint64_t>(state.range(0));
  const int file = ::open(file_of(length).c_str(), O_RDONLY);
  int64_t records = 0;
  for (auto _ : state) {
    char header[12];
    uint64_t size = 0;
    for (uint64_t at = 0; ::pread(file, header, sizeof header, static_cast<off_t>(at)) == sizeof header;
         ++records) {
      std::memcpy(&size, header, sizeof size);
      at += size + 16;
    }
  }
  ::close(file);
  state.SetItemsProcessed(records);
}
BENCHMARK(pread_headers)->Arg(kLarge)->Arg(kSmall)->Unit(benchmark::kMillisecond)->UseRealTime();

void drain(benchmark::State& state, const Dataset& data, int64_t most) {
  int64_t records = 0;
  for (auto _ : state) {
    auto loader = *data.batch(256, {.ragged = true}).loader({.workers = 1});
    Sample batch;
    for (int64_t seen = 0; seen < most; seen += 256) {
      const auto more = loader->next(batch);
      if (!more.ok()) state.SkipWithError(std::string(more.status().text()).c_str());
      if (!more.ok() || !*more) break;
      records += batch.fields[0].shape[0];
    }
  }
  state.SetItemsProcessed(records);
}
void sequential(benchmark::State& state) {
  drain(state, from_source(source_of(static_cast<uint64_t>(state.range(0)), state.range(1) != 0)), 1'000'000);
}
BENCHMARK(sequential)
    ->ArgsProduct({{kLarge, kSmall}, {1, 0}})
    ->ArgNames({"bytes", "verify"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
void shuffled(benchmark::State& state) {
  drain(
      state,
      from_source(source_of(static_cast<uint64_t>(state.range(0)), state.range(1) != 0)).shuffle({.seed = 1}),
      300'000);
}
BENCHMARK(shuffled)
    ->ArgsProduct({{kLarge, kSmall}, {1, 0}})
    ->ArgNames({"bytes", "verify"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

// The equivalent of `shuffled` without a library: the same records, each into its own memory.
void pread_shuffled(benchmark::State& state) {
  const auto length = static_cast<uint64_t>(state.range(0)), count = kFileBytes / (length + 16);
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  const int file = ::open(file_of(length).c_str(), O_RDONLY);
  const size_t most = std::min<size_t>(count, 300'000);
  for (auto _ : state)
    for (size_t i = 0; i < most; ++i) {
      std::vector<char> record(length + 16);
      benchmark::DoNotOptimize(
          ::pread(file, record.data(), record.size(), static_cast<off_t>(order[i] * (length + 16))));
    }
  ::close(file);
  state.SetItemsProcessed(static_cast<int64_t>(most) * state.iterations());
}
BENCHMARK(pread_shuffled)->Arg(kLarge)->Arg(kSmall)->Unit(benchmark::kMillisecond)->UseRealTime();

// A scan of the whole file in pieces of 1 MiB with a checksum of each: the reference for `sequential`.
void pread_and_crc(benchmark::State& state) {
  const int file = ::open(file_of(kLarge).c_str(), O_RDONLY);
  std::vector<std::byte> piece(1 << 20);
  for (auto _ : state)
    for (off_t at = 0; const ssize_t count = ::pread(file, piece.data(), piece.size(), at); at += count)
      benchmark::DoNotOptimize(crc32c(std::span(piece).first(static_cast<size_t>(count))));
  ::close(file);
  state.SetItemsProcessed(static_cast<int64_t>(kFileBytes / (kLarge + 16)) * state.iterations());
}
BENCHMARK(pread_and_crc)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace headrace
