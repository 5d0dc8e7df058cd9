#include <algorithm>

#include "headrace/formats/lmdb/index.h"
#include "headrace/formats/lmdb/page.h"

namespace headrace {
namespace {

constexpr size_t kMostAsked = 256;                       // pages in a step
constexpr size_t kMostLost = 1000;                       // damaged pages of a file
constexpr uint64_t kMostFirstValue = uint64_t{1} << 28;  // a larger one is not a Datum

// Walks the tree level by level, so that many pages are read at once; a level's pages are in the order of
// their keys. A damaged page loses everything below it, for which one lost block takes its place.
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
  // A page of the tree, or its damage.
  struct Child {
    uint64_t page = 0;
    std::string damage = {};
  };

  Result<Step<FileIndex>> begin() {
    if (file_.size < kLmdbMetaBytes)
      return corrupt(
          {.expected = "two meta pages", .got = "a file of " + std::to_string(file_.size) + " bytes"});
    stage_ = Stage::first_meta;
    return Step<FileIndex>(std::vector<Extent>{{0, 0, kLmdbMetaBytes}});
  }

  Result<Step<FileIndex>> second_meta(std::span<const std::byte> first) {
    auto meta = lmdb_meta(first, 0);
    if (!meta.ok()) return at_page(meta.status(), 0);
    meta_ = *meta;
    page_size_ = meta_.page_size;
    if (file_.size < page_size_ + kLmdbMetaBytes)
      return at_page(corrupt("expected a second meta page, but the file ends"), 1);
    stage_ = Stage::second_meta;
    return Step<FileIndex>(std::vector<Extent>{{0, page_size_, kLmdbMetaBytes}});
  }

  // Takes that of the later transaction; a writer alternates between the two.
  Status choose_meta(std::span<const std::byte> second) {
    const auto meta = lmdb_meta(second, 1);
    if (!meta.ok()) return at_page(meta.status(), 1);
    if (meta->transaction > meta_.transaction) meta_ = *meta;
    constexpr uint16_t kDupSort = 4;
    if (meta_.flags & kDupSort)
      return {Code::unavailable,
              Mismatch{.expected = "a database with one value per key", .got = "one made with MDB_DUPSORT"}};
    visited_.resize(file_.size / page_size_);
    out_.page_size = page_size_;
    if (meta_.root != kNoLmdbPage) level_ = {{meta_.root}};
    if (level_.empty() != (meta_.depth == 0))
      return corrupt({.expected = "a tree depth that fits its root", .got = std::to_string(meta_.depth)});
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
    HEADRACE_TRY(check_count());
    if (first_.length == 0 || first_.length > kMostFirstValue) return finish();
    stage_ = Stage::first_value;
    return Step<FileIndex>(std::vector<Extent>{{0, first_.offset, first_.length}});
  }

  // The number of lost records is only known for all damaged pages together.
  Status check_count() const {
    if (lost_ > 0 && lost_ == out_.size) return first_damage_;
    if (lost_pages_ == 0 ? out_.size == meta_.entries : out_.size - lost_pages_ <= meta_.entries) return {};
    return corrupt(
        {.expected = std::to_string(meta_.entries) + " records", .got = std::to_string(out_.size)});
  }

  // Requests the next pages of the level. Neighbours in the file are one extent.
  Result<Step<FileIndex>> ask() {
    std::vector<Extent> extents;
    asked_ = std::min(level_.size() - next_, kMostAsked);
    for (size_t i = next_; i < next_ + asked_; ++i) {
      Child& child = level_[i];
      if (!child.damage.empty()) continue;
      HEADRACE_TRY(visit(child));
      if (!child.damage.empty()) continue;
      if (!extents.empty() && extents.back().offset + extents.back().length == child.page * page_size_)
        extents.back().length += page_size_;
      else
        extents.push_back({0, child.page * page_size_, page_size_});
    }
    if (!extents.empty()) return Step<FileIndex>(std::move(extents));
    HEADRACE_TRY(take_pages({}));
    return go_on();
  }

  Status visit(Child& child) {
    if (const Status status = check_place(child.page, page_size_); !status.ok())
      return note_damage(child, status);
    if (child.page < 2 || visited_[child.page])
      return at_page(corrupt({.expected = "each page of the tree once", .got = "one again"}), child.page);
    visited_[child.page] = true;
    return {};
  }

  // A file with too many damaged pages is refused.
  Status note_damage(Child& child, const Status& status) {
    if (status.code() != Code::corrupt || ++lost_pages_ > kMostLost) return at_page(status, child.page);
    if (first_damage_.ok()) first_damage_ = at_page(status, child.page);
    child.damage = status.text();
    return {};
  }

  Status check_place(uint64_t page, uint64_t length) const {
    if (page <= meta_.last_page && page <= file_.size / page_size_ &&
        length <= file_.size - page * page_size_)
      return {};
    const uint64_t pages = meta_.last_page + 1;
    if (page < pages && file_.size / page_size_ < pages)
      return corrupt("expected " + std::to_string(length) + " bytes of page " + std::to_string(page) +
                     ", but the file is too short: it has " + std::to_string(file_.size) + " bytes for " +
                     std::to_string(pages) + " pages of " + std::to_string(page_size_));
    return corrupt("expected " + std::to_string(length) + " bytes in a page up to " +
                   std::to_string(meta_.last_page) + " and inside the file");
  }

  Status take_pages(std::span<const BufferPtr> bytes) {
    uint64_t offset = 0;  // in bytes[0]
    for (const size_t end = next_ + asked_; next_ < end; ++next_) {
      Child& child = level_[next_];
      if (child.damage.empty()) {
        HEADRACE_TRY(take_page(bytes[0]->bytes().subspan(offset, page_size_), child));
        offset += page_size_;
        if (offset == bytes[0]->size()) bytes = bytes.subspan(1), offset = 0;
      }
      if (child.damage.empty()) continue;
      if (depth_ < meta_.depth)
        children_.push_back(std::move(child));
      else
        add_lost(child.page, child.damage);
    }
    return {};
  }

