#include <algorithm>
#include <cstring>
#include <set>

#include "headrace/core/little_endian.h"
#include "headrace/formats/parquet/chunk_reader.h"
#include "headrace/formats/parquet/contents.h"

namespace headrace::parquet {
namespace {

constexpr uint64_t kEnd = 8;  // the footer's length and the magic
constexpr uint64_t kMostAtOnce = uint64_t{8} << 20, kGap = 64 << 10;
constexpr uint64_t kFreeKept = uint64_t{1} << 20;  // bytes of page positions that are always kept

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Pages must be in order within their column, without overlap, and begin at increasing rows.
bool is_usable(const std::vector<PagePlace>& pages, const Chunk& chunk, uint64_t rows) {
  if (pages.size() < 2 || pages[0].first_row != 0) return false;
  uint64_t end = chunk.offset;
  for (size_t i = 0; i < pages.size(); ++i) {
    const PagePlace& page = pages[i];
    const uint64_t chunk_end = chunk.offset + chunk.size;
    if (page.size == 0 || page.offset < end || page.offset > chunk_end || page.size > chunk_end - page.offset)
      return false;
    if (page.first_row >= rows || (i > 0 && page.first_row <= pages[i - 1].first_row)) return false;
    end = page.offset + page.size;
  }
  return true;
}

class IndexSteps final : public Opening<FileIndex> {
 public:
  IndexSteps(SourceFile file, Where where, std::vector<std::string> names, uint64_t tail)
      : file_(std::move(file)), where_(std::move(where)), names_(std::move(names)), tail_(tail) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    switch (stage_) {
      case Stage::start: return start();
      case Stage::tail: return tail(bytes);
      case Stage::footer: return footer(bytes[0]->bytes());
      case Stage::pages: return pages(bytes);
      case Stage::group: return group(bytes);
    }
    return internal_error("no such stage");
  }

 private:
  enum class Stage : uint8_t { start, tail, footer, pages, group };

  Result<Step<FileIndex>> ask(Stage next, std::vector<Extent> extents) {
    stage_ = next;
    return Step<FileIndex>(std::move(extents));
  }

  Result<Step<FileIndex>> start() {
    if (file_.size < 4 + kEnd)
      return corrupt({.expected = "a file of at least 12 bytes", .got = std::to_string(file_.size)});
    const uint64_t tail = std::min(tail_, file_.size);
    return ask(Stage::tail, {{0, 0, 4}, {0, file_.size - tail, tail}});
  }

  Result<Step<FileIndex>> tail(std::span<const BufferPtr> bytes) {
    const auto end = bytes[1]->bytes();
    const std::string_view first = text_of(bytes[0]->bytes()), last = text_of(end.last(4));
    if (last == "PARE") return Status(Code::unavailable, "cannot read an encrypted footer");
    if (first != "PAR1" || last != "PAR1")
      return corrupt({.expected = "PAR1 at both ends of the file",
                      .got = "other bytes",
                      .fix = "the file may be incomplete"});
    const uint64_t length = load<uint32_t>(end, end.size() - kEnd);
    if (length > file_.size - 4 - kEnd)
      return corrupt({.expected = "a footer of at most " + std::to_string(file_.size - 4 - kEnd) + " bytes",
                      .got = std::to_string(length)});
    if (length + kEnd <= end.size()) return footer(end.subspan(end.size() - kEnd - length, length));
    return ask(Stage::footer, {{0, file_.size - kEnd - length, length}});
  }

  Result<Step<FileIndex>> footer(std::span<const std::byte> bytes) {
    contents_.footer = text_of(bytes);
    HEADRACE_ASSIGN(footer_, read_footer(std::as_bytes(std::span(contents_.footer))));
    HEADRACE_TRY(check_sizes(footer_, file_.size));
    HEADRACE_ASSIGN(columns_, read_columns(footer_));
    if (where_.empty()) return ask_pages();
    HEADRACE_ASSIGN(looked_at_, columns_of(where_, columns_));
    contents_.rows.emplace();
    for (const RowGroup& group : footer_.groups) {
      rows_before_.push_back(rows_before_.empty() ? 0 : rows_before_.back() + group_rows_);
      group_rows_ = group.rows;
    }
    if (!rows_before_.empty() && rows_before_.back() + group_rows_ > UINT32_MAX)
      return Status(Code::unavailable, {.expected = "files of less than 2^32 rows for where=",
                                        .got = std::to_string(rows_before_.back() + group_rows_)});
    return ask_pages();
  }

