#include "headrace/formats/arrow/put_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "headrace/core/consecutive.h"
#include "headrace/formats/arrow/body.h"

namespace headrace::arrow {
namespace {

using Kind = ColumnPlaces::Kind;

constexpr size_t kRunsAtOnce = 16;        // whose bytes the processor may prefetch
constexpr uint64_t kMostInRun = 256;      // rows
constexpr uint64_t kRunBytes = 64 << 10;  // about

// Adjacent rows of a batch, and where they go.
struct Run {
  const BatchPlaces* batch = nullptr;
  size_t file = 0;
  uint64_t first = 0, count = 0;  // in the batch
  size_t to = 0;
};

// The bytes of a column that a run uses.
struct Shown {
  Text present, offsets, values;
  size_t first_offset = 0;  // of lists, whose offsets are in offsets_
  BufferPtr kept;           // of lists: what the values were copied to
};

// Bit i of the rows from `first` on; `bytes` begins at a whole byte.
bool bit_in(Text bytes, uint64_t first, uint64_t i) {
  const uint64_t at = first % 8 + i;
  return (std::to_integer<unsigned>(load_once<std::byte>(bytes, at / 8)) >> (at % 8) & 1) != 0;
}

uint64_t load_offset(Text offsets, int size, uint64_t i) {
  return size == 8 ? load_once<uint64_t>(offsets, i * 8) : load_once<uint32_t>(offsets, i * 4);
}

class PutRows {
 public:
  PutRows(const Table& table, KnownBatches& known, MappedBytes& mapped, std::span<const FieldPlace> to)
      : table_(table), known_(known), mapped_(mapped), to_(to) {}

  size_t put(std::span<const uint64_t> rows) {
    shown_.resize(std::min(kRunsAtOnce, rows.size()) * to_.size());
    size_t done = 0;
    while (done < rows.size()) {
      size_t end = done, runs = 0;
      for (; runs < kRunsAtOnce && end < rows.size() && locate(rows, end, runs_[runs]); ++runs)
        end += runs_[runs].count;
      const size_t located = runs;
      runs = 0, offsets_.clear();
      while (runs < located && show(runs)) ++runs;
      for (size_t r = 0; r < runs; ++r)
        if (!show_lists(r)) runs = r;
      for (size_t r = 0; r < runs; ++r, done += runs_[r - 1].count)
        if (!is_made(r)) return done;
      if (runs < located || located == 0) break;
    }
    return done;
  }

 private:
  // The run that begins with rows[at]. False where its batch must be read by groups, which report any error.
  bool locate(std::span<const uint64_t> rows, size_t at, Run& out) {
    const Group group = table_.group_of(rows[at]);
    const TableFile& file = table_.files[group.file];
    if (!may_lie_apart(table_, file, group.batch)) return false;
    const uint64_t begin = table_.first[group.file] + file.contents->rows_before(group.batch);
    const uint64_t first = rows[at] - begin, all = file.contents->rows_of(group.batch);
    const uint64_t each = std::max<uint64_t>(1, (*file.batches)[group.batch].length / all);
    const uint64_t most =
        std::min({rows.size() - at, all - first, kMostInRun, std::max<uint64_t>(1, kRunBytes / each)});
    out = {places_of(group.file, group.batch), group.file, first, num_consecutive(rows.subspan(at, most)),
           at};
    return out.batch != nullptr;
  }

  const BatchPlaces* places_of(size_t file, uint64_t batch) {
    if (const BatchPlaces* known = known_.find(file, batch)) return known->has_small_rows() ? known : nullptr;
    const RecordExtent& extent = (*table_.files[file].batches)[batch];
    std::vector<std::byte> message;
    for (uint64_t wants = std::min(extent.length, kFirstLook); wants > message.size();) {
      const Text bytes = wants <= extent.length ? mapped_.at({file, extent.offset, wants}) : Text();
      if (bytes.size() < kPrefix) return nullptr;
      message.assign(bytes.begin(), bytes.end());
      wants = metadata_length(message);
      if (wants <= message.size()) message.resize(wants);
    }
    auto places = BatchPlaces::make(table_.files[file], batch, std::move(message));
    if (!places.ok()) return nullptr;
    const BatchPlaces* known = known_.keep(file, batch, *std::move(places), own_.emplace_back());
    return known->has_small_rows() ? known : nullptr;
  }

