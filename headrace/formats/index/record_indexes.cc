#include "headrace/formats/index/record_indexes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "headrace/core/stop_flag.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/index/list_memory.h"
#include "headrace/formats/index/sidecar.h"
#include "headrace/formats/index/unchanged.h"
#include "headrace/io/archives/archive_store.h"
#include "headrace/io/look_up.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kWatchEvery = std::chrono::milliseconds(50);
constexpr auto kShowEvery = std::chrono::seconds(1);
constexpr size_t kMostWorkers = 16;

// Where earlier versions stored the index of a file.
struct Places {
  SidecarPlace cache, beside;
};

// The same for a file under any working directory; next to the archive for a file in one. Nothing if the file
// does not exist.
std::optional<Places> places_of(std::string_view kind, const std::string& path) {
  std::error_code error;
  const PathParts parts = parts_there(path);
  if (parts.there.empty() || parts.is_folder) return std::nullopt;
  const std::filesystem::path canonical = std::filesystem::canonical(parts.there, error);
  if (error) return std::nullopt;
  const std::string inner = parts.rest.empty() ? "" : "/" + parts.rest;
  std::string name = canonical.filename().string() + inner + "." + std::string(kind);
  std::ranges::replace(name, ' ', '-');
  std::ranges::replace(name, '/', '!');
  return Places{"records " + std::string(kind) + " " + canonical.string() + inner,
                SidecarPlace::beside(canonical.parent_path().string(), name)};
}

// Mixes the sizes and times of companion files into a hash.
Result<uint64_t> with_beside(uint64_t hash, const SourceFile& about, Store& store) {
  for (const std::string& path : about.beside) {
    std::optional<FileInfo> info;
    if (!path.empty()) {
      HEADRACE_ASSIGN(info, find(store, path));
    }
    const uint64_t mixed[] = {hash, info ? info->size : 0, info ? static_cast<uint64_t>(info->mtime_ns) : 0};
    hash = XXH3_64bits(mixed, sizeof mixed);
  }
  return hash;
}

std::optional<FileIndex> load(const SidecarPlace& place, const FileStamp& stamp) {
  const auto sidecar = load_sidecar(place);
  if (!sidecar) return std::nullopt;
  const auto made_for = sidecar->find("file"), records = sidecar->find("records"),
             extra = sidecar->find("extra");
  FileStamp then;
  if (!made_for || made_for->size() != sizeof then || !records || !extra) return std::nullopt;
  std::memcpy(&then, made_for->data(), sizeof then);
  if (then != stamp) return std::nullopt;
  auto unpacked = unpack_records(*records);
  auto damaged = unpack_damaged(sidecar->find("damaged").value_or(std::span<const std::byte>()));
  if (!unpacked || !damaged) return std::nullopt;
  FileIndex out{*std::move(unpacked), {}, *std::move(damaged)};
  // Offsets are those of the unpacked bytes, whose number is not known here.
  if (!is_in_order(out, ~uint64_t{0})) return std::nullopt;
  if (!out.damaged.empty() && out.damaged.back().after > out.records.size()) return std::nullopt;
  out.extra.assign(reinterpret_cast<const char*>(extra->data()), extra->size());
  return out;
}

// Drives the opening of one file. The file stays open and its size is known, so a step of twelve bytes costs
// one pread.
class Feeder {
 public:
  Feeder(const SourceFile& file, OpenFile& opened, Store& store, const StopFlag& stop,
         std::atomic<uint64_t>& steps)
      : about_(file), opened_(opened), store_(store), stop_(stop), steps_(steps) {}

  Result<FileIndex> run(Opening<FileIndex>& opening) {
    std::vector<BufferPtr> bytes;
    while (true) {
      if (stop_.raised()) return stopped();
      steps_.fetch_add(1, std::memory_order_relaxed);
      HEADRACE_ASSIGN(Step<FileIndex> step, opening.advance(bytes));
      if (auto* index = std::get_if<FileIndex>(&step)) return std::move(*index);
      bytes.clear();
      for (const Extent& extent : *std::get_if<std::vector<Extent>>(&step)) {
        HEADRACE_ASSIGN(BufferPtr read, extent.file == 0 ? of_file(extent) : of_beside(extent));
        bytes.push_back(std::move(read));
      }
    }
  }

