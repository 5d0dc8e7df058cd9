// Elements in files. Each process that adds some writes its own segment: `<key>-<pid>-<time>.data`, elements
// one after the other, and `.index`, an entry for each with its position and checksum. Entries or elements
// that a crash cut short, or that do not match their checksum, count as missing. Processes read one another's
// segments while they run, and write one at a time (`<key>.lock`), so that no element is written twice.
#include "headrace/run/element_cache/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "headrace/codecs/crc32c.h"
#include "headrace/core/parallel_for.h"
#include "headrace/core/text/text.h"
#include "headrace/core/value.h"
#include "headrace/io/file_system.h"
#include "headrace/io/new_file.h"
#include "headrace/io/store.h"

namespace headrace {
namespace {

// A process that is killed loses its unwritten elements, and others cannot see them: at most this many bytes,
// and where elements take long to make, only those of the last moments.
constexpr uint64_t kMostUnwritten = 512 << 10;
constexpr std::chrono::milliseconds kLastPatience{1000};  // of a closing cache with unwritten elements
constexpr std::chrono::milliseconds kLongestUnwritten{50}, kBetweenLooks{50};
constexpr std::chrono::milliseconds kBetweenTries{5};  // to write, while another process does
constexpr size_t kWaitingBytes = 200;                  // overhead of an element that waits to be written
constexpr size_t kMostOpen = 64;                       // files

struct Entry {
  CacheKey key;
  uint64_t offset = 0;
  uint32_t length = 0, checksum = 0;  // of the element
  uint32_t self = 0, zero = 0;        // checksum of the members before it
};
static_assert(sizeof(Entry) == 40);

uint32_t checksum_of(const Entry& entry) {
  return crc32c(std::as_bytes(std::span(&entry, 1)).first(offsetof(Entry, self)));
}

struct EntryPlace {
  uint32_t segment = 0, length = 0;
  uint64_t offset = 0;
  uint32_t checksum = 0;
};

// Systems may not record when a file is read; a file in use must not look unused.
void is_read_now(const std::string& path) {
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

// Files of elements, opened on demand: there may be more of them than a process may have open.
// Any thread.
class SegmentFiles {
 public:
  uint32_t add(std::string path) {
    std::lock_guard lock(mutex_);
    segments_.push_back({std::move(path), nullptr, 0});
    return static_cast<uint32_t>(segments_.size() - 1);
  }
  Result<std::shared_ptr<OpenFile>> of(uint32_t number) {
    std::string path;
    {
      std::lock_guard lock(mutex_);
      Segment& segment = segments_[number];
      segment.asked = ++asked_;
      if (segment.file) return segment.file;
      path = segment.path;
    }
    HEADRACE_ASSIGN(std::shared_ptr<OpenFile> file, file_store()->open(path));
    is_read_now(path);
    std::lock_guard lock(mutex_);
    if (!segments_[number].file && ++open_ > kMostOpen) close_one();
    return segments_[number].file = std::move(file);
  }

 private:
  struct Segment {
    std::string path;
    std::shared_ptr<OpenFile> file;
    uint64_t asked;
  };
  // REQUIRES: a file is open.
  void close_one() {
    const auto by_use = [](const Segment& segment) { return segment.file ? segment.asked : ~uint64_t{0}; };
    std::ranges::min_element(segments_, {}, by_use)->file = nullptr;
    --open_;
  }

  std::mutex mutex_;
  std::vector<Segment> segments_;
  size_t open_ = 0;
  uint64_t asked_ = 0;
};

// The segments of other processes, as far as they were read.
class Others {
 public:
  Others(const std::string& folder, const std::string& key, SegmentFiles& files)
      : folder_(folder), key_(key), files_(files) {}

  // Calls add(entry, segment) for each new entry. The segment `own` is skipped.
  template <class Add> void refresh(const std::string& own, const Add& add) {
    const auto entries = file_store()->entries(folder_);
    if (!entries.ok()) return;
    for (size_t i = 0; i < entries->files.size(); ++i) {
      const std::string_view name = entries->files[i];
      if (!name.starts_with(key_ + "-") || !name.ends_with(kCacheIndex)) continue;
      std::string stem(name.substr(0, name.size() - kCacheIndex.size()));
      if (stem != own) read_on(stem, add);
    }
  }

 private:
  struct Segment {
    uint32_t number = 0;
    uint64_t read = 0;  // bytes of the index
  };

  template <class Add> void read_on(const std::string& stem, const Add& add) {
    const std::string path = folder_ + "/" + stem;
    const std::string data = path + std::string(kCacheData), index = path + std::string(kCacheIndex);
    const auto found = segments_.find(stem);
    const uint64_t read = found == segments_.end() ? 0 : found->second.read;
    const auto info = file_store()->info(index), data_info = file_store()->info(data);
    if (!info.ok() || !data_info.ok() || info->size < read + sizeof(Entry)) return;
    const auto file = file_store()->open(index);
    if (!file.ok()) return;
    is_read_now(index);
    if (found == segments_.end()) segments_[stem].number = files_.add(data);
    read_entries(**file, info->size, data_info->size, segments_[stem], add);
  }

  template <class Add>
  void read_entries(OpenFile& file, uint64_t size, uint64_t data_size, Segment& segment, const Add& add) {
    constexpr uint64_t kEntriesAtOnce = 1024;
    std::vector<Entry> entries;
    while (const uint64_t count = std::min(kEntriesAtOnce, (size - segment.read) / sizeof(Entry))) {
      entries.resize(count);
      const std::span<std::byte> bytes = std::as_writable_bytes(std::span(entries));
      if (!read_exactly(file, segment.read, bytes).ok()) return;
      segment.read += bytes.size();
      for (const Entry& entry : entries) {
        const bool is_there = entry.offset <= data_size && entry.length <= data_size - entry.offset;
        if (entry.self == checksum_of(entry) && is_there) add(entry, segment.number);
      }
    }
  }

  const std::string &folder_, &key_;
  SegmentFiles& files_;
  std::unordered_map<std::string, Segment> segments_;
};

// Two mutexes. `writing_` is held while writing elements or reading those of other processes; `mutex_` only
// briefly, to access the tables. Order: writing_, then mutex_.
class DiskCache final : public ElementCache {
 public:
  DiskCache(std::string folder, std::string key, DiskCacheRoom room)
      : folder_(std::move(folder)), key_(std::move(key)), room_(room) {}
  ~DiskCache() override { write_out(Turn::waited_for, kLastPatience); }

  Status open() {
    if (!exists(folder_)) {
      const Status made = make_folder(folder_);
      if (!made.ok() && !exists(folder_)) return made;  // otherwise another process was first
    }
    HEADRACE_TRY(file_store()->entries(folder_).status());
    refresh();
    return {};
  }

  bool has(const CacheKey& key) override {
    if (is_known(key)) return true;
    look_for_others();
    return is_known(key);
  }

  Status put(const CacheKey& key, std::span<const Tensor> fields) override {
    if (is_crowded()) write_out(Turn::waited_for);
    if (!has_room_for(key)) return {};
    const auto packed = std::make_shared<const std::vector<std::byte>>(pack_fields(fields));
    if (packed->size() > ~uint32_t{0}) return {};
    bool is_due = false;
    {
      std::lock_guard lock(mutex_);
      if (has_given_up_) return {};
      const bool is_first = waiting_.try_emplace(key, Waiting{packed}).second;
      if (is_first) waiting_bytes_ += packed->size() + kWaitingBytes;
      is_due = is_first && (waiting_bytes_ >= kMostUnwritten ||
                            std::chrono::steady_clock::now() - written_at_ >= kLongestUnwritten);
    }
    // Threads that could not write continue; the writing thread also writes what they left in the meantime.
    while (is_due) is_due = write_out() && is_much_waiting();
    return {};
  }

  size_t size() override {
    std::lock_guard lock(mutex_);
    return places_.size() + waiting_.size();
  }
  uint64_t bytes() override {
    std::lock_guard lock(mutex_);
    return bytes_ + waiting_bytes_;
  }
  std::string trouble() override {
    std::lock_guard lock(mutex_);
    return trouble_;
  }
  void reclaim() override {
    std::lock_guard lock(mutex_);
    has_given_up_ = true;
    waiting_.clear(), waiting_bytes_ = 0;
    places_ = {}, bytes_ = 0;
  }

 private:
  struct Waiting {
    std::shared_ptr<const std::vector<std::byte>> packed;
    std::span<const std::byte> bytes() const { return *packed; }
    BufferPtr block() const { return std::make_shared<BorrowedBuffer>(bytes(), packed); }
  };
  using Elements = std::unordered_map<CacheKey, Waiting, CacheKeyHash>;

  // Too much waits because another thread or process has not finished writing.
  bool is_crowded() {
    std::lock_guard lock(mutex_);
    return waiting_bytes_ > room_.waiting;
  }
  bool is_much_waiting() {
    std::lock_guard lock(mutex_);
    return waiting_bytes_ >= kMostUnwritten;
  }
  bool has_room_for(const CacheKey& key) {
    std::lock_guard lock(mutex_);
    if (has_given_up_ || !trouble_.empty() || places_.contains(key) || waiting_.contains(key)) return false;
    return waiting_bytes_ <= room_.waiting && places_.size() + waiting_.size() < room_.places;
  }

  bool is_known(const CacheKey& key) {
    std::lock_guard lock(mutex_);
    return places_.contains(key) || waiting_.contains(key);
  }

  Result<bool> find(const CacheKey& key, std::vector<Tensor>& fields, Pool* pool) override {
    EntryPlace place;
    Waiting waiting;
    {
      std::lock_guard lock(mutex_);
      if (const auto it = waiting_.find(key); it != waiting_.end())
        waiting = it->second;
      else if (const auto found = places_.find(key); found != places_.end())
        place = found->second;
      else
        return false;
    }
    if (waiting.packed) {
      write_out();  // it is needed again: an epoch has passed
      return unpack_fields(waiting.block(), fields).ok();
    }
    const MutableBufferPtr block =
        pool ? pool->take(place.length, Use::encoded) : HeapBuffer::make(place.length);
    if (!block)
      return Status(Code::exhausted, "cache: an element needs " + std::to_string(place.length) +
                                         " bytes, but the memory budget has no room");
    const auto file = files_.of(place.segment);
    if (file.ok() && read_exactly(**file, place.offset, {block->mutable_data(), place.length}).ok() &&
        crc32c(block->bytes()) == place.checksum && unpack_fields(block, fields).ok())
      return true;
    std::lock_guard lock(mutex_);
    if (places_.erase(key) > 0) bytes_ -= place.length;
    return false;
  }

  // Reads elements of other processes now and then: a miss costs more than a look, but not many times more.
  void look_for_others() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    auto last = looked_at_.load(std::memory_order_relaxed);
    if (now - last < std::chrono::nanoseconds(kBetweenLooks).count()) return;
    if (!looked_at_.compare_exchange_strong(last, now, std::memory_order_relaxed)) return;
    std::lock_guard lock(writing_);
    refresh();
  }

  // REQUIRES: writing_ is held, or the object is not shared yet.
  void refresh() {
    others_.refresh(stem_, [&](const Entry& entry, uint32_t segment) {
      std::lock_guard lock(mutex_);
      keep(entry, segment);
    });
  }

  // REQUIRES: mutex_ is held.
  void keep(const Entry& entry, uint32_t segment) {
    if (has_given_up_ || (places_.size() >= room_.places && !places_.contains(entry.key))) return;
    const auto [it, is_new] = places_.try_emplace(entry.key);
    if (!is_new) bytes_ -= it->second.length;
    it->second = {segment, entry.length, entry.offset, entry.checksum};
    bytes_ += entry.length;
  }

  // The right to write, which one process at a time has; null when another one holds it for longer than
  // `patience`.
  std::unique_ptr<FileLock> alone(std::chrono::milliseconds patience, bool& is_free) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (true) {
      auto lock = FileLock::take(folder_ + "/" + key_ + std::string(kCacheLock));
      is_free = !lock.ok() || *lock;  // without locks each process still writes its own files
      if (is_free) return lock.ok() ? *std::move(lock) : nullptr;
      if (std::chrono::steady_clock::now() >= until) return nullptr;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  // Writes the waiting elements that no other process has written: one process at a time writes, after
  // reading what the others wrote. While another process writes, elements stay waiting and workers do not
  // block; with Turn::waited_for, it waits for another thread of this process. Returns whether it wrote
  // without an error.
  enum class Turn : uint8_t { now_or_not, waited_for };
  bool write_out(Turn turn = Turn::now_or_not,
                 std::chrono::milliseconds patience = std::chrono::milliseconds(0)) {
    std::unique_lock writing(writing_, std::defer_lock);
    if (turn == Turn::waited_for)
      writing.lock();
    else if (!writing.try_lock())
      return false;
    const bool is_early = std::chrono::steady_clock::now() < tries_again_at_;
    if ((is_early && patience.count() == 0) || !has_waiting()) return false;
    std::vector<Entry> entries;
    Elements elements;
    Status status;
    {
      bool is_free = false;
      const auto file_lock = alone(patience, is_free);
      tries_again_at_ = std::chrono::steady_clock::now() + kBetweenTries;
      if (!is_free) return false;
      tries_again_at_ = {};
      refresh();
      elements = take_waiting();
      status = append(elements, entries);
    }
    std::lock_guard lock(mutex_);
    for (const Entry& entry : entries) keep(entry, own_);
    for (const auto& [key, waiting] : elements)
      if (waiting_.erase(key) > 0) waiting_bytes_ -= waiting.bytes().size() + kWaitingBytes;
    if (status.ok()) return true;
    waiting_.clear(), waiting_bytes_ = 0;  // added in the meantime
    trouble_ = std::string(status.text()) + "; no more elements are cached in " + in_quotes(folder_);
    return false;
  }

  bool has_waiting() {
    std::lock_guard lock(mutex_);
    return trouble_.empty() && !waiting_.empty();
  }
  Elements take_waiting() {
    std::lock_guard lock(mutex_);
    written_at_ = std::chrono::steady_clock::now();
    return waiting_;  // they are found here until they are in the files
  }

  // Writes elements before their index entries.
  Status append(const Elements& elements, std::vector<Entry>& entries) {
    if (!data_) {
      const auto now = std::chrono::system_clock::now().time_since_epoch().count();
      stem_ = key_ + "-" + std::to_string(::getpid()) + "-" + std::to_string(now);
      const std::string path = folder_ + "/" + stem_;
      HEADRACE_ASSIGN(auto data, AppendedFile::make(path + std::string(kCacheData)));
      HEADRACE_ASSIGN(auto index, AppendedFile::make(path + std::string(kCacheIndex)));
      own_ = files_.add(path + std::string(kCacheData));
      data_ = std::move(data), index_ = std::move(index);  // both or neither
    }
    std::vector<Entry> made;
    for (const auto& [key, waiting] : elements) {
      if (is_written(key)) continue;
      Entry entry{key, data_->size(), static_cast<uint32_t>(waiting.bytes().size()), crc32c(waiting.bytes())};
      entry.self = checksum_of(entry);
      HEADRACE_TRY(data_->append(waiting.bytes()));
      made.push_back(entry);
    }
    HEADRACE_TRY(data_->flush());
    entries = std::move(made);  // they can be read from now on, even if the index fails
    HEADRACE_TRY(index_->append(std::as_bytes(std::span(entries))));
    return index_->flush();
  }

  bool is_written(const CacheKey& key) {
    std::lock_guard lock(mutex_);
    return places_.contains(key);
  }

  const std::string folder_, key_;
  const DiskCacheRoom room_;
  SegmentFiles files_;
  std::mutex writing_;  // guards the next members
  Others others_{folder_, key_, files_};
  std::string stem_;  // of this process's segment, without an extension
  std::unique_ptr<AppendedFile> data_, index_;
  uint32_t own_ = 0;  // number of that segment
  std::chrono::steady_clock::time_point tries_again_at_{};
  std::mutex mutex_;  // guards the next members
  std::unordered_map<CacheKey, EntryPlace, CacheKeyHash> places_;
  Elements waiting_;
  uint64_t bytes_ = 0, waiting_bytes_ = 0;
  std::chrono::steady_clock::time_point written_at_ = std::chrono::steady_clock::now();
  std::string trouble_;
  bool has_given_up_ = false;
  std::atomic<int64_t> looked_at_ = 0;
};

}  // namespace

Result<std::shared_ptr<ElementCache>> disk_cache(const std::string& folder, const std::string& key,
                                                 const DiskCacheRoom& room) {
  auto out = std::make_shared<DiskCache>(folder, key, room);
  HEADRACE_TRY(out->open());
  return std::shared_ptr<ElementCache>(std::move(out));
}

std::string data_key(const Source& source) {
  constexpr uint64_t kTogether = 4096;
  constexpr size_t kThreads = 16;  // on slow file systems, stat calls wait in parallel
  const uint64_t pieces = (source.num_files() + kTogether - 1) / kTogether;
  std::vector<std::string> hashes(pieces);
  parallel_for(pieces, std::min<uint64_t>(pieces, kThreads), [&](size_t, uint64_t piece) {
    std::string text;
    for (uint64_t i = piece * kTogether; i < std::min(source.num_files(), (piece + 1) * kTogether); ++i) {
      const std::string path = source.file(i);
      std::error_code error;
      text += std::filesystem::absolute(path, error).string();
      if (const auto info = file_store()->info(path); info.ok())
        text += ' ' + std::to_string(info->size) + ' ' + std::to_string(info->mtime_ns) + ' ' +
                std::to_string(info->changed_ns);
      text += '\n';
    }
    hashes[piece] = hash_text(text);
    return true;
  });
  std::string all;
  for (const std::string& hash : hashes) all += hash;
  return hash_text(all);
}

}  // namespace headrace