  Status take_page(std::span<const std::byte> bytes, Child& child) {
    const Status status =
        depth_ == meta_.depth ? take_leaf(bytes, child.page) : take_branch(bytes, child.page);
    return status.ok() ? status : note_damage(child, status);
  }

  // Takes all of its children, or none.
  Status take_branch(std::span<const std::byte> bytes, uint64_t number) {
    HEADRACE_ASSIGN(const LmdbPage page, LmdbPage::parse(bytes, number, LmdbPage::Kind::branch));
    std::vector<Child> children(page.nodes());
    for (size_t i = 0; i < page.nodes(); ++i) {
      HEADRACE_ASSIGN(children[i].page, page.child(i));
    }
    std::ranges::move(children, std::back_inserter(children_));
    return {};
  }

  // A damaged node is an error of its record when it is read.
  Status take_leaf(std::span<const std::byte> bytes, uint64_t number) {
    HEADRACE_ASSIGN(const LmdbPage page, LmdbPage::parse(bytes, number, LmdbPage::Kind::leaf));
    HEADRACE_TRY(check_leaf(page));
    bool in_run = false;
    for (size_t i = 0; i < page.nodes(); ++i) {
      const auto node = page.node(i);
      const bool is_big = node.ok() && node->is_big;
      if (!is_big && !in_run)
        add({number * page_size_, page_size_}, {out_.size, 0, static_cast<uint32_t>(i)});
      in_run = !is_big;
      if (is_big)
        add_big(*node, number);
      else if (node.ok() && !is_seen_)
        look_at(node->value);
      ++out_.size;
    }
    return {};
  }

  // An error for nodes that are not supported, overlap, or are not all of the page's.
  Status check_leaf(const LmdbPage& page) const {
    size_t taken = 0;
    bool are_read = true;
    for (size_t i = 0; i < page.nodes(); ++i) {
      const auto node = page.node(i);
      are_read = are_read && node.ok();
      if (node.status().code() == Code::unavailable)
        return node.status().after(" (node " + std::to_string(i) + ")");
      if (node.ok()) taken += node->key.size() + node->value.size();
      if (taken > page_size_)
        return corrupt("expected nodes that do not overlap (node " + std::to_string(i) + ")");
    }
    if (are_read && !page.has_all_nodes())
      return corrupt({.expected = "all nodes of the page",
                      .got = std::to_string(page.nodes()) + " without the last one"});
    return {};
  }

  void add(RecordExtent extent, LmdbBlock block, std::string_view key = {}) {
    index_.records.push_back(extent);
    block.key = out_.keys.size(), block.key_size = static_cast<uint16_t>(key.size());
    out_.blocks.push_back(block);
    out_.keys += key;
  }

  // Adds one record in place of the lost ones.
  void add_lost(uint64_t page, const std::string& why) {
    add({page * page_size_, 0}, {out_.size, 0, 0, 0, LmdbBlock::lost}, why);
    ++lost_, ++out_.size;
  }

  void add_big(const LmdbNode& node, uint64_t leaf) {
    const RecordExtent extent{node.page * page_size_, kLmdbPageHeader + node.size};
    if (const Status place = check_place(node.page, extent.length); !place.ok()) {
      const Status status = at_page(place, node.page);
      if (first_damage_.ok()) first_damage_ = status;
      add({leaf * page_size_, 0}, {out_.size, 0, 0, 0, LmdbBlock::lost}, status.text());
      ++lost_;
      return;
    }
    if (!is_seen_) first_ = extent, is_seen_ = true;
    add(extent, {out_.size, 0, 0, 0, LmdbBlock::big},
        {reinterpret_cast<const char*>(node.key.data()), node.key.size()});
  }

  void look_at(std::span<const std::byte> first) {
    is_seen_ = true;
    out_.datum = datum_kind(first);
    out_.tensors = tensor_protos_kind(first);
  }

  Status take_first(std::span<const std::byte> bytes) {
    const uint64_t number = first_.offset / page_size_;
    const auto value = lmdb_big_value(bytes, number, page_size_);
    if (value.ok()) look_at(*value);  // else an error of the record when it is read
    return {};
  }

  Result<Step<FileIndex>> finish() {
    index_.extra = pack_lmdb(out_);
    return Step<FileIndex>(std::move(index_));
  }

  Status at_page(Status status, uint64_t page) const {
    return std::move(status)
        .with({.byte = page * page_size_})
        .after(" (page " + std::to_string(page) + " at byte " + std::to_string(page * page_size_) + ")");
  }

  SourceFile file_;
  Stage stage_ = Stage::begin;
  LmdbMeta meta_;
  uint64_t page_size_ = 0;
  std::vector<bool> visited_;
  std::vector<Child> level_, children_;  // of this level of the tree, of the next
  size_t next_ = 0, asked_ = 0;          // the first of level_ not read yet; the number requested
  uint16_t depth_ = 0;
  size_t lost_pages_ = 0, lost_ = 0;  // damaged pages; records that cannot be read
  Status first_damage_;
  bool is_seen_ = false;  // the first value that is not lost was found
  RecordExtent first_;    // of that value, if it is a big one
  FileIndex index_;
  LmdbIndex out_;
};

}  // namespace

std::unique_ptr<Opening<FileIndex>> walk_lmdb(SourceFile file) {
  return std::make_unique<Walk>(std::move(file));
}

}  // namespace headrace
