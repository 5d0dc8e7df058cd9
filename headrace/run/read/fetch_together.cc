// How a Fetcher reads many samples at once: neighbors with one read, small ones copied out of maps, large
// ones left in maps.
#include <algorithm>
#include <cstring>
#include <map>

#include "headrace/io/file_map.h"
#include "headrace/run/evaluate/copied_rows.h"
#include "headrace/run/read/fetch.h"

namespace headrace {
namespace {

constexpr size_t kAhead = 8;            // extents to prefetch into the CPU cache
constexpr size_t kAlign = 64;           // alignment of each read, as in a buffer of its own
constexpr uint64_t kFewBytes = 256;     // maximum bytes of a sample that is in several extents
constexpr uint64_t kMostBetween = 512;  // gap between neighbors that is cheaper to read than to skip

// One read and its destination.
struct Stretch {
  Extent extent;
  size_t at = 0;
};

// Samples that are adjacent, or at the same place, become one stretch; stretches are laid out one after the
// other. at[i]: where extents[i] then begins.
std::vector<Stretch> stretches_of(std::span<const Extent> extents, std::vector<size_t>& at) {
  std::vector<Stretch> out;
  at.reserve(extents.size());
  size_t size = 0;
  for (const Extent& extent : extents) {
    const bool follows = !out.empty() && out.back().extent.file == extent.file &&
                         extent.offset >= out.back().extent.offset &&
                         extent.offset <= out.back().extent.offset + out.back().extent.length + kMostBetween;
    if (!follows) out.push_back({extent, (size + kAlign - 1) / kAlign * kAlign});
    Stretch& last = out.back();
    const uint64_t from = extent.offset - last.extent.offset;
    last.extent.length = std::max(last.extent.length, from + extent.length);
    at.push_back(last.at + from);
    size = last.at + last.extent.length;
  }
  return out;
}

}  // namespace

// Copies out of maps: a tenth of the cost of a read, if extents are short and their pages are in memory.
class Fetcher::Copies {
 public:
  explicit Copies(Maps& maps) : maps_(maps) {}

  void open(const std::shared_ptr<OpenFile>& file) {
    file_ = file.get();
    map_ = maps_.beside(file);
    if (map_) held_.push_back(map_);
  }
  // Prefetches the first bytes of an extent that is needed soon.
  void expect(const Extent& extent) const {
    if (map_ && map_->covers(extent.offset, extent.length))
      __builtin_prefetch(map_->bytes(extent.offset, 1).data());
  }
  // Empty if the bytes should be read instead.
  std::span<const std::byte> look(const Extent& extent) {
    if (!map_ || extent.length > kMostCopied || !map_->covers(extent.offset, extent.length)) return {};
    if (!map_->is_touched(extent.offset, extent.length)) {
      if (!maps_.has_room() || !is_cached(extent)) return {};
      map_->touch(extent.offset, extent.length);
    }
    const auto bytes = map_->bytes(extent.offset, extent.length);
    note(bytes);
    return bytes;
  }
  // Notes that these bytes of a map were used.
  void note(std::span<const std::byte> bytes) { ones_.add(bytes); }
  // False if it should be read instead.
  bool copy(const Extent& extent, std::byte* to) {
    const auto bytes = look(extent);
    if (bytes.empty()) return false;
    std::memcpy(to, bytes.data(), bytes.size());
    return true;
  }
  bool are_intact() const { return ones_.are_intact(); }

 private:
  // Neighbors that are read together, including the gaps.
  static constexpr uint64_t kMostCopied = 128 << 10;
  static constexpr uint64_t kPage = 4096;  // a page, or a part of a larger one
  static constexpr uint64_t kAskedFor =
      4 * kPage;  // one check covers these: neighboring pages are mostly cached too

  bool is_cached(const Extent& extent) const {
    const uint64_t last = extent.offset + extent.length - 1;
    for (uint64_t at = extent.offset; at < last; at += kAskedFor)
      if (!file_->is_cached(at)) return false;
    return last / kPage == extent.offset / kPage || file_->is_cached(last);
  }

  Maps& maps_;
  OpenFile* file_ = nullptr;
  std::shared_ptr<const FileMap> map_;
  std::vector<std::shared_ptr<const FileMap>> held_;
  IntactOnes ones_;
};

Result<BlockPtr> Fetcher::together(const Source& source, std::span<const uint64_t> indices,
                                   std::span<const Extent> extents, bool maps, Counters& counters) {
  const uint64_t begin = now_ns();
  std::vector<size_t> at;
  const std::vector<Stretch> stretches = stretches_of(extents, at);
  const size_t size = stretches.back().at + stretches.back().extent.length;
  MutableBufferPtr buffer = pool_->take(size, Use::encoded);
  if (!buffer) return over_budget(size, *pool_, "sample");
  std::shared_ptr<OpenFile> opened;
  uint64_t ordinal = 0, copies = 0, copied = 0;
  Copies out_of_maps(maps_);
  for (size_t i = 0; i < stretches.size(); ++i) {
    const auto& [extent, to] = stretches[i];
    if (!opened || extent.file != ordinal) {
      HEADRACE_ASSIGN(opened, file(source, extent.file));
      ordinal = extent.file;
      // With many files most would be closed again before their map is useful.
      if (maps && source.num_files() <= Maps::kMostFiles) out_of_maps.open(opened);
    }
    if (i + kAhead < stretches.size() && stretches[i + kAhead].extent.file == ordinal)
      out_of_maps.expect(stretches[i + kAhead].extent);
    if (out_of_maps.copy(extent, buffer->mutable_data() + to)) {
      ++copies, copied += extent.length;
      continue;
    }
    HEADRACE_TRY(read_into(*opened, extent.offset, {buffer->mutable_data() + to, extent.length}, counters));
  }
  // A file was truncated in the meantime: read instead, for the error message.
  if (!out_of_maps.are_intact()) return together(source, indices, extents, false, counters);
  counters.io_reads.add(copies);
  counters.io_bytes.add(copied);
  counters.io_ns.add(now_ns() - begin);
  return source.together({indices.begin(), indices.end()}, std::move(at), std::move(buffer));
}

// The bytes of mapped files that a batch keeps: copies of small samples, and for large ones, if they may
// stay, the map itself, with one shared buffer for all of them.
class Fetcher::MappedOnes final : public MappedBytes {
 public:
  MappedOnes(Fetcher& fetcher, const Source& source, std::span<const Extent> extents, Large large)
      : fetcher_(fetcher), source_(source), copies_(fetcher.maps_) {
    for (const Extent& extent : extents) {
      if (large == Large::may_stay && kMappable.has(extent.length))
        large_left_[extent.file] += extent.length;
      else
        most_ += extent.length == kToEnd ? kFewBytes : extent.length;
    }
  }