  std::span<Shown> shown(size_t r) { return std::span(shown_).subspan(r * to_.size(), to_.size()); }
  const Column& column(const Run& run, size_t i) const { return (*table_.files[run.file].columns)[i]; }
  // Fixed-size values are written in place, lists are shared; a destination that needs another way gets
  // `other`.
  Kind kind(const Run& run, size_t i) const {
    const Kind kind = run.batch->column(i).kind;
    return (kind == Kind::list) == (to_[i].values == nullptr) ? kind : Kind::other;
  }

  // Part of a buffer; false where it is not inside, or must be read.
  bool look(const Run& run, const BufferPlace& buffer, uint64_t offset, uint64_t length, Text& out) {
    if (!within(offset, length, buffer.size)) return false;
    if (length == 0) return out = {}, true;
    out = mapped_.at({run.file, buffer.begin + offset, length});
    if (out.empty()) return false;
    __builtin_prefetch(out.data());
    return true;
  }
  bool look_at_bits(const Run& run, const BufferPlace& buffer, uint64_t first, uint64_t count, Text& out) {
    const uint64_t length = count == 0 ? 0 : (first % 8 + count + 7) / 8;
    return look(run, buffer, first / 8, length, out);
  }

  // Locates everything except the values of lists. Nothing is accessed yet, so the processor waits for many
  // places in memory at once.
  bool show(size_t r) {
    for (size_t i = 0; i < to_.size(); ++i)
      if (!show(runs_[r], i, shown(r)[i])) return false;
    return true;
  }
  bool show(const Run& run, size_t i, Shown& out) {
    const Kind kind = this->kind(run, i);
    if (kind == Kind::other) return true;
    const Column& column = this->column(run, i);
    const ColumnPlaces& places = run.batch->column(i);
    if (places.has_nulls && !look_at_bits(run, places.present, run.first, run.count, out.present))
      return false;
    if (kind == Kind::list) {
      const auto size = static_cast<uint64_t>(column.offset_size);
      return look(run, places.offsets, saturating_mul(run.first, size), (run.count + 1) * size, out.offsets);
    }
    const uint64_t each = column.items_each(), size = saturating_mul(each, size_of(column.stored));
    if (column.bits)
      return look_at_bits(run, places.values, saturating_mul(run.first, each),
                          saturating_mul(run.count, each), out.values);
    return look(run, places.values, saturating_mul(run.first, size), saturating_mul(run.count, size),
                out.values);
  }

  // The values of lists, by their offsets, each of which is loaded once.
  bool show_lists(size_t r) {
    const Run& run = runs_[r];
    for (size_t i = 0; i < to_.size(); ++i) {
      if (kind(run, i) != Kind::list) continue;
      Shown& list = shown(r)[i];
      const Column& column = this->column(run, i);
      list.first_offset = offsets_.size();
      for (uint64_t k = 0; k <= run.count; ++k) {
        const uint64_t next = load_offset(list.offsets, column.offset_size, k);
        if (k > 0 && next < offsets_.back()) return false;
        offsets_.push_back(next);
      }
      const uint64_t begin = offsets_[list.first_offset], size = column.item.size_bytes(column.dtype);
      if (!look(run, run.batch->column(i).values, saturating_mul(begin, size),
                saturating_mul(offsets_.back() - begin, size), list.values))
        return false;
    }
    return true;
  }

  // All rows of a run, or none.
  bool is_made(size_t r) {
    const Run& run = runs_[r];
    others_.clear();
    for (size_t i = 0; i < to_.size(); ++i) {
      Shown& from = shown(r)[i];
      const Kind kind = this->kind(run, i);
      if (kind == Kind::other ? !make_others(run, i) : has_refused_null(run, i, from)) return false;
      if (kind == Kind::list && !keep(from, size_of(column(run, i).dtype))) return false;
    }
    size_t other = 0;
    for (size_t i = 0; i < to_.size(); ++i) switch (kind(run, i)) {
        case Kind::fixed: put_fixed(run, i, shown(r)[i]); break;
        case Kind::list: put_lists(run, i, shown(r)[i]); break;
        case Kind::other:
          for (uint64_t k = 0; k < run.count; ++k)
            if (!to_[i].put(run.to + k, std::move(others_[other++]))) return false;
      }
    return true;
  }

  bool keep(Shown& list, size_t align) {
    const auto kept = mapped_.keep(list.values, align);
    if (kept) list.kept = kept->buffer, list.values = kept->bytes;
    return kept.has_value();
  }