  // The page indexes of the chosen columns, of all large row groups; they are stored together before the
  // footer. Overlapping ones are dropped, so that all of them together are not larger than the file.
  Result<Step<FileIndex>> ask_pages() {
    std::set<size_t> leaves;
    const auto chosen = choose_columns(columns_, names_);
    if (chosen.ok())  // else the error is reported when the source is opened
      for (const Column& column : *chosen) leaves.insert(column.leaf);
    for (uint32_t g = 0; g < footer_.groups.size(); ++g) {
      const RowGroup& group = footer_.groups[g];
      for (uint32_t leaf = 0; leaf < group.chunks.size(); ++leaf) {
        const Chunk& chunk = group.chunks[leaf];
        const bool is_there = chunk.index_offset >= 4 && chunk.index_offset <= file_.size &&
                              chunk.index_size <= file_.size - chunk.index_offset;
        if (is_there && leaves.contains(leaf) && is_large(group) && check_chunk(chunk, file_.size).ok())
          wanted_.push_back({g, leaf});
      }
    }
    std::ranges::sort(wanted_, {}, [&](ChunkAt at) { return chunk_at(at).index_offset; });
    uint64_t end = 0;
    std::erase_if(wanted_, [&](ChunkAt at) {
      const bool overlaps = chunk_at(at).index_offset < end;
      end = std::max(end, chunk_at(at).index_offset + chunk_at(at).index_size);
      return overlaps;
    });
    return more_pages();
  }

  static bool is_large(const RowGroup& group) {
    uint64_t bytes = 0;
    for (const Chunk& chunk : group.chunks) bytes += std::min(chunk.size, kWholeGroup + 1);
    return bytes > kWholeGroup;
  }
  const Chunk& chunk_at(ChunkAt at) const { return footer_.groups[at.group].chunks[at.leaf]; }

  Result<Step<FileIndex>> more_pages() {
    if (next_wanted_ == wanted_.size()) return next_group();
    const uint64_t begin = chunk_at(wanted_[next_wanted_]).index_offset;
    uint64_t end = begin;
    for (last_wanted_ = next_wanted_; last_wanted_ < wanted_.size(); ++last_wanted_) {
      const Chunk& chunk = chunk_at(wanted_[last_wanted_]);
      const uint64_t until = std::max(end, chunk.index_offset + chunk.index_size);
      const bool is_near = chunk.index_offset <= end + kGap && until - begin <= kMostAtOnce;
      if (last_wanted_ > next_wanted_ && !is_near) break;
      end = until;
    }
    first_byte_ = begin;
    return ask(Stage::pages, {{0, begin, end - begin}});
  }

  Result<Step<FileIndex>> pages(std::span<const BufferPtr> bytes) {
    for (; next_wanted_ < last_wanted_; ++next_wanted_) {
      const ChunkAt at = wanted_[next_wanted_];
      const Chunk& chunk = chunk_at(at);
      auto places =
          read_offset_index(bytes[0]->bytes().subspan(chunk.index_offset - first_byte_, chunk.index_size));
      // An invalid index is ignored, and so is one that is too large to keep.
      if (!places.ok() || !is_usable(*places, chunk, footer_.groups[at.group].rows)) continue;
      const uint64_t kept = kept_ + places->size() * sizeof(PagePlace);
      if (kept > std::max(kFreeKept, file_.size / 16)) continue;
      kept_ = kept;
      contents_.pages[at] = *std::move(places);
    }
    return more_pages();
  }

