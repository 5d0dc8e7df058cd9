#include "cli/doctor/reading.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>

#include "cli/doctor/files.h"
#include "cli/doctor/slow.h"
#include "cli/output/terminal.h"
#include "headrace/core/parallel_for.h"
#include "headrace/formats/opening/open.h"
#include "headrace/run/measure/machine.h"
#include "headrace/run/read/fetch.h"

namespace headrace::cli {
namespace {

constexpr double kMostSeconds = 5;  // to find out what is read, and for the rounds of each kind
constexpr int kRounds = 3;          // the best one counts: other programs only slow things down
constexpr double kFromDisk = 0.9;   // share of bytes from the disk that makes it a measurement of the disk
constexpr size_t kChunk = size_t{1} << 20;
constexpr size_t kKeptOpen = 256;  // files, as in a loader

class Files {
 public:
  // Keeps the files open if they are few; else opens and closes each with its sample.
  explicit Files(const std::vector<std::string>& names) : names_(names) {
    if (names.size() > kKeptOpen) return;
    for (const std::string& name : names) kept_.push_back(open(name));
  }
  ~Files() {
    for (const int descriptor : kept_) close(descriptor);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  bool read(const std::vector<Piece>& sample, std::vector<std::byte>& buffer) const {
    bool all = true;
    for (size_t i = 0; i < sample.size(); ++i) {
      const bool again = i > 0 && sample[i].file == sample[i - 1].file;
      if (kept_.empty() && !again) opened_ = open(names_[sample[i].file]);
      const int descriptor = kept_.empty() ? opened_ : kept_[sample[i].file];
      buffer.resize(std::max<size_t>(buffer.size(), sample[i].length));
      const ssize_t count =
          ::pread(descriptor, buffer.data(), sample[i].length, static_cast<off_t>(sample[i].offset));
      all = all && count == static_cast<ssize_t>(sample[i].length);
      const bool last = i + 1 == sample.size() || sample[i + 1].file != sample[i].file;
      if (kept_.empty() && last) close(opened_);
    }
    return all;
  }

 private:
  static int open(const std::string& name) {
    return ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  }
  static void close(int descriptor) {
    if (descriptor >= 0) ::close(descriptor);
  }
  static thread_local int opened_;
  const std::vector<std::string>& names_;
  std::vector<int> kept_;
};
thread_local int Files::opened_ = -1;

// The bytes of some samples, in random order.
struct Subset {
  std::vector<std::string> files;
  std::vector<std::vector<Piece>> samples;
  std::vector<uint64_t> begins;  // of each sample in the one file
  uint64_t bytes = 0;
};

// Positions of good samples in random order, the same each time.
std::vector<uint64_t> random_positions(const Look& look) {
  constexpr uint64_t kSeed = 1;
  std::mt19937_64 random(kSeed);
  std::vector<uint64_t> out;
  const uint64_t size = look.samples.size();
  for (uint64_t i = 0; i < std::min(size, 2 * kMostMeasuredSamples); ++i)
    out.push_back(size > 2 * kMostMeasuredSamples ? random() % size : i);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  std::ranges::shuffle(out, random);
  std::erase_if(out, [&](uint64_t i) { return look.samples[i].broken; });
  return out;
}

bool is_enough(const Subset& subset) {
  const size_t samples = subset.samples.size();
  return subset.bytes >= kMostMeasuredBytes || samples >= kMostMeasuredSamples ||
         (samples >= kMeasuredSamples && subset.bytes >= kEnoughBytes);
}

Subset subset_of(const Source& source, const Look& look) {
  WatchedStore watched(file_store());
  Subset out;
  std::set<uint64_t> seen;  // blocks
  const auto begin = std::chrono::steady_clock::now();
  for (const uint64_t position : random_positions(look)) {
    if (seconds_since(begin) > kMostSeconds || is_enough(out)) break;
    const uint64_t block = source.place(look.index(position)).block;
    if (!seen.insert(block).second || !drive_block(source, block, watched).ok()) continue;
    std::vector<Piece> pieces = watched.take();
    if (pieces.empty()) continue;
    out.begins.push_back(out.bytes);
    for (const Piece& piece : pieces) out.bytes += piece.length;
    out.samples.push_back(std::move(pieces));
  }
  out.files = watched.files();
  return out;
}

Result<std::unique_ptr<ScratchFile>> one_file_of(const Subset& subset, const std::string& near) {
  HEADRACE_ASSIGN(std::unique_ptr<ScratchFile> out, ScratchFile::make(near, subset.bytes));
  const auto store = file_store();
  for (const auto& sample : subset.samples)
    for (const Piece& piece : sample) {
      HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, store->open(subset.files[piece.file]));
      HEADRACE_ASSIGN(const BufferPtr bytes, read_bytes(*file, piece.offset, piece.length));
      HEADRACE_TRY(out->append({bytes->data(), bytes->size()}));
    }
  HEADRACE_TRY(out->finish());
  return out;
}

class Measuring {
 public:
  Measuring(const Subset& subset, ScratchFile& one_file)
      : subset_(subset), one_file_(one_file), order_(subset.samples.size()) {
    // Another order than in the one file, which is then read at random.
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::ranges::shuffle(order_, std::mt19937_64(2));
  }

  // Each layout with each number of concurrent reads in turn, for some rounds, as long as there is time.
  Layouts measure(bool from_disk) {
    Layouts out;
    const auto begin = std::chrono::steady_clock::now();
    double last_s = 0;  // what all layouts took with kReaders[0] concurrent reads
    for (int round = 0; round < kRounds; ++round)
      for (const size_t readers : kReaders) {
        const double before = seconds_since(begin);
        if (last_s > 0 && before + expected_s(last_s, readers) > kMostSeconds) continue;
        measure_once(from_disk, readers, out);
        if (readers == kReaders[0]) last_s = seconds_since(begin) - before;
      }
    return out;
  }

