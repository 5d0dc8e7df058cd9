// Decides which sequences share a row. Rows are filled by length only, so a state is the position of the
// first sequence of the current rows, and how many of them were handed out: from there they are filled again.
#include <algorithm>
#include <numeric>

#include "headrace/run/streams/one_child.h"
#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

// A sample of the child, with the position of the child before it.
struct Pulled {
  Sample sample;
  Cursor before;
};

// The packed fields of a sample, or an error. `pulled` keeps the whole sample.
Pull pull_sequence(Stream& child, const Pack& pack, Pulled& out, Status& failure) {
  out.before.clear();
  child.save(out.before);
  Item item;
  const Pull pulled = child.pull_one(item, failure);
  if (pulled != Pull::item) return pulled;
  out.sample = std::move(item.samples[0]);
  if (out.sample.failure) {
    failure = *out.sample.failure;
    return Pull::error;
  }
  std::vector<Tensor> fields;
  for (const int field : pack.packed) {
    Tensor& sequence = out.sample.fields[static_cast<size_t>(field)];
    if (sequence.is_ragged()) {
      failure =
          invalid({.expected = "sequences of numbers", .got = "ragged rows", .fix = "unbatch them first"})
              .in_op("pack");
      return Pull::error;
    }
    fields.push_back(std::move(sequence));
  }
  out.sample.fields = std::move(fields);
  return Pull::item;
}

uint64_t length(const Sample& sample, size_t field) {
  return static_cast<uint64_t>(sample.fields[field].shape[0]);
}

// first_fit, best_fit: `bins` rows are open; when a sequence fits into none of them, all are handed out.
class BinsStream final : public OneChild {
 public:
  BinsStream(StreamPtr child, const Pack& pack) : OneChild(std::move(child)), pack_(pack) {}

  Pull pull(Item& out, Status& failure, uint64_t) override {
    if (next_row_ == rows_.size())
      if (const Pull filled = fill(failure); filled != Pull::item) return filled;
    out = {};
    out.samples = std::move(rows_[next_row_++]);
    return Pull::item;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    child_->start(epoch, occurrence, valid);
    begin(0);
  }
  void save(Cursor& cursor) const override {
    const bool under_way = next_row_ < rows_.size();
    cursor.push_back(under_way ? next_row_ : skip_);
    const Cursor* from = under_way        ? &began_
                         : !bins_.empty() ? &bins_began_
                         : waiting_       ? &next_.before
                                          : nullptr;
    if (from)
      cursor.insert(cursor.end(), from->begin(), from->end());
    else
      child_->save(cursor);
  }
  void restore(CursorReader& cursor) override {
    const uint64_t rows = cursor.next();
    child_->restore(cursor);
    begin(rows);
  }
  void describe(StateForm& form) const override {
    form.stream("pack");
    form.number("rows");
    form.child("input", *child_);
  }

 private:
  struct Bin {
    std::vector<Sample> samples;
    std::vector<uint64_t> used;  // of each field's row
  };

  void begin(uint64_t skip) {
    rows_.clear(), bins_.clear();
    next_row_ = 0, skip_ = skip, waiting_ = ended_ = false;
  }

  // Fills bins until a sequence fits into none, or there are no more sequences.
  Pull fill(Status& failure) {
    while (true) {
      if (!waiting_ && !ended_) {
        const Pull pulled = pull_sequence(*child_, pack_, next_, failure);
        if (pulled != Pull::item && pulled != Pull::end) return pulled;
        waiting_ = pulled == Pull::item, ended_ = !waiting_;
      }
      if (waiting_) {
        if (failure = check_length(next_.sample); !failure.ok()) return Pull::error;
        if (put()) {
          waiting_ = false;
          continue;
        }
      }
      if (bins_.empty()) return Pull::end;
      if (close_bins()) return Pull::item;
    }
  }

  // True if a row is left to hand out.
  bool close_bins() {
    rows_.clear();
    for (Bin& bin : bins_) rows_.push_back(std::move(bin.samples));
    bins_.clear();
    began_ = std::move(bins_began_);
    next_row_ = std::min<uint64_t>(std::exchange(skip_, 0), rows_.size());
    return next_row_ < rows_.size();
  }

  Status check_length(const Sample& sample) const {
    for (size_t f = 0; f < sample.fields.size(); ++f)
      if (length(sample, f) > pack_.lengths[f])
        return invalid({.expected = "sequences of at most " + std::to_string(pack_.lengths[f]),
                        .got = std::to_string(length(sample, f)) + " in sample " +
                               std::to_string(sample.id.index),
                        .fix = "crop them, or use strategy \"concat_and_split\""})
            .in_op("pack");
    return {};
  }

