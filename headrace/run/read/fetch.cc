#include "headrace/run/read/fetch.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "headrace/core/stop_flag.h"
#include "headrace/formats/index/unchanged.h"
#include "headrace/io/file_map.h"

namespace headrace {
namespace {

constexpr size_t kMostRefused = 256;     // remembered blocks that did not fit the budget
constexpr uint64_t kLittle = 256 << 10;  // bytes: reads up to this size do not check the file size first
constexpr size_t kOpenFiles = 256;       // of sources with fewer files than samples
constexpr size_t kReadPiece = size_t{8} << 20;  // read between two checks of the flag: some 10 ms of a disk
constexpr int kMostDropped = 8;                 // blocks dropped to make room for a larger one
constexpr uint64_t kAskEach = 32;  // one in this many accesses checks whether pages are still cached

// At least one file per sample: descriptors are not worth keeping, nor are blocks, unless samples share them.
bool file_per_sample(const Source& source) { return source.num_files() >= source.size(); }
bool keeps_blocks(const Source& source) { return !file_per_sample(source) || Fetcher::shares_blocks(source); }

// Waits a while for another thread that opens something. False when the run was stopped.
bool wait(std::condition_variable& opened, std::unique_lock<std::mutex>& lock, const StopFlag* stop) {
  constexpr auto kAskEvery = std::chrono::milliseconds(50);
  if (stop && stop->raised()) return false;
  opened.wait_for(lock, kAskEvery);
  return true;
}

}  // namespace

Result<BlockPtr> Fetcher::block(const Source& source, uint64_t block, Counters& counters,
                                std::vector<Mapped>* seen) {
  // A source without files may give another result each time: a user's __getitem__ may draw random numbers.
  const bool keep = source.resident() || (source.num_files() > 0 && keeps_blocks(source));
  if (!keep) return open(source, block, counters, nullptr);
  const std::pair<const Source*, uint64_t> key(&source, block);
  struct Opened {  // runs on every exit
    Fetcher& fetcher;
    const std::pair<const Source*, uint64_t>& key;
    ~Opened() {
      {
        std::lock_guard lock(fetcher.mutex_);
        fetcher.opening_.erase(std::ranges::find(fetcher.opening_, key));
      }
      fetcher.opened_.notify_all();
    }
  };
  {
    std::unique_lock lock(mutex_);
    // Several threads need a block of many rows at once if they read in order. A thread waits only for one
    // that does not wait itself.
    while (true) {
      if (BlockPtr kept = find_kept(source, block, seen)) return kept;
      if (std::ranges::find(opening_, key) == opening_.end()) break;
      if (!wait(opened_, lock, stop_.get())) return stopped();
    }
    opening_.push_back(key);
  }
  const Opened at_the_end{*this, key};
  return open_and_keep(source, block, counters, seen);
}

Result<BlockPtr> Fetcher::open_and_keep(const Source& source, uint64_t block, Counters& counters,
                                        std::vector<Mapped>* seen) {
  const size_t before = seen ? seen->size() : 0;
  auto opened = open(source, block, counters, seen);
  if (opened.status().code() == Code::exhausted && forget()) opened = open(source, block, counters, seen);
  if (!opened.ok()) return opened;
  std::vector<Mapped> mapped;
  if (seen) mapped.assign(seen->begin() + static_cast<std::ptrdiff_t>(before), seen->end());
  std::lock_guard lock(mutex_);
  if (dropped_.erase({&source, block}) > 0) counters.opened_again.add(1);
  add_kept({&source, block, *opened, std::move(mapped)});
  const auto is_full = [&] { return pool_->in_use(Use::encoded) > most_kept(pool_->budget(), jumps_); };
  if (kept_.size() > keeps_) drop_one_kept(false);
  for (int i = 0; i < kMostDropped && is_full(); ++i) drop_one_kept(jumps_);
  return opened;
}

BufferPtr Fetcher::copy(std::span<const std::byte> bytes) {
  const MutableBufferPtr made = pool_->take(bytes.size(), Use::encoded);
  if (made && !bytes.empty()) std::memcpy(made->mutable_data(), bytes.data(), bytes.size());
  return made;
}

// Charges bytes to the budget during its lifetime.
class Fetcher::Charge {
 public:
  explicit Charge(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}
  ~Charge() {
    if (bytes_ > 0) pool_->uncharge(bytes_, Use::encoded);
  }
  Charge(Charge&& other) noexcept : pool_(std::move(other.pool_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&&) = delete;
  // Changes the number of bytes. False, without a change, when there is no room.
  bool set(size_t bytes) {
    if (bytes > bytes_ && !pool_->charge(bytes - bytes_, Use::encoded)) return false;
    if (bytes < bytes_) pool_->uncharge(bytes_ - bytes, Use::encoded);
    bytes_ = bytes;
    return true;
  }

 private:
  std::shared_ptr<Pool> pool_;
  size_t bytes_ = 0;
};

size_t Fetcher::refused_bytes(const Source& source, uint64_t block) {
  std::lock_guard lock(mutex_);
  const auto known = refused_.find({&source, block});
  return known == refused_.end() ? 0 : known->second;
}

void Fetcher::note_refused(const Source& source, uint64_t block, size_t bytes) {
  std::lock_guard lock(mutex_);
  if (refused_.size() >= kMostRefused) refused_.clear();  // they will be made once more
  refused_[{&source, block}] = bytes;
}

// The block, with the memory it holds beyond its buffers charged to the budget during its lifetime.
Result<BlockPtr> Fetcher::charged(const Source& source, uint64_t number, BlockPtr block, Charge charge) {
  const size_t size = block->held_bytes();
  if (!charge.set(size)) {
    note_refused(source, number, size);
    return over_budget(size, *pool_, "sample");
  }
  if (size == 0) return block;
  const Block* value = block.get();
  return BlockPtr(value, [block = std::move(block),
                          charge = std::make_shared<Charge>(std::move(charge))](const Block*) mutable {
    block.reset();
    charge.reset();
  });
}

Result<Source::Made> Fetcher::made(const Source& source, std::span<const uint64_t> indices,
                                   Counters& counters) {
  if (stop_ && stop_->raised()) return stopped();
  Charge charge(pool_);
  if (const size_t known = refused_bytes(source, indices[0]); !charge.set(known))
    return over_budget(known, *pool_, "sample");
  const uint64_t begin = now_ns(), cpu_begin = thread_cpu_ns();
  Source::Made out = source.make(indices);
  if (out.rows == 0) return out;
  counters.reading_python_ns.add(thread_cpu_ns() - cpu_begin);
  counters.io_ns.add(now_ns() - begin);
  counters.io_reads.add(out.rows);
  counters.io_bytes.add(out.block->held_bytes());
  // If several samples do not fit, try one of them.
  if (out.rows > 1 && !charge.set(out.block->held_bytes())) return made(source, indices.first(1), counters);
  HEADRACE_ASSIGN(out.block, charged(source, indices[0], std::move(out.block), std::move(charge)));
  return out;
}

Result<BlockPtr> Fetcher::open(const Source& source, uint64_t block, Counters& counters,
                               std::vector<Mapped>* seen) {
  Charge charge(pool_);
  if (const size_t known = refused_bytes(source, block); !charge.set(known))
    return over_budget(known, *pool_, "sample");
  const auto opening = source.open(block);
  std::vector<BufferPtr> bytes;
  while (true) {
    HEADRACE_ASSIGN(auto step, opening->advance(bytes));
    if (auto* value = std::get_if<BlockPtr>(&step))
      return charged(source, block, std::move(*value), std::move(charge));
    bytes.clear();
    for (const Extent& extent : std::get<std::vector<Extent>>(step)) {
      HEADRACE_ASSIGN(BufferPtr buffer, read(source, extent, counters, seen));
      bytes.push_back(std::move(buffer));
    }
  }
}

// Opens a file for all who want it, and lets them go on however that ends.
class Fetcher::FileOpener {
 public:
  FileOpener(Fetcher& fetcher, const std::pair<const Source*, uint64_t>& key,
             std::shared_ptr<OpeningFile> opening)
      : fetcher_(fetcher), key_(key), opening_(std::move(opening)) {}
  FileOpener(FileOpener&&) = delete;
  FileOpener& operator=(FileOpener&&) = delete;
  ~FileOpener() {
    {
      const std::lock_guard lock(fetcher_.mutex_);
      opening_->is_over = true;
      fetcher_.opening_files_.erase(key_);
    }
    fetcher_.opened_.notify_all();
  }