  std::span<const std::byte> at(const Extent& extent) override {
    if (!opened_ || extent.file != ordinal_) {
      auto opened = fetcher_.file(source_, extent.file);
      if (!opened.ok()) return {};
      copies_.open(*opened);
      opened_ = *std::move(opened), ordinal_ = extent.file;
    }
    const auto bytes =
        !large_left_.empty() && kMappable.has(extent.length) ? look_at_large(extent) : copies_.look(extent);
    looks_ += !bytes.empty();
    return bytes;
  }
  bool are_intact() const { return copies_.are_intact(); }
  uint64_t looks() const { return looks_; }
  uint64_t bytes() const { return bytes_kept() + stayed_; }

 private:
  static constexpr size_t kPiece = 16 << 10, kMostPiece = 64 << 10;  // bytes allocated at once
  MutableBufferPtr take(size_t at_least) override {
    const size_t left = most_ - std::min(most_, bytes_kept());  // at most what remains
    auto made = fetcher_.pool_->take(std::max<size_t>(at_least, std::min(piece_, left)), Use::encoded);
    if (made) piece_ = std::min(2 * piece_, kMostPiece);
    return made ? made : fetcher_.pool_->take(at_least, Use::encoded);
  }

  struct Lent {
    std::shared_ptr<const FileMap> map;
    uint64_t size = 0;  // of what remained of its file
    BufferPtr buffer;   // set once a value stays in it
  };
  std::span<const std::byte> look_at_large(const Extent& extent) {
    std::shared_ptr<const FileMap> map = fetcher_.map_of_large(opened_, extent);
    if (!map) return {};
    const auto bytes = map->bytes(extent.offset, extent.length);
    copies_.note(bytes);
    uint64_t& left = large_left_[extent.file];
    if (std::ranges::find(lent_, map, &Lent::map) == lent_.end())
      lent_.push_back({std::move(map), left, nullptr});
    left -= std::min(left, extent.length);
    return bytes;
  }
  const BufferPtr* stay(Text bytes) override {
    const auto is_in = [&](const Lent& one) {
      const auto all = one.map->all();
      return bytes.data() >= all.data() && bytes.data() < all.data() + all.size();
    };
    const auto one = std::find_if(lent_.rbegin(), lent_.rend(), is_in);
    if (one == lent_.rend()) return nullptr;
    if (!one->buffer) one->buffer = fetcher_.pool_->lend(one->map->all(), one->size, one->map, Use::encoded);
    if (!one->buffer) return nullptr;
    stayed_ += bytes.size();
    return &one->buffer;
  }

  Fetcher& fetcher_;
  const Source& source_;
  std::shared_ptr<OpenFile> opened_;
  uint64_t ordinal_ = 0;
  Copies copies_;
  size_t piece_ = kPiece;
  uint64_t most_ = 0, stayed_ = 0, looks_ = 0;  // most_: maximum bytes kept
  std::map<uint64_t, uint64_t> large_left_;     // bytes of each file
  std::vector<Lent> lent_;
};

std::optional<size_t> Fetcher::put_mapped(const Source& source, std::span<const uint64_t> indices,
                                          std::span<const Extent> extents, std::span<const FieldPlace> to,
                                          Large large, Counters& counters) {
  if (!copies_maps_ || source.num_files() > Maps::kMostFiles) return 0;
  const uint64_t begin = now_ns();
  MappedOnes mapped(*this, source, extents, large);
  const size_t put = source.put_mapped(indices, mapped, to);
  if (!mapped.are_intact()) return std::nullopt;
  if (put == 0) return 0;
  // Columns of a row, and records of a page, are accessed one by one.
  counters.io_reads.add(std::min<uint64_t>(mapped.looks(), put));
  uint64_t bytes = mapped.bytes();  // the same pages are accessed repeatedly
  for (const FieldPlace& field : to)
    if (field.values) bytes += field.spec->size_bytes() * put;
  counters.io_bytes.add(bytes);
  counters.io_ns.add(now_ns() - begin);
  return put;
}

Fetcher::Copied Fetcher::copied(const Source& source, std::span<const uint64_t> indices,
                                std::span<const Extent> extents, Counters& counters) {
  auto rows = copies_maps_ ? CopiedRows::make(source.schema(), indices.size(), *pool_) : std::nullopt;
  if (!rows) return {};
  const size_t put =
      put_mapped(source, indices, extents, rows->places(), Large::are_copied, counters).value_or(0);
  if (put == 0) return {};
  return {std::move(*rows).finish(put), put};
}

}  // namespace headrace
