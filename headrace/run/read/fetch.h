// Reads blocks from a Store: drives a source's Opening, reads the extents it requests, caches blocks that
// several rows share.
//
// All methods may be called from several threads at once.
#pragma once
#include <atomic>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "headrace/core/pool.h"
#include "headrace/formats/source.h"
#include "headrace/io/store.h"
#include "headrace/run/measure/counters.h"
#include "headrace/run/read/maps.h"

namespace headrace {

class Fetcher {
 public:
  // With a flag, running reads end soon after it is raised.
  Fetcher(std::shared_ptr<Store> store, std::shared_ptr<Pool> pool,
          std::shared_ptr<const StopFlag> stop = nullptr)
      : store_(std::move(store)), pool_(std::move(pool)), stop_(std::move(stop)), maps_(pool_->budget()) {}

  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // The block, from the cache or from the store. `exhausted` when the budget has no room for its bytes now.
  // With `seen`, large bytes may be in mapped files, and are added to it: whether they were intact is known
  // only after they were used.
  Result<BlockPtr> block(const Source& source, uint64_t block, Counters& counters,
                         std::vector<Mapped>* seen = nullptr);
  // Small samples may be copied out of mapped files. Call before the first read.
  void allow_copies_of_maps() { copies_maps_ = true; }
  // Samples in one buffer and one block, row i of which is sample indices[i]; neighbors are one read.
  // REQUIRES: `extents` are those given by the source.
  Result<BlockPtr> together(const Source& source, std::span<const uint64_t> indices,
                            std::span<const Extent> extents, Counters& counters) {
    return together(source, indices, extents, copies_maps_, counters);
  }

  // As many of the first samples as can be copied out of mapped files; row i of the block is sample
  // indices[i]. Null if the first one cannot, or the budget has no room.
  struct Copied {
    BlockPtr block;
    size_t rows = 0;
  };
  Copied copied(const Source& source, std::span<const uint64_t> indices, std::span<const Extent> extents,
                Counters& counters);

  // Copies samples from mapped files directly to their destination, if their source supports that: returns
  // how many, from the first on. Large values may stay in the map if the caller permits. Empty: a file was
  // truncated in the meantime, and the copied bytes may be zeros.
  enum class Large : uint8_t { are_copied, may_stay };
  std::optional<size_t> put_mapped(const Source& source, std::span<const uint64_t> indices,
                                   std::span<const Extent> extents, std::span<const FieldPlace> to,
                                   Large large, Counters& counters);

  // As many of the first samples as one call of the source makes; none if the source is read from a store.
  Result<Source::Made> made(const Source& source, std::span<const uint64_t> indices, Counters& counters);

  // Caches up to `blocks` blocks, for a pipeline that jumps between them.
  void keep(size_t blocks);
  // Drops cached blocks because their memory is needed; false if there were none.
  bool forget();

  const std::shared_ptr<Store>& store() const { return store_; }
  Pool& pool() const { return *pool_; }
  size_t budget() const { return pool_->budget(); }
  // A copy within the budget; null when it has no room now.
  BufferPtr copy(std::span<const std::byte> bytes);

  // Whether samples share blocks, judged by the first two.
  static bool shares_blocks(const Source& source) {
    return !source.resident() && source.size() > 1 && source.place(0).block == source.place(1).block;
  }
  // Cached blocks of a source: enough for reading in order, few enough for the budget. For random access the
  // number is set by keep(), with a larger share of the budget.
  static constexpr size_t kNeighbours = 16;
  static constexpr size_t kAllThatFit = size_t{1} << 16;  // an index of this many takes 45 MB of the budget
  static size_t most_kept(size_t budget, bool in_no_order) { return budget / (in_no_order ? 2 : 4); }

 private:
  Result<BlockPtr> together(const Source& source, std::span<const uint64_t> indices,
                            std::span<const Extent> extents, bool maps, Counters& counters);
  Status read_into(OpenFile& file, uint64_t offset, std::span<std::byte> out, Counters& counters);
  void drop_one_kept(bool is_wanted);  // REQUIRES: mutex_ is held
  class Charge;
  Result<BlockPtr> charged(const Source& source, uint64_t number, BlockPtr block, Charge charge);
  size_t refused_bytes(const Source& source, uint64_t block);
  void note_refused(const Source& source, uint64_t block, size_t bytes);
  Result<BlockPtr> open(const Source& source, uint64_t block, Counters& counters, std::vector<Mapped>* seen);
  Result<BlockPtr> open_and_keep(const Source& source, uint64_t block, Counters& counters,
                                 std::vector<Mapped>* seen);
  BlockPtr find_kept(const Source& source, uint64_t block,
                     std::vector<Mapped>* seen);  // REQUIRES: mutex_ is held
  Result<BufferPtr> read(const Source& source, const Extent& extent, Counters& counters,
                         std::vector<Mapped>* seen);
  class Copies;
  class MappedOnes;
  Result<BufferPtr> look(const std::shared_ptr<OpenFile>& file, const Extent& extent,
                         std::vector<Mapped>& seen);
  std::shared_ptr<const FileMap> map_of_large(const std::shared_ptr<OpenFile>& file, const Extent& extent);
  Result<std::shared_ptr<OpenFile>> file(const Source& source, uint64_t ordinal);

  struct Kept {
    const Source* source;
    uint64_t block;
    BlockPtr value;
    std::vector<Mapped> mapped;  // its mapped bytes
  };
  std::shared_ptr<Store> store_;
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<const StopFlag> stop_;
  std::mutex mutex_;
  using KeptAt = std::list<Kept>::iterator;
  // REQUIRES of all three: mutex_ is held.
  KeptAt where_kept(const Source& source, uint64_t block, bool mapped);
  void add_kept(Kept kept);
  void drop_kept(KeptAt at);
  void note_dropped(const Kept& one);
  std::list<Kept> kept_;                      // newest first; guarded by mutex_
  std::map<const Source*, size_t> num_kept_;  // by source; guarded by mutex_
  // Index of cached blocks if there are many; with few a linear search is faster. Guarded by mutex_.
  std::map<std::tuple<const Source*, uint64_t, bool>, KeptAt> kept_at_;
  size_t keeps_ = kNeighbours;                            // blocks of one source; guarded by mutex_
  bool jumps_ = false;                                    // access is random; guarded by mutex_
  std::set<std::pair<const Source*, uint64_t>> dropped_;  // for lack of memory; guarded by mutex_
  // Blocks that are being opened: other threads that need them wait. Guarded by mutex_.
  std::vector<std::pair<const Source*, uint64_t>> opening_;
  std::condition_variable opened_;
  // Sizes of blocks that did not fit the budget, so that they are not made again to find that out. Guarded by
  // mutex_.
  std::map<std::pair<const Source*, uint64_t>, size_t> refused_;
  struct OpenedFile {
    const Source* source;
    uint64_t ordinal;
    std::shared_ptr<OpenFile> file;
  };
  std::list<OpenedFile> files_;  // newest first; guarded by mutex_
  struct OpeningFile {
    bool is_over = false;
    std::optional<Result<std::shared_ptr<OpenFile>>> outcome;  // none: its opener gave up, by an exception
  };
  class FileOpener;
  std::map<std::pair<const Source*, uint64_t>, std::shared_ptr<OpeningFile>>
      opening_files_;  // guarded by mutex_
  bool copies_maps_ = false;
  Maps maps_;
  std::atomic<uint64_t> looks_ = 0;
};

}  // namespace headrace
