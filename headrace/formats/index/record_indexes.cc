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
#include "headrace/formats/index/sidecar.h"
#include "headrace/io/archives/archive_store.h"
#include "headrace/io/look_up.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kWorthKeeping = std::chrono::milliseconds(1);
constexpr auto kWatchEvery = std::chrono::milliseconds(50);
constexpr uint64_t kWorthWaiting = uint64_t{64}
                                   << 20;  // bytes of files; below that, two processes may both index them
constexpr uint64_t kSampleBytes = 4096;    // at the beginning, the middle and the end
constexpr size_t kMostWorkers = 16;

// Where the index of a file may be stored.
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

Result<FileStamp> stamp_of(OpenFile& file, const SourceFile& about, Store& store) {
  FileStamp out{about.size, about.mtime_ns, 0};
  const uint64_t count = std::min(about.size, kSampleBytes);
  std::vector<std::byte> bytes(3 * count);
  uint64_t part = 0;
  for (const uint64_t offset : {uint64_t{0}, (about.size - count) / 2, about.size - count})
    HEADRACE_TRY(read_exactly(file, offset, std::span(bytes).subspan(count * part++, count)));
  out.sample = XXH3_64bits(bytes.data(), bytes.size());
  for (const std::string& path : about.beside) {
    std::optional<FileInfo> info;
    if (!path.empty()) {
      HEADRACE_ASSIGN(info, find(store, path));
    }
    const uint64_t mixed[] = {out.sample, info ? info->size : 0,
                              info ? static_cast<uint64_t>(info->mtime_ns) : 0};
    out.sample = XXH3_64bits(mixed, sizeof mixed);
  }
  return out;
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

Status keep(const SidecarPlace& place, const FileStamp& stamp, const FileIndex& index) {
  const std::string records = pack_records(index), damaged = pack_damaged(index);
  const auto section = [](std::string name, std::span<const std::byte> bytes) {
    return MadeSection{std::move(name), [bytes](const MadeSection::Write& write) { return write(bytes); }};
  };
  const MadeSection sections[] = {
      section("file", std::as_bytes(std::span(&stamp, 1))), section("records", text_bytes(records)),
      section("damaged", text_bytes(damaged)), section("extra", text_bytes(index.extra))};
  return store_made_sidecar(place, sections);
}

// Drives the opening of one file. The file stays open and its size is known, so a step of twelve bytes costs
// one pread.
class Feeder {
 public:
  Feeder(const SourceFile& file, OpenFile& opened, Store& store, const StopFlag& stop)
      : about_(file), opened_(opened), store_(store), stop_(stop) {}

  Result<FileIndex> run(Opening<FileIndex>& opening) {
    std::vector<BufferPtr> bytes;
    while (true) {
      if (stop_.raised()) return stopped();
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
  MutableBufferPtr last_;
};

class Indexing {
 public:
  Indexing(const RecordOpening& records, Store& store, const IndexingOptions& options)
      : records_(records),
        store_(store),
        options_(options),
        indexes_(records.files.size()),
        done_(records.files.size()),
        refused_(records.files.size()),
        errors_(records.files.size()) {
    for (const SourceFile& file : records_.files) total_ += file.size;
  }

  Result<RecordIndexes> run() {
    std::optional<SidecarLock> lock;
    if (store_.persistent() && total_ >= kWorthWaiting) {
      HEADRACE_TRY(on_all([this](size_t file) { return recall(file); }));
      if (!std::ranges::all_of(done_, [](char done) { return done; })) {
        HEADRACE_TRY(watched(1, [&] {
          const auto places = places_of(records_.kind, records_.files[0].path);
          if (!places) return;
          auto taken = SidecarLock::take("indexing " + places->cache.path(), &stop_);
          if (taken.ok()) lock.emplace(*std::move(taken));  // without a lock, the work is only done twice
        }));
      }
    }
    HEADRACE_TRY(on_all([this](size_t file) { return index(file); }));
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
      if (!options_.watch || stop_.raised()) continue;
      guard.unlock();  // the watch is foreign code
      if (!options_.watch(bytes_done_, total_)) stop_.raise();
      guard.lock();
    }
    return stop_.raised() ? stopped() : Status();
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
    HEADRACE_ASSIGN(std::unique_ptr<OpenFile> opened, store_.open(file.path));
    HEADRACE_ASSIGN(const uint64_t size, opened->size());
    if (size != file.size)
      return corrupt({.expected = std::to_string(file.size) + " bytes, its size when it was listed",
                      .got = std::to_string(size)});
    return opened;
  }

  std::optional<Places> places(size_t file) const {
    return store_.persistent() ? places_of(records_.kind, records_.files[file].path) : std::nullopt;
  }

  // Loads a stored index; it is no error if there is none.
  Status recall(size_t i) {
    const SourceFile& file = records_.files[i];
    auto opened = open(file);
    if (!opened.ok()) return {};
    const auto stamp = stamp_of(**opened, file, store_);
    const auto kept = places(i);
    return stamp.ok() && kept ? take(i, *kept, *stamp) : Status();
  }

  Status take(size_t i, const Places& places, const FileStamp& stamp) {
    if (options_.anew) return {};
    auto index = load(places.beside, stamp);
    const bool lies_beside = index.has_value();
    if (!index) index = load(places.cache, stamp);
    if (!index) return {};
    indexes_[i] = *std::move(index);
    done_[i] = true, recalled_ = true;
    if (options_.beside && !lies_beside) HEADRACE_TRY(keep(places.beside, stamp, indexes_[i]));
    tell_kept(options_.beside || lies_beside ? places.beside : places.cache);
    return {};
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
    const auto now = store_.info(file.path);
    return !now.ok() || now->size != file.size || now->mtime_ns != file.mtime_ns;
  }

  Status make(size_t i, const SourceFile& file) {
    HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> opened, open(file));
    const std::optional<Places> kept = places(i);
    FileStamp stamp;
    if (kept) {
      HEADRACE_ASSIGN(stamp, stamp_of(*opened, file, store_));
      HEADRACE_TRY(take(i, *kept, stamp));
      if (done_[i]) return {};
    }
    const auto begin = Clock::now();
    const auto opening = records_.index(i);
    HEADRACE_ASSIGN(indexes_[i], Feeder(file, *opened, store_, stop_).run(*opening));
    done_[i] = true;
    if (kept && options_.beside) {
      HEADRACE_TRY(keep(kept->beside, stamp, indexes_[i]));
      tell_kept(kept->beside);
    } else if (kept && Clock::now() - begin >= kWorthKeeping) {
      // If this fails, the next run only scans the file again.
      if (keep(kept->cache, stamp, indexes_[i]).ok()) tell_kept(kept->cache);
    }
    return {};
  }

  void tell_kept(const SidecarPlace& place) const {
    if (options_.kept) options_.kept(place.path());
  }

  const RecordOpening& records_;
  Store& store_;
  const IndexingOptions& options_;
  uint64_t total_ = 0;
  StopFlag stop_;
  std::atomic<uint64_t> bytes_done_{0};
  std::atomic<size_t> num_refused_{0};
  std::atomic<bool> recalled_{false};
  // One per file, each written by the thread that handles the file.
  std::vector<FileIndex> indexes_;
  std::vector<char> done_;
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
  return Indexing(records, store, options).run();
}

}  // namespace headrace
