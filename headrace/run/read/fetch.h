// Brings blocks from a Store: drives a source's Opening, reads the extents it asks for, keeps what several
// rows share.
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
  // With a flag, reads under way end soon after it is raised.
  Fetcher(std::shared_ptr<Store> store, std::shared_ptr<Pool> pool,
          std::shared_ptr<const StopFlag> stop = nullptr)
      : store_(std::move(store)), pool_(std::move(pool)), stop_(std::move(stop)), maps_(pool_->budget()) {}

  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // The block, from what is kept or from the store. `exhausted` when the budget has no room for its bytes
  // now. With `seen`, large bytes may be those of mapped files, and are added to it: whether they were the
  // file's is known only after they were looked at.
  Result<BlockPtr> block(const Source& source, uint64_t block, Counters& counters,
                         std::vector<Mapped>* seen = nullptr);
  // Small samples may be copied out of mapped files. Before the first of them.
  void allow_copies_of_maps() { copies_maps_ = true; }
  // Samples in one buffer and one block, row i of which is sample indices[i]; neighbours are one read.
  // REQUIRES: `extents` are what the source said of them.
  Result<BlockPtr> together(const Source& source, std::span<const uint64_t> indices,
                            std::span<const Extent> extents, Counters& counters) {
    return together(source, indices, extents, copies_maps_, counters);
  }

  // The first of these samples, as many as can be copied out of mapped files, each from where it lies; row i
  // of the block is sample indices[i]. Null where the first cannot be, or the budget has no room.
  struct Copied {
    BlockPtr block;
    size_t rows = 0;
  };
  Copied copied(const Source& source, std::span<const uint64_t> indices, std::span<const Extent> extents,
                Counters& counters);

  // Samples put where they go straight out of mapped files, where their source offers that: how many, from
  // the first on. Large values may stay in the map where the caller says so. Nothing: a file was cut short
  // meanwhile, and what was put may be zeros.
  enum class Large : uint8_t { are_copied, may_stay };
  std::optional<size_t> put_mapped(const Source& source, std::span<const uint64_t> indices,
                                   std::span<const Extent> extents, std::span<const FieldPlace> to,
                                   Large large, Counters& counters);

  // The first of these samples, as many as calls make at once; none where their source is read.
  Result<Source::Made> made(const Source& source, std::span<const uint64_t> indices, Counters& counters);

  // So many blocks are worth keeping, in a pipeline that jumps between them.
  void keep(size_t blocks);
  // Gives up what is kept, whose memory others need; false when there was nothing.
  bool forget();

  const std::shared_ptr<Store>& store() const { return store_; }
  Pool& pool() const { return *pool_; }
  size_t budget() const { return pool_->budget(); }
  // A copy within the budget; null when it has no room now.
  BufferPtr copy(std::span<const std::byte> bytes);

  // Whether its samples come by blocks of several, as the first two do.
  static bool shares_blocks(const Source& source) {
    return !source.resident() && source.size() > 1 && source.place(0).block == source.place(1).block;
  }
  // Blocks of a source that are kept: enough for neighbours in order, few enough for the budget. Those that
  // are wanted again in no order are as many as keep() says, and have more of it.
  static constexpr size_t kNeighbours = 16;
  static constexpr size_t kAllThatFit = size_t{1} << 16;  // to know of so many takes 45 MB of the budget
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
    std::vector<Mapped> mapped;  // what of it is
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
  std::map<const Source*, size_t> num_kept_;  // of each that has any; guarded by mutex_
  // Where they are, if they are many: else to look through them is quicker. Guarded by mutex_.
  std::map<std::tuple<const Source*, uint64_t, bool>, KeptAt> kept_at_;
  size_t keeps_ = kNeighbours;                            // blocks of one source; guarded by mutex_
  bool jumps_ = false;                                    // between them, in no order; guarded by mutex_
  std::set<std::pair<const Source*, uint64_t>> dropped_;  // for want of memory; guarded by mutex_
  // Blocks that are being opened: who wants one of them, too, waits for it. Guarded by mutex_.
  std::vector<std::pair<const Source*, uint64_t>> opening_;
  std::condition_variable opened_;
  // What blocks hold that were made and for which the budget had no room: nobody makes them again to find
  // that out. Guarded by mutex_.
  std::map<std::pair<const Source*, uint64_t>, size_t> refused_;
  struct OpenedFile {
    const Source* source;
    uint64_t ordinal;
    std::shared_ptr<OpenFile> file;
  };
  std::list<OpenedFile> files_;  // newest first; guarded by mutex_
  bool copies_maps_ = false;
  Maps maps_;
  std::atomic<uint64_t> looks_ = 0;
};

}  // namespace headrace