 private:
  Result<BufferPtr> of_file(const Extent& extent) {
    const uint64_t offset = extent.begin_in(about_.size);
    const uint64_t left = offset <= about_.size ? about_.size - offset : 0;
    const uint64_t length = extent.length == kToEnd ? left : extent.length;
    if (length > left)
      return corrupt("expected " + std::to_string(length) + " bytes at byte " + std::to_string(offset) +
                     ", but the file has " + std::to_string(about_.size));
    if (length > kReadLimit)
      return Status(Code::exhausted, {.expected = "at most " + std::to_string(kReadLimit) + " bytes per read",
                                      .got = std::to_string(length)});
    // A scan from header to header reads the same number of bytes each time, and keeps none of them.
    if (!last_ || last_.use_count() > 1 || last_->size() != length) last_ = HeapBuffer::make(length);
    const MutableBufferPtr& buffer = last_;
    Status status = read_exactly(opened_, offset, {buffer->mutable_data(), length});
    if (!status.ok())
      return std::move(status)
          .with({.byte = offset})
          .after(" (reading " + std::to_string(length) + " bytes at byte " + std::to_string(offset) + ")");
    return BufferPtr(buffer);
  }

  // Empty if there is none, or it is damaged: an index of another tool is optional. What cannot be read now
  // is an error: without it, records may have other names.
  Result<BufferPtr> of_beside(const Extent& extent) {
    const std::string& path = about_.beside.at(extent.file - 1);
    if (path.empty()) return BufferPtr(HeapBuffer::make(0));
    HEADRACE_ASSIGN(const auto file, open_if_there(store_, path));
    if (!file) return BufferPtr(HeapBuffer::make(0));
    auto bytes = read_bytes(*file, extent.offset, extent.length);
    if (!bytes.ok() && is_of_the_system(bytes.status())) return bytes.status().in_file(path);
    return bytes.ok() ? *std::move(bytes) : BufferPtr(HeapBuffer::make(0));
  }

  const SourceFile& about_;
  OpenFile& opened_;
  Store& store_;
  const StopFlag& stop_;
  std::atomic<uint64_t>& steps_;
  MutableBufferPtr last_;
};

class Indexing {
 public:
  Indexing(const RecordOpening& records, Store& store, const IndexingOptions& options, ListMemory& memory)
      : records_(records),
        store_(store),
        options_(options),
        memory_(memory),
        indexes_(records.files.size()),
        done_(records.files.size()),
        is_damaged_(records.files.size()),
        refused_(records.files.size()),
        errors_(records.files.size()) {
    for (const SourceFile& file : records_.files) total_ += file.size;
  }

  Result<RecordIndexes> run() {
    HEADRACE_TRY(recall_all());
    if (!are_all_done()) {
      // What is only known to be damaged is looked at by everyone: it may be repaired by a new version.
      std::optional<SidecarLock> lock;
      if (!are_others_damaged()) HEADRACE_TRY(take_turn(lock));
      holds_ = lock ? &*lock : nullptr;
      HEADRACE_TRY(on_all([this](size_t file) { return index(file); }));
      const Status stored = memory_.save(lock.has_value());
      if (options_.beside) HEADRACE_TRY(stored);  // else the next run only walks again
    } else if (options_.beside) {
      HEADRACE_TRY(memory_.save(false));
    }
    if (store_.persistent() && options_.kept && !memory_.path().empty()) options_.kept(memory_.path());
    RecordIndexes out;
    for (size_t i = 0; i < refused_.size(); ++i)
      if (!refused_[i].ok()) out.refused.push_back({i, std::string(refused_[i].text())});
    if (out.refused.size() > kMostRefusedFiles || out.refused.size() == refused_.size())
      return refusal(records_, out.refused[0]);
    out.of_files = std::move(indexes_), out.recalled = recalled_;
    return out;
  }

