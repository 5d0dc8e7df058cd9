#include <algorithm>

#include "headrace/formats/lmdb/index.h"
#include "headrace/formats/lmdb/page.h"

namespace headrace {
namespace {

constexpr size_t kMostAsked = 256;                       // pages in a step
constexpr uint64_t kMostFirstValue = uint64_t{1} << 28;  // a larger one is no Datum

// The tree a level at a time, so that many pages are asked for at once; a level's pages are in the order of
// their keys.
class Walk final : public Opening<FileIndex> {
 public:
  explicit Walk(SourceFile file) : file_(std::move(file)) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    switch (stage_) {
      case Stage::begin: return begin();
      case Stage::first_meta: return second_meta(bytes[0]->bytes());
      case Stage::second_meta: HEADRACE_TRY(choose_meta(bytes[0]->bytes())); break;
      case Stage::tree: HEADRACE_TRY(take_pages(bytes)); break;
      case Stage::first_value: HEADRACE_TRY(take_first(bytes[0]->bytes())); return finish();
    }
    return go_on();
  }

 private:
  enum class Stage : uint8_t { begin, first_meta, second_meta, tree, first_value };

  Result<Step<FileIndex>> begin() {
    if (file_.size < kLmdbMetaBytes)
      return corrupt("wants two meta pages, got a file of " + std::to_string(file_.size) + " bytes");
    stage_ = Stage::first_meta;
    return Step<FileIndex>(std::vector<Extent>{{0, 0, kLmdbMetaBytes}});
  }

  Result<Step<FileIndex>> second_meta(std::span<const std::byte> first) {
    auto meta = lmdb_meta(first, 0);
    if (!meta.ok()) return at_page(meta.status(), 0);
    meta_ = *meta;
    page_size_ = meta_.page_size;
    if (file_.size < page_size_ + kLmdbMetaBytes)
      return at_page(corrupt("wants a second meta page, the file ends"), 1);
    stage_ = Stage::second_meta;
    return Step<FileIndex>(std::vector<Extent>{{0, page_size_, kLmdbMetaBytes}});
  }

  // That of the later transaction; a writer makes them in turn.
  Status choose_meta(std::span<const std::byte> second) {
    const auto meta = lmdb_meta(second, 1);
    if (!meta.ok()) return at_page(meta.status(), 1);
    if (meta->transaction > meta_.transaction) meta_ = *meta;
    constexpr uint16_t kDupSort = 4;
    if (meta_.flags & kDupSort)
      return {Code::unavailable, "wants a database of one value a key, got one made with MDB_DUPSORT"};
    visited_.resize(file_.size / page_size_);
    out_.page_size = page_size_;
    if (meta_.root != kNoLmdbPage) level_ = {meta_.root};
    if (level_.empty() != (meta_.depth == 0))
      return corrupt("wants a tree with as many levels as its root says, got " + std::to_string(meta_.depth));
    depth_ = 1;
    stage_ = Stage::tree;
    return {};
  }

  Result<Step<FileIndex>> go_on() {
    if (next_ == level_.size() && depth_ < meta_.depth) {
      level_ = std::move(children_);
      children_.clear();
      next_ = 0, ++depth_;
    }
    if (next_ < level_.size()) return ask();
    if (out_.size != meta_.entries)
      return corrupt("wants " + std::to_string(meta_.entries) + " records, got " + std::to_string(out_.size));
    if (first_.length == 0 || first_.length > kMostFirstValue) return finish();
    stage_ = Stage::first_value;
    return Step<FileIndex>(std::vector<Extent>{{0, first_.offset, first_.length}});
  }

  // The next pages of the level. Neighbours in the file are one extent.
  Result<Step<FileIndex>> ask() {
    asked_ = std::min(level_.size() - next_, kMostAsked);
    std::vector<Extent> extents;
    for (size_t i = next_; i < next_ + asked_; ++i) {
      const uint64_t page = level_[i];
      HEADRACE_TRY(visit(page));
      if (!extents.empty() && extents.back().offset + extents.back().length == page * page_size_)
        extents.back().length += page_size_;
      else
        extents.push_back({0, page * page_size_, page_size_});
    }
    return Step<FileIndex>(std::move(extents));
  }

  Status visit(uint64_t page) {
    HEADRACE_TRY(check_place(page, page_size_));
    if (page < 2 || visited_[page])
      return at_page(corrupt("wants each page of the tree once, got it again"), page);
    visited_[page] = true;
    return {};
  }