 private:
  // The worst case: reads wait, independently of each other.
  static double expected_s(double with_first_s, size_t readers) {
    return with_first_s * std::max(1.0, static_cast<double>(kReaders[0]) / static_cast<double>(readers));
  }

  void measure_once(bool from_disk, size_t readers, Layouts& out) {
    better(out.as_they_lie, timed(from_disk, readers, order_.size(), [&](uint64_t i, auto& buffer) {
             return files_.read(subset_.samples[order_[i]], buffer);
           }));
    better(out.one_file_shuffled, timed(from_disk, readers, order_.size(), [&](uint64_t i, auto& buffer) {
             const uint64_t begins = subset_.begins[order_[i]];
             const uint64_t ends =
                 order_[i] + 1 < order_.size() ? subset_.begins[order_[i] + 1] : subset_.bytes;
             return read_one(begins, ends - begins, buffer);
           }));
    const uint64_t chunks = (subset_.bytes + kChunk - 1) / kChunk;
    better(out.one_file_in_order, timed(from_disk, readers, chunks, [&](uint64_t i, auto& buffer) {
             return read_one(i * kChunk, std::min<uint64_t>(kChunk, subset_.bytes - i * kChunk), buffer);
           }));
  }

  bool read_one(uint64_t offset, uint64_t length, std::vector<std::byte>& buffer) const {
    buffer.resize(std::max<size_t>(buffer.size(), length));
    return one_file_.read(offset, {buffer.data(), length}).ok();
  }

  static void better(ReadRate& best, const ReadRate& now) {
    if (now.bytes_per_s > best.bytes_per_s) best = now;
  }

  template <class Read> ReadRate timed(bool from_disk, size_t readers, uint64_t count, const Read& read) {
    if (from_disk) forget(subset_.files, subset_.samples), one_file_.forget();
    std::vector<std::vector<std::byte>> buffers(readers, std::vector<std::byte>(kChunk));
    std::atomic<bool> all{true};
    const uint64_t disk = bytes_from_disk();
    const double cpu = process_cpu_s();
    const auto begin = std::chrono::steady_clock::now();
    parallel_for(count, readers, [&](size_t reader, uint64_t i) {
      if (!read(i, buffers[reader])) all = false;
      return all.load();
    });
    const double seconds = std::max(1e-9, seconds_since(begin));
    if (!all) return {};  // a file was removed in the meantime
    const auto bytes = static_cast<double>(subset_.bytes), samples = static_cast<double>(order_.size());
    return {bytes / seconds, samples / seconds, readers, (process_cpu_s() - cpu) / samples,
            std::min(1.0, static_cast<double>(bytes_from_disk() - disk) / bytes)};
  }

  const Subset& subset_;
  ScratchFile& one_file_;
  std::vector<size_t> order_;
  Files files_{subset_.files};
};

// Convert blocks per second to samples per second.
Layouts of_blocks(Layouts out, const Reading& reading) {
  out.one_file_in_order.samples_per_s *= reading.samples_a_block;
  if (!reading.once_each) return out;
  out.as_they_lie.samples_per_s *= reading.samples_a_block;
  out.one_file_shuffled.samples_per_s *= reading.samples_a_block;
  return out;
}

// Whether a loader with its default memory budget keeps all blocks.
bool has_room_for_all(const Look& look) {
  const double share =
      static_cast<double>(look.size) / static_cast<double>(std::max<size_t>(1, look.samples.size()));
  return look.num_bytes * share <= static_cast<double>(Fetcher::most_kept(default_memory_budget(), true));
}

}  // namespace

Reading measure_reading(const Source& source, const Look& look) {
  Reading out;
  out.samples_a_block = samples_a_block(source);
  out.once_each = lie_alone(source) || has_room_for_all(look);
  Progress progress("measuring how fast samples are read", 0);
  progress.show(0);
  const Subset subset = subset_of(source, look);
  out.samples = subset.samples.size(), out.bytes = subset.bytes, out.files = subset.files.size();
  if (subset.samples.empty() || subset.bytes == 0) {
    out.skipped = "no file is read";
    return out;
  }
  if (subset.bytes < kLeastBytes) {
    out.skipped = fmt::format("{} is too little to measure, and is soon in memory anyway",
                              size_text(static_cast<double>(subset.bytes)));
    return out;
  }
  auto one_file = one_file_of(subset, subset.files[0]);
  if (!one_file.ok()) {
    out.skipped = one_file.status().text();
    return out;
  }
  out.folder = (*one_file)->folder(), out.on_same_disk = (*one_file)->on_same_disk();
  Measuring measuring(subset, **one_file);
  const Layouts cold = measuring.measure(true);
  const bool is_cold = cold.as_they_lie.from_disk >= kFromDisk &&
                       cold.one_file_in_order.from_disk >= kFromDisk &&
                       cold.one_file_shuffled.from_disk >= kFromDisk;
  if (is_cold) out.disk = of_blocks(cold, out);
  if (!is_cold)
    out.skipped =
        (*one_file)->in_memory()
            ? "temporary files are in memory here: set TMPDIR or XDG_CACHE_HOME to a folder on a disk"
            : "the system served the files from its page cache although it was asked to drop them";
  out.memory = of_blocks(measuring.measure(false), out);
  return out;
}

}  // namespace headrace::cli