 private:
  // Runs `work` on threads of its own until it ends; this thread calls the watch.
  template <class Work> Status watched(size_t workers, const Work& work) {
    std::mutex mutex;
    std::condition_variable ended;
    size_t running = 0;  // guarded by mutex
    const auto run = [&] {
      work();
      const std::lock_guard guard(mutex);
      --running;
      ended.notify_one();
    };
    std::vector<std::jthread> threads;
    std::unique_lock guard(mutex);
    try {
      for (; running < workers; ++running) threads.emplace_back(run);
    } catch (const std::system_error&) {  // the system has no more threads: those there are do the work
    }
    if (running == 0) {
      guard.unlock();
      work();
      guard.lock();
    }
    while (!ended.wait_for(guard, kWatchEvery, [&] { return running == 0; })) {
      show_progress();
      if (!options_.watch || stop_.raised()) continue;
      guard.unlock();  // the watch is foreign code
      if (!options_.watch(bytes_done_, total_)) stop_.raise();
      guard.lock();
    }
    return stop_.raised() ? stopped() : Status();
  }

  // To those who wait for this process.
  void show_progress() {
    if (!holds_ || Clock::now() < shown_ + kShowEvery || std::exchange(steps_shown_, steps_.load()) == steps_)
      return;
    shown_ = Clock::now();
    holds_->goes_on();
  }

  // Runs `work` for each file that is not done.
  template <class Work> Status on_all(const Work& work) {
    std::atomic<size_t> next{0};
    bytes_done_ = 0;
    const size_t cores = options_.workers ? options_.workers : std::thread::hardware_concurrency();
    HEADRACE_TRY(watched(std::clamp<size_t>(cores, 1, std::min(done_.size(), kMostWorkers)), [&] {
      for (size_t i = next++; i < done_.size() && !stop_.raised(); i = next++) {
        try {
          if (!done_[i]) errors_[i] = work(i);
        } catch (const std::bad_alloc&) {
          errors_[i] =
              Status(Code::exhausted, "no memory left for its index").in_file(records_.files[i].path);
        }
        bytes_done_ += records_.files[i].size;
        if (!errors_[i].ok() || num_refused_ > kMostRefusedFiles) next = done_.size();
      }
    }));
    for (Status& status : errors_)  // files are taken in order, so the first that fails is always reached
      if (!status.ok()) return std::move(status);
    return {};
  }

  Result<std::unique_ptr<OpenFile>> open(const SourceFile& file) {
    HEADRACE_ASSIGN(std::unique_ptr<OpenFile> opened, memory_.store().open_known(file.path));
    HEADRACE_ASSIGN(const FileInfo now, opened->as_opened());
    if (file.recalled && !is_same(now, info_of(file))) memory_.was_wrong();
    if (now.size != file.size)
      return corrupt({.expected = std::to_string(file.size) + " bytes, its size when it was listed",
                      .got = std::to_string(now.size)});
    return opened;
  }

  bool are_all_done() const {
    return std::ranges::all_of(done_, [](char done) { return done; });
  }
  bool are_others_damaged() const {
    for (size_t i = 0; i < done_.size(); ++i)
      if (!done_[i] && !is_damaged_[i]) return false;
    return true;
  }

  // Waits for those who walk the same files, while they go on. Without a lock, the work is only done twice.
  Status take_turn(std::optional<SidecarLock>& lock) {
    if (!store_.persistent()) return {};
    HEADRACE_TRY(watched(1, [&] {
      if (auto taken = memory_.lock(&stop_); taken.ok()) lock.emplace(*std::move(taken));
    }));
    if (!lock) return {};
    memory_.reload();
    return recall_all();
  }

  Status recall_all() {
    if (options_.anew || !store_.persistent()) return {};
    return on_all([this](size_t file) { return recall(file); });
  }

  // Takes a stored index; it is no error if there is none.
  Status recall(size_t i) {
    const SourceFile& file = records_.files[i];
    auto stored = memory_.find(records_.kind, file.path);
    if (!stored) return {};
    const auto beside = with_beside(0, file, store_);
    if (!beside.ok() || *beside != stored->beside) return {};
    if (stored->file.size != file.size || stored->file.mtime_ns != file.mtime_ns) return {};
    const bool is_same_file = file.changed_ns != 0 && file.changed_ns == stored->file.changed_ns;
    if (!is_same_file) {
      const auto opened = open(file);
      const auto sample = opened.ok() ? sample_of(**opened, file.size) : opened.status();
      if (!sample.ok() || *sample != stored->sample) return {};
    }
    is_damaged_[i] = stored->is_damaged;
    auto index = stored->is_damaged ? std::nullopt : unpack_index(*stored);
    if (!index) return {};
    take(i, *std::move(index), stored->sample);
    if (!is_same_file || options_.beside) {
      stored->file = info_of(file);
      memory_.keep(records_.kind, file.path, *std::move(stored));
    }
    return {};
  }