  // Row groups that are not decided by their statistics are read, one after the other.
  Result<Step<FileIndex>> next_group() {
    if (where_.empty()) return done();
    for (; group_ < footer_.groups.size(); ++group_) {
      const RowGroup& group = footer_.groups[group_];
      std::vector<size_t> needed;
      if (!begin_group(group, needed)) continue;
      if (needed.empty()) {
        add_rows(std::vector<uint8_t>(group.rows, 1));
        continue;
      }
      std::vector<Extent> extents;
      for (const size_t i : needed) {
        const Chunk& chunk = group.chunks[looked_at_[i].leaf];
        Status status = check_chunk(chunk, looked_at_[i], group.rows, file_.size);
        if (!status.ok())
          return std::move(status)
              .with({.field = looked_at_[i].name})
              .before(in_group() + "column '" + looked_at_[i].name + "': ");
        extents.push_back({0, chunk.offset, chunk.size});
      }
      needed_ = std::move(needed);
      return ask(Stage::group, std::move(extents));
    }
    return done();
  }

  // Collects the columns that must be read; false if no row can match.
  bool begin_group(const RowGroup& group, std::vector<size_t>& needed) const {
    for (size_t i = 0; i < looked_at_.size(); ++i) {
      const Column& column = looked_at_[i];
      bool is_needed = false;
      for (const Condition& condition : where_.conditions) {
        if (condition.column != column.name) continue;
        const Holds holds = holds_for_group(condition, column, group.chunks[column.leaf]);
        if (holds == Holds::for_none) return false;
        is_needed = is_needed || holds == Holds::for_some;
      }
      if (is_needed) needed.push_back(i);
    }
    return group.rows > 0;
  }

  Result<Step<FileIndex>> group(std::span<const BufferPtr> bytes) {
    const RowGroup& group = footer_.groups[group_];
    std::vector<uint8_t> kept(group.rows, 1);
    for (size_t n = 0; n < needed_.size(); ++n) {
      const Column& column = looked_at_[needed_[n]];
      const Chunk& chunk = group.chunks[column.leaf];
      const auto read = [&]() -> Result<Values> {
        ChunkReader reader(column, chunk.codec, chunk.size);
        HEADRACE_TRY(reader.read({bytes[n], 0, bytes[n]->size()}, chunk.offset, chunk.values));
        return reader.finish(group.rows);
      };
      const Result<Values> values = read();
      if (!values.ok()) return values.status().before(in_group());
      for (const Condition& condition : where_.conditions)
        if (condition.column == column.name) keep_rows(condition, *values, kept);
    }
    add_rows(kept);
    ++group_;
    return next_group();
  }

  std::string in_group() const { return "row group " + std::to_string(group_) + ": "; }

  void add_rows(const std::vector<uint8_t>& kept) {
    const uint64_t before = rows_before_[group_];
    for (size_t row = 0; row < kept.size(); ++row)
      if (kept[row]) contents_.rows->push_back(static_cast<uint32_t>(before + row));
  }

  Result<Step<FileIndex>> done() {
    FileIndex out;
    out.extra = pack(contents_);
    return Step<FileIndex>(std::move(out));
  }

  SourceFile file_;
  Where where_;
  std::vector<std::string> names_;
  uint64_t tail_, kept_ = 0;
  Stage stage_ = Stage::start;
  Contents contents_;
  Footer footer_;  // borrows contents_.footer
  std::vector<Column> columns_, looked_at_;
  std::vector<ChunkAt> wanted_;
  size_t next_wanted_ = 0, last_wanted_ = 0;
  uint64_t first_byte_ = 0;
  size_t group_ = 0;
  std::vector<uint64_t> rows_before_;  // of each row group
  uint64_t group_rows_ = 0;
  std::vector<size_t> needed_;  // of looked_at_
};

}  // namespace

std::unique_ptr<Opening<FileIndex>> index_parquet(SourceFile file, Where where,
                                                  std::vector<std::string> columns, uint64_t tail) {
  return std::make_unique<IndexSteps>(std::move(file), std::move(where), std::move(columns), tail);
}

}  // namespace headrace::parquet
