// Converts levels to rows of lists: which values each has, and whether its lists are as long as the column's.
// Concatenates strings of lists.
#include <algorithm>
#include <cstring>

#include "headrace/core/saturate.h"
#include "headrace/formats/parquet/chunk_reader.h"

namespace headrace::parquet {

// Number of values of an item of the list outside `list`, if the lists within it have fixed lengths.
uint64_t ChunkReader::values_in(size_t list) const {
  uint64_t out = 1;
  for (size_t i = list; i < column_.lists.size(); ++i)
    out = saturating_mul(out, static_cast<uint64_t>(std::max<int64_t>(column_.lists[i], 0)));
  return out;
}

// Lists whose length differs from the column's are an error of their row only.
void ChunkReader::mark_wrong() {
  if (out_.rows == 0) return;
  if (out_.wrong_rows.size() < out_.rows) out_.wrong_rows.resize(out_.rows);
  out_.wrong_rows[out_.rows - 1] = 1;
}

// Ends the lists that an entry of this repetition level ends.
Status ChunkReader::end_lists(uint8_t rep) {
  for (size_t list = rep; list < open_.size(); ++list) {
    if (column_.lists[list] != kAny && open_[list] >= 0 && open_[list] != column_.lists[list]) mark_wrong();
    open_[list] = -1;
  }
  if (rep == 0) return {};
  if (open_[rep - 1u] < 1) return corrupt({.expected = "levels of lists", .got = "an item outside a list"});
  ++open_[rep - 1u];
  return {};
}

// Begins the lists that it begins. A null list of fixed length has that many nulls.
void ChunkReader::begin_lists(uint8_t rep, uint8_t def) {
  for (size_t list = rep; list < open_.size(); ++list) {
    if (def >= column_.list_def[list]) {
      open_[list] = 1;
      continue;
    }
    const bool is_null = def + 1 < column_.list_def[list];
    if (column_.lists[list] > 0 && !is_null) mark_wrong();
    break;
  }
}

// Number of values in memory of a null or empty list.
uint64_t ChunkReader::nulls_for(uint8_t def) const {
  for (size_t list = 0; list < column_.lists.size(); ++list) {
    if (def >= column_.list_def[list]) continue;
    const bool is_null = def + 1 < column_.list_def[list];
    return is_null && column_.lists[list] != kAny ? values_in(list) : 0;
  }
  return 0;
}

Status ChunkReader::rows_of_lists(uint64_t count) {
  if (column_.max_def == 0) return internal_error("a list without a level");
  const uint8_t row_def = column_.list_def[0], item_def = column_.list_def.back(), max_def = column_.max_def;
  if (out_.rows == 0 && count > 0 && reps_[0] != 0)
    return corrupt({.expected = "the column to begin with a row", .got = "the middle of a list"});
  const bool is_checked = open_.size() > 1 || !column_.is_list;
  present_.clear();
  for (size_t i = 0; i < count; ++i) {
    const uint8_t rep = reps_[i], def = defs_[i];
    if (is_checked) HEADRACE_TRY(end_lists(rep));
    if (rep == 0) {
      ++out_.rows;
      out_.starts.push_back(slots_ + present_.size());
      if (def + 1 < row_def) {
        if (out_.null_rows.size() < out_.rows) out_.null_rows.resize(out_.rows);
        out_.null_rows[out_.rows - 1] = 1;
      }
    }
    if (is_checked) begin_lists(rep, def);
    if (def >= item_def) {
      present_.push_back(def == max_def);
    } else if (const uint64_t nulls = nulls_for(def); nulls > 0) {
      HEADRACE_TRY(check_room(saturating_add(present_.size(), nulls)));
      present_.resize(present_.size() + nulls, 0);
    }
  }
  page_slots_ = present_.size();
  page_present_ = static_cast<uint64_t>(std::ranges::count(present_, 1));
  if (page_present_ == page_slots_) {
    present_.clear();
  } else {
    out_.null_items.resize(slots_);
    for (const uint8_t present : present_) out_.null_items.push_back(!present);
  }
  return {};
}

// Concatenates the strings of each row and stores their lengths; releases the pages. Many items may refer
// to one large dictionary string, so their sum is bounded before memory is allocated.
Status ChunkReader::join_texts() {
  uint64_t bytes = 0;
  for (const Piece& piece : out_.pieces) bytes = saturating_add(bytes, piece.length);
  const uint64_t limit = most_bytes(uint64_t{256} << 20);
  if (bytes > limit)
    return {Code::exhausted, Mismatch{.expected = "strings of lists of at most " + std::to_string(limit) +
                                                  " bytes in a column of " + std::to_string(packed_),
                                      .got = std::to_string(bytes)}};
  const uint64_t beside = out_.pieces.size() * sizeof(int64_t) + out_.rows * sizeof(Piece);
  HEADRACE_TRY(make_room(bytes + beside));
  const MutableBufferPtr texts = HeapBuffer::make(bytes);
  const MutableBufferPtr lengths = HeapBuffer::make(out_.pieces.size() * sizeof(int64_t));
  std::vector<Piece> rows(out_.rows);
  uint64_t at = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    rows[row].offset = at;
    for (uint64_t item = out_.starts[row]; item < out_.starts[row + 1]; ++item) {
      const Piece& piece = out_.pieces[item];
      const int64_t length = piece.length;
      std::memcpy(lengths->mutable_data() + item * sizeof length, &length, sizeof length);
      if (length == 0) continue;
      std::memcpy(texts->mutable_data() + at, out_.buffers[piece.buffer]->data() + piece.offset,
                  piece.length);
      at += piece.length;
    }
    rows[row].length = static_cast<uint32_t>(at - rows[row].offset);  // below kMostMade
  }
  out_.pieces = std::move(rows);
  out_.buffers = {texts};
  out_.data = lengths;
  out_.held = bytes + beside + out_.starts.size() * sizeof(uint64_t);
  return {};
}

}  // namespace headrace::parquet
