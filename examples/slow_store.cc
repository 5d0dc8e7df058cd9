// The gain from concurrent reads if every read has a latency of 50 ms, as on a disk shared by a cluster or a
// store over the network. The latency is simulated by a Store around the local files.
//   build/examples/slow_store [IMAGES]
//
// The first part corresponds to an exercise with tf.data in the data pipelines course of Argonne's computing
// facility: a folder of JPEG files, decoded and batched, by one reader and by 64; there a batch goes from 10
// s to 1 s. The second part interleaves 64 files. Concurrent reads wait at the same time, so 64 readers can
// be 64 times as fast; on an idle machine they reach more than 0.9 of that. The example fails below a half,
// as it does when reads wait for each other, and not when the machine has other work.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "headrace/headrace.h"

namespace {

using headrace::Dataset;
using headrace::Result;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds kFirstByte{50};
constexpr size_t kReaders = 64;

class SlowFile final : public headrace::OpenFile {
 public:
  SlowFile(std::unique_ptr<headrace::OpenFile> file, std::atomic<size_t>* reads)
      : file_(std::move(file)), reads_(reads) {}
  Result<uint64_t> size() override { return file_->size(); }
  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    ++*reads_;
    std::this_thread::sleep_for(kFirstByte);
    return file_->read(offset, out);
  }

 private:
  std::unique_ptr<headrace::OpenFile> file_;
  std::atomic<size_t>* reads_;
};

class SlowStore final : public headrace::Store {
 public:
  Result<std::unique_ptr<headrace::OpenFile>> open(const std::string& path) override {
    auto file = files_->open(path);
    if (!file.ok()) return file.status();
    return std::unique_ptr<headrace::OpenFile>(std::make_unique<SlowFile>(std::move(*file), &reads_));
  }
  Result<headrace::FileInfo> info(const std::string& path) override { return files_->info(path); }
  Result<headrace::Listing> list(const std::string& root) override { return files_->list(root); }

  size_t reads() const { return reads_; }

 private:
  std::shared_ptr<headrace::Store> files_ = headrace::file_store();
  std::atomic<size_t> reads_ = 0;
};

[[noreturn]] void fail(const headrace::Status& status) {
  std::fprintf(stderr, "%s\n", status.text().data());
  std::exit(1);
}

struct Took {
  double seconds = 0;
  size_t elements = 0, reads = 0;
};

Took run(const Dataset& data, size_t readers) {
  if (!data.node().ok()) fail(data.node().status());
  const auto store = std::make_shared<SlowStore>();
  headrace::LoaderOptions options;
  options.io = readers;
  auto loader = headrace::Loader::make(*data.node(), options, store);
  if (!loader.ok()) fail(loader.status());
  Took took;
  headrace::Sample sample;
  const auto begin = std::chrono::steady_clock::now();
  auto more = (*loader)->next(sample);
  for (; more.ok() && *more; more = (*loader)->next(sample)) ++took.elements;
  if (!more.ok()) fail(more.status());
  took.seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
  took.reads = store->reads();
  return took;
}

void images(const std::string& folder) {
  constexpr uint64_t kBatch = 32;
  const Dataset data =
      headrace::read(folder).repeat().map([](const headrace::Fields& s) -> headrace::Outputs {
        const headrace::Symbol image = s["image"].apply("decode_image");
        return {{"image", image.apply("random_resized_crop", {{"size", 224}})}, {"label", s["label"]}};
      });
  const Took serial = run(data.take(kBatch).batch(kBatch), 1);
  const Took parallel = run(data.take(20 * kBatch).batch(kBatch), kReaders);
  const double a_batch = parallel.seconds / static_cast<double>(parallel.elements);
  std::printf("a batch of 32 images: one reader %.2f s, %zu readers %.3f s: %.0f times as fast\n",
              serial.seconds, kReaders, a_batch, serial.seconds / a_batch);
}

// The share of the ideal speed of 64 readers.
double interleaved(const std::filesystem::path& folder) {
  constexpr uint64_t kEach = 12;  // records of 64 KiB, each read separately
  std::vector<Dataset> files;
  for (size_t i = 0; i < kReaders; ++i) {
    const std::string path = folder / (std::to_string(i) + ".arrow");
    const auto written = headrace::write(headrace::random(i, {8192}, kEach), path);
    if (!written.ok()) fail(written.status());
    files.push_back(headrace::read(path));
  }
  const Took took = run(headrace::interleave(files, {.cycle_length = kReaders}).repeat(3), kReaders);
  const double one_by_one = static_cast<double>(took.reads) * Seconds(kFirstByte).count();
  const double reached = one_by_one / static_cast<double>(kReaders) / took.seconds;
  std::printf(
      "interleave of %zu files: %zu reads, sequential %.1f s, with %zu readers %.2f s: %.2f of the ideal\n",
      kReaders, took.reads, one_by_one, kReaders, took.seconds, reached);
  return reached;
}

}  // namespace

int main(int argc, char** argv) {
  images(argc > 1 ? argv[1] : "demo-data/train");
  const auto folder = std::filesystem::temp_directory_path() / "headrace_slow_store";
  std::filesystem::create_directories(folder);
  const double reached = interleaved(folder);
  std::filesystem::remove_all(folder);
  return reached >= 0.5 ? 0 : 1;
}