  Status check_place(uint64_t page, uint64_t length) const {
    if (page <= meta_.last_page && page <= file_.size / page_size_ &&
        length <= file_.size - page * page_size_)
      return {};
    return at_page(corrupt("wants " + std::to_string(length) + " bytes in a page up to " +
                           std::to_string(meta_.last_page) + " and inside the file"),
                   page);
  }

  Status take_pages(std::span<const BufferPtr> bytes) {
    uint64_t offset = 0;  // in bytes[0]
    for (const size_t end = next_ + asked_; next_ < end; ++next_) {
      const auto page = bytes[0]->bytes().subspan(offset, page_size_);
      Status status =
          depth_ == meta_.depth ? take_leaf(page, level_[next_]) : take_branch(page, level_[next_]);
      if (!status.ok()) return at_page(std::move(status), level_[next_]);
      offset += page_size_;
      if (offset == bytes[0]->size()) bytes = bytes.subspan(1), offset = 0;
    }
    return {};
  }

  Status take_branch(std::span<const std::byte> bytes, uint64_t number) {
    HEADRACE_ASSIGN(const LmdbPage page, LmdbPage::parse(bytes, number, LmdbPage::Kind::branch));
    for (size_t i = 0; i < page.nodes(); ++i) {
      HEADRACE_ASSIGN(const uint64_t child, page.child(i));
      children_.push_back(child);
    }
    return {};
  }

  Status take_leaf(std::span<const std::byte> bytes, uint64_t number) {
    HEADRACE_ASSIGN(const LmdbPage page, LmdbPage::parse(bytes, number, LmdbPage::Kind::leaf));
    bool in_run = false;
    size_t taken = 0;
    for (size_t i = 0; i < page.nodes(); ++i, ++out_.size) {
      auto node = page.node(i);
      if (!node.ok()) return node.status().after(" (node " + std::to_string(i) + ")");
      if ((taken += node->key.size() + node->value.size()) > page_size_)
        return corrupt("wants nodes that do not overlap (node " + std::to_string(i) + ")");
      if (node->is_big) {
        HEADRACE_TRY(take_big(*node));
      } else if (!in_run) {
        index_.records.push_back({number * page_size_, page_size_});
        out_.blocks.push_back({out_.size, 0, static_cast<uint32_t>(i), 0, 0});
      }
      in_run = !node->is_big;
      if (out_.size == 0 && !node->is_big) look_at(node->value);
    }
    return {};
  }

  Status take_big(const LmdbNode& node) {
    const RecordExtent extent{node.page * page_size_, kLmdbPageHeader + node.size};
    HEADRACE_TRY(check_place(node.page, extent.length));
    if (out_.size == 0) first_ = extent;
    index_.records.push_back(extent);
    out_.blocks.push_back({out_.size, out_.keys.size(), 0, static_cast<uint16_t>(node.key.size()), 1});
    out_.keys.append(reinterpret_cast<const char*>(node.key.data()), node.key.size());
    return {};
  }

  void look_at(std::span<const std::byte> first) {
    out_.datum = datum_kind(first);
    out_.tensors = tensor_protos_kind(first);
  }

  Status take_first(std::span<const std::byte> bytes) {
    const uint64_t number = first_.offset / page_size_;
    const auto value = lmdb_big_value(bytes, number, page_size_);
    if (value.ok()) look_at(*value);  // else it is an error of the record, when it is read
    return {};
  }

  Result<Step<FileIndex>> finish() {
    index_.extra = pack_lmdb(out_);
    return Step<FileIndex>(std::move(index_));
  }

  Status at_page(Status status, uint64_t page) const {
    return std::move(status).after(" (page " + std::to_string(page) + " at byte " +
                                   std::to_string(page * page_size_) + ")");
  }

  SourceFile file_;
  Stage stage_ = Stage::begin;
  LmdbMeta meta_;
  uint64_t page_size_ = 0;
  std::vector<bool> visited_;
  std::vector<uint64_t> level_, children_;  // pages of this level of the tree, of the next
  size_t next_ = 0, asked_ = 0;             // the first of level_ that is not read, how many are asked for
  uint16_t depth_ = 0;
  RecordExtent first_;  // of the first value, when it is a big one
  FileIndex index_;
  LmdbIndex out_;
};

}  // namespace

std::unique_ptr<Opening<FileIndex>> walk_lmdb(SourceFile file) {
  return std::make_unique<Walk>(std::move(file));
}

}  // namespace headrace