  bool has_refused_null(const Run& run, size_t i, const Shown& from) const {
    const bool is_read = table_.nulls[i] == Nulls::zero || table_.nulls[i] == Nulls::mask ||
                         (table_.nulls[i] == Nulls::nan && kind(run, i) == Kind::fixed);  // not a list
    if (!run.batch->column(i).has_nulls || is_read) return false;
    for (uint64_t k = 0; k < run.count; ++k)
      if (!bit_in(from.present, run.first, k)) return true;
    return false;
  }
  bool is_null(const Run& run, size_t i, const Shown& from, uint64_t k) const {
    return run.batch->column(i).has_nulls && table_.nulls[i] != Nulls::error &&
           !bit_in(from.present, run.first, k);
  }

  void put_fixed(const Run& run, size_t i, const Shown& from) const {
    const Column& column = this->column(run, i);
    const uint64_t count = run.count * column.items_each(), size = to_[i].spec->size_bytes();
    std::byte* const to = to_[i].values + run.to * size;
    if (column.bits) {
      for (uint64_t k = 0; k < count; ++k)
        to[k] = std::byte{bit_in(from.values, run.first * column.items_each(), k)};
    } else if (column.stored != column.dtype) {
      for (uint64_t k = 0; k < count; ++k) {
        const int64_t wide = load_once<int32_t>(from.values, k * sizeof(int32_t));
        std::memcpy(to + k * sizeof wide, &wide, sizeof wide);
      }
    } else if (!from.values.empty()) {
      std::memcpy(to, from.values.data(), from.values.size());
    }
    for (uint64_t k = 0; k < run.count; ++k) {
      if (!is_null(run, i, from, k)) continue;
      std::memset(to + k * size, 0, size);
      if (table_.nulls[i] == Nulls::nan) fill_nan(column.dtype, {to + k * size, size});
    }
  }

  void put_lists(const Run& run, size_t i, Shown& from) const {
    const Column& column = this->column(run, i);
    const uint64_t* const offsets = offsets_.data() + from.first_offset;
    const uint64_t size = column.item.size_bytes(column.dtype);
    const BufferPtr buffer = std::move(from.kept);
    for (uint64_t k = 0; k < run.count; ++k) {
      const uint64_t length = is_null(run, i, from, k) ? 0 : offsets[k + 1] - offsets[k];
      const Text row = from.values.subspan((offsets[k] - offsets[0]) * size, length * size);
      if (to_[i].texts)
        to_[i].texts->set(run.to + k, buffer, row);
      else
        to_[i].share(run.to + k, {buffer, static_cast<size_t>(row.data() - buffer->data()), column.dtype,
                                  column.item.with_front(static_cast<int64_t>(length)), nullptr});
    }
  }

  // As groups do it, over copies: readers load bytes more than once.
  bool make_others(const Run& run, size_t i) {
    const TableFile& file = table_.files[run.file];
    const Batch* const batch = run.batch->batch();
    if (!batch) return false;
    auto reader =
        RowsReader::make(known_.alone(run.file, i), *batch, run.first, run.count, file.dictionaries);
    if (!reader.ok()) return false;
    while (!reader->wanted().empty()) {
      std::vector<Bytes> copies;
      for (const RowsReader::Wanted& wanted : reader->wanted()) {
        const auto piece = piece_of(*batch, wanted.cut);
        Text bytes;
        if (!piece.ok() ||
            !look(run, {run.batch->body_at(), batch->body()}, piece->offset, piece->length, bytes))
          return false;
        const auto kept = mapped_.keep(bytes, kAlign);
        if (!kept) return false;
        copies.push_back({kept->buffer, kept->offset(), bytes.size()});
      }
      if (!reader->take(std::move(copies)).ok()) return false;
    }
    const std::vector<Values> values = (*std::move(reader)).finish();
    for (uint64_t k = 0; k < run.count; ++k)
      if (!values[0].at(k, table_.nulls[i], others_.emplace_back()).ok()) return false;
    return true;
  }

  static constexpr uint64_t kFirstLook = 4096;  // usually all of a batch's metadata
  static constexpr size_t kAlign = 8;           // enough for any number type

  const Table& table_;
  KnownBatches& known_;
  MappedBytes& mapped_;
  std::span<const FieldPlace> to_;
  std::array<Run, kRunsAtOnce> runs_;
  std::vector<Shown> shown_;       // of each run, of each column
  std::vector<uint64_t> offsets_;  // of lists of all runs
  std::vector<Tensor> others_;     // of one run: the rows of each column of kind `other`
  std::vector<std::unique_ptr<const BatchPlaces>> own_;
};

}  // namespace

size_t put_rows(const Table& table, KnownBatches& known, std::span<const uint64_t> rows, MappedBytes& mapped,
                std::span<const FieldPlace> to) {
  return PutRows(table, known, mapped, to).put(rows);
}

}  // namespace headrace::arrow