  void take(size_t i, FileIndex index, uint64_t sample) {
    indexes_[i] = std::move(index);
    done_[i] = true, recalled_ = true;
    if (const auto& recalled = records_.files[i].recalled) recalled->sample = sample;
  }

  // The index in the sidecar of the file alone.
  std::optional<FileIndex> stored_alone(const SourceFile& file, uint64_t sample) {
    if (options_.anew) return std::nullopt;
    const auto mixed = with_beside(sample, file, store_);
    const auto places = places_of(records_.kind, file.path);
    if (!mixed.ok() || !places) return std::nullopt;
    const FileStamp stamp{file.size, file.mtime_ns, *mixed};
    auto out = load(places->beside, stamp);
    return out ? std::move(out) : load(places->cache, stamp);
  }

  Status index(size_t i) {
    const SourceFile& file = records_.files[i];
    Status status = make(i, file);
    if (status.code() != Code::corrupt || has_changed(file)) return std::move(status).in_file(file.path);
    refused_[i] = std::move(status);
    ++num_refused_;
    return {};
  }

  // A file that is written to while it is opened is not damaged.
  bool has_changed(const SourceFile& file) const {
    const auto now = memory_.store().info(file.path);
    return !now.ok() || now->size != file.size || now->mtime_ns != file.mtime_ns;
  }

  Status make(size_t i, const SourceFile& file) {
    HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> opened, open(file));
    ListIndex::Records stored;
    if (store_.persistent()) {
      HEADRACE_ASSIGN(stored.sample, sample_of(*opened, file.size));
      HEADRACE_ASSIGN(stored.beside, with_beside(0, file, store_));
      if (auto index = stored_alone(file, stored.sample)) {
        keep(file, stored, *index);
        take(i, *std::move(index), stored.sample);
        return {};
      }
    }
    const auto opening = records_.index(i);
    auto index = Feeder(file, *opened, store_, stop_, steps_).run(*opening);
    if (index.status().code() == Code::corrupt && store_.persistent() && !has_changed(file)) {
      stored.file = info_of(file), stored.is_damaged = true;
      memory_.keep(records_.kind, file.path, stored);
    }
    HEADRACE_ASSIGN(indexes_[i], std::move(index));
    done_[i] = true;
    if (store_.persistent()) keep(file, stored, indexes_[i]);
    if (file.recalled) file.recalled->sample = stored.sample;
    return {};
  }

  void keep(const SourceFile& file, const ListIndex::Records& about, const FileIndex& index) {
    ListIndex::Records out = pack_index(index);
    out.file = info_of(file), out.sample = about.sample, out.beside = about.beside;
    memory_.keep(records_.kind, file.path, std::move(out));
  }

  const RecordOpening& records_;
  Store& store_;
  const IndexingOptions& options_;
  ListMemory& memory_;
  uint64_t total_ = 0;
  StopFlag stop_;
  std::atomic<uint64_t> bytes_done_{0};
  std::atomic<size_t> num_refused_{0};
  // Of the walk, for those who wait.
  const SidecarLock* holds_ = nullptr;
  std::atomic<uint64_t> steps_{0};
  uint64_t steps_shown_ = 0;
  Clock::time_point shown_ = {};
  std::atomic<bool> recalled_{false};
  // One per file, each written by the thread that handles the file.
  std::vector<FileIndex> indexes_;
  std::vector<char> done_, is_damaged_;
  std::vector<Status> refused_;
  std::vector<Status> errors_;
};

}  // namespace

Status refusal(const RecordOpening& records, const RefusedFile& file) {
  return corrupt(file.reason).in_file(records.files[file.file].path);
}

Result<RecordIndexes> record_indexes(const RecordOpening& records, Store& store,
                                     const IndexingOptions& options) {
  if (records.files.empty()) return RecordIndexes();
  if (options.memory) return Indexing(records, store, options, *options.memory).run();
  std::vector<std::string> paths;
  for (const SourceFile& file : records.files) paths.push_back(file.path);
  ListMemory memory(store, paths, options.beside);
  return Indexing(records, store, options, memory).run();
}

}  // namespace headrace