  // Puts next_ into an open bin, or into a new one if another is permitted.
  bool put() {
    Bin* best = nullptr;
    uint64_t most_used = 0;
    for (Bin& bin : bins_) {
      if (!fits(bin)) continue;
      const uint64_t used = std::accumulate(bin.used.begin(), bin.used.end(), uint64_t{0});
      if (!best || used > most_used) best = &bin, most_used = used;
      if (pack_.strategy == PackStrategy::first_fit) break;
    }
    if (!best && bins_.size() == pack_.bins) return false;
    if (!best) {
      if (bins_.empty()) bins_began_ = next_.before;
      best = &bins_.emplace_back(Bin{{}, std::vector<uint64_t>(pack_.packed.size())});
    }
    for (size_t f = 0; f < best->used.size(); ++f) best->used[f] += length(next_.sample, f);
    best->samples.push_back(std::move(next_.sample));
    return true;
  }
  bool fits(const Bin& bin) const {
    if (pack_.most > 0 && bin.samples.size() >= pack_.most) return false;
    for (size_t f = 0; f < bin.used.size(); ++f)
      if (bin.used[f] + length(next_.sample, f) > pack_.lengths[f]) return false;
    return true;
  }

  const Pack pack_;
  std::vector<Bin> bins_;                  // being filled
  Cursor bins_began_;                      // position of the child before the first of their sequences
  std::vector<std::vector<Sample>> rows_;  // being handed out
  Cursor began_;
  size_t next_row_ = 0;
  uint64_t skip_ = 0;     // after restore(): rows that were handed out
  Pulled next_;           // a sequence that fits into no bin
  bool waiting_ = false;  // next_ is set
  bool ended_ = false;
};

// concat_and_split: one row is filled to its end, and the rest of a sequence begins the next row.
class SplitStream final : public OneChild {
 public:
  SplitStream(StreamPtr child, const Pack& pack) : OneChild(std::move(child)), pack_(pack) {}

  Pull pull(Item& out, Status& failure, uint64_t) override {
    while (used_ < pack_.lengths[0] && !ended_ && (pack_.most == 0 || row_.size() < pack_.most)) {
      if (!waiting_) {
        const Pull pulled = pull_sequence(*child_, pack_, next_, failure);
        if (pulled != Pull::item && pulled != Pull::end) return pulled;
        waiting_ = pulled == Pull::item, ended_ = !waiting_;
        if (ended_) break;
        if (failure = check_lengths(next_.sample); !failure.ok()) return Pull::error;
      }
      if (row_.empty()) mark();
      take_piece();
    }
    const bool short_row = used_ < pack_.lengths[0];
    if (row_.empty() || (ended_ && short_row && pack_.drop_last)) return Pull::end;
    out = {};
    out.samples = std::exchange(row_, {});
    used_ = 0;
    return Pull::item;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    child_->start(epoch, occurrence, valid);
    begin(0);
  }
  // The position where the current row began, or where the next one begins.
  void save(Cursor& cursor) const override {
    if (!row_.empty()) {
      cursor.insert(cursor.end(), began_.begin(), began_.end());
    } else if (waiting_) {
      cursor.push_back(offset_);
      cursor.insert(cursor.end(), next_.before.begin(), next_.before.end());
    } else {
      cursor.push_back(offset_);
      child_->save(cursor);
    }
  }
  void restore(CursorReader& cursor) override {
    const uint64_t offset = cursor.next();
    child_->restore(cursor);
    begin(offset);
  }
  void describe(StateForm& form) const override {
    form.stream("pack");
    form.number("offset");
    form.child("input", *child_);
  }
  uint64_t most_elements() const override { return kInfinite; }  // a sequence may fill many rows

 private:
  void begin(uint64_t offset) {
    row_.clear();
    used_ = 0, offset_ = offset, waiting_ = ended_ = false;
  }
  void mark() {
    began_.assign(1, offset_);
    began_.insert(began_.end(), next_.before.begin(), next_.before.end());
  }
  Status check_lengths(const Sample& sample) const {
    for (size_t f = 1; f < sample.fields.size(); ++f)
      if (length(sample, f) != length(sample, 0))
        return invalid("\"concat_and_split\" expects fields of equal length, got " +
                       std::to_string(length(sample, 0)) + " and " + std::to_string(length(sample, f)) +
                       " in sample " + std::to_string(sample.id.index))
            .in_op("pack");
    return {};
  }
  // Takes as much of next_ as the row has room for.
  void take_piece() {
    const uint64_t whole = length(next_.sample, 0);
    const uint64_t from = std::min(offset_, whole);
    const uint64_t count = std::min(whole - from, pack_.lengths[0] - used_);
    Sample piece = next_.sample;
    for (Tensor& field : piece.fields) {
      field.offset += static_cast<size_t>(from) * size_of(field.dtype);
      field.shape = {static_cast<int64_t>(count)};
    }
    row_.push_back(std::move(piece));
    used_ += count, offset_ = from + count;
    if (offset_ < whole) return;
    next_.sample = {};
    waiting_ = false, offset_ = 0;
  }

  const Pack pack_;
  std::vector<Sample> row_;  // pieces
  Cursor began_;             // position of the row's first piece
  uint64_t used_ = 0;        // length used in the row
  Pulled next_;
  bool waiting_ = false;  // a part of next_ is left,
  uint64_t offset_ = 0;   // from here on
  bool ended_ = false;
};

}  // namespace

StreamPtr pack_stream(StreamPtr child, const Pack& pack) {
  if (pack.strategy == PackStrategy::concat_and_split)
    return std::make_unique<SplitStream>(std::move(child), pack);
  return std::make_unique<BinsStream>(std::move(child), pack);
}

}  // namespace headrace