  Result<std::shared_ptr<OpenFile>> open() {
    const auto& [source, ordinal] = key_;
    auto opened = open_unchanged(*fetcher_.store_, *source, ordinal);
    Result<std::shared_ptr<OpenFile>> out =
        opened.ok() ? Result<std::shared_ptr<OpenFile>>(std::shared_ptr<OpenFile>(*std::move(opened)))
                    : opened.status();
    const std::lock_guard lock(fetcher_.mutex_);
    opening_->outcome = out;
    if (!out.ok()) return out;
    fetcher_.files_.push_front({source, ordinal, *out});
    if (fetcher_.files_.size() > kOpenFiles) fetcher_.files_.pop_back();
    return out;
  }

 private:
  Fetcher& fetcher_;
  const std::pair<const Source*, uint64_t> key_;
  const std::shared_ptr<OpeningFile> opening_;
};

Result<std::shared_ptr<OpenFile>> Fetcher::file(const Source& source, uint64_t ordinal) {
  if (file_per_sample(source)) {
    HEADRACE_ASSIGN(std::unique_ptr<OpenFile> opened, open_unchanged(*store_, source, ordinal));
    return std::shared_ptr<OpenFile>(std::move(opened));
  }
  std::unique_lock lock(mutex_);
  const auto is_it = [&](const OpenedFile& one) { return one.source == &source && one.ordinal == ordinal; };
  const std::pair<const Source*, uint64_t> key(&source, ordinal);
  while (true) {
    if (const auto it = std::ranges::find_if(files_, is_it); it != files_.end()) {
      files_.splice(files_.begin(), files_, it);
      return files_.front().file;
    }
    const auto others = opening_files_.find(key);
    if (others == opening_files_.end()) break;
    // Readers that want the same file at once open it once, and get the same error.
    const std::shared_ptr<OpeningFile> opening = others->second;
    while (!opening->is_over)
      if (!wait(opened_, lock, stop_.get())) return stopped();
    if (opening->outcome) return *opening->outcome;
  }
  auto opening = std::make_shared<OpeningFile>();
  opening_files_.emplace(key, opening);
  lock.unlock();
  return FileOpener(*this, key, std::move(opening)).open();
}

// The map to access an extent of kMappable's lengths; null if reading it is better.
std::shared_ptr<const FileMap> Fetcher::map_of_large(const std::shared_ptr<OpenFile>& file,
                                                     const Extent& extent) {
  std::shared_ptr<const FileMap> map = maps_.of(file);
  if (!map || !map->covers(extent.offset, extent.length)) return nullptr;
  const bool is_touched = map->is_touched(extent.offset, extent.length);
  // Data not in the page cache is read: so the kernel sees the order and reads ahead.
  const bool asks = !is_touched || looks_.fetch_add(1, std::memory_order_relaxed) % kAskEach == 0;
  if (asks && !file->is_cached(extent.offset + extent.length / 2)) {
    if (is_touched) map->drop_pages();  // the kernel has evicted pages
    return nullptr;
  }
  if (!is_touched) map->touch(extent.offset, extent.length);
  return map;
}

// The bytes in a map, or null if reading them is better.
Result<BufferPtr> Fetcher::look(const std::shared_ptr<OpenFile>& file, const Extent& extent,
                                std::vector<Mapped>& seen) {
  if (!extent.mappable || !kMappable.has(extent.length)) return BufferPtr();
  const std::shared_ptr<const FileMap> map = map_of_large(file, extent);
  if (!map) return BufferPtr();
  BufferPtr buffer = pool_->lend(map->bytes(extent.offset, extent.length), extent.length, map, Use::encoded);
  if (!buffer) return over_budget(extent.length, *pool_, "sample");
  seen.push_back({map, extent.offset, extent.length});
  return buffer;
}

Result<BufferPtr> Fetcher::read(const Source& source, const Extent& extent, Counters& counters,
                                std::vector<Mapped>* seen) {
  const uint64_t begin = now_ns();
  HEADRACE_ASSIGN(const std::shared_ptr<OpenFile> opened, file(source, extent.file));
  if (stop_ && stop_->raised()) return stopped();
  if (seen) {
    HEADRACE_ASSIGN(BufferPtr looked, look(opened, extent, *seen));
    if (looked) {
      counters.io_reads.add(1);
      counters.io_bytes.add(looked->size());
      counters.io_ns.add(now_ns() - begin);
      return looked;
    }
  }
  // For small extents the read itself detects the end of the file, which saves querying its size for each
  // record.
  const bool little = extent.length <= kLittle && extent.offset != kAtEnd;
  uint64_t size = 0, offset = extent.offset;
  if (!little) {
    if (const SourceFile* known = source.known_file(extent.file)) {
      size = known->size;  // all bounds are checked against it
    } else {
      HEADRACE_ASSIGN(size, opened->size());
    }
    offset = extent.begin_in(size);
  }
  if (!little && (offset > size || (extent.length != kToEnd && extent.length > size - offset)))
    return corrupt("expected " + std::to_string(extent.length) + " bytes " +
                   (extent.offset == kAtEnd ? "at the end" : "at " + std::to_string(offset)) +
                   ", but the file has " + std::to_string(size));
  const uint64_t length = extent.length == kToEnd ? size - offset : extent.length;
  if (extent.length == kToEnd && length > kReadLimit)  // also what a few bytes of an archive unpack to
    return Status(Code::exhausted,
                  {.expected = "files of at most " + std::to_string(kReadLimit) + " bytes in one piece",
                   .got = std::to_string(length)});
  MutableBufferPtr buffer = pool_->take(length, Use::encoded);
  if (!buffer) return over_budget(length, *pool_, "sample");
  HEADRACE_TRY(read_into(*opened, offset, {buffer->mutable_data(), length}, counters));
  counters.io_ns.add(now_ns() - begin);
  return BufferPtr(std::move(buffer));
}

Status Fetcher::read_into(OpenFile& file, uint64_t offset, std::span<std::byte> out, Counters& counters) {
  for (size_t done = 0; done < out.size(); done += kReadPiece) {
    if (stop_ && stop_->raised()) return stopped();
    HEADRACE_TRY(
        read_exactly(file, offset + done, out.subspan(done, std::min(kReadPiece, out.size() - done))));
  }
  counters.io_reads.add(1);
  counters.io_bytes.add(out.size());
  return {};
}

}  // namespace headrace
