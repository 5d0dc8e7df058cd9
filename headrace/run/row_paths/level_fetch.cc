// How the rows of a part get their blocks, and go straight into the batch if no operator processes them.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "headrace/core/cache/element_cache.h"
#include "headrace/core/consecutive.h"
#include "headrace/core/saturate.h"
#include "headrace/io/file_map.h"
#include "headrace/kernels/copy_past_caches.h"
#include "headrace/run/row_paths/level_body.h"
#include "headrace/run/work/leave_blocks.h"

namespace headrace {
namespace {

constexpr uint64_t kSmallSample = 16 << 10;  // bytes; a larger sample gets its own read and block
constexpr uint64_t kTogether = 64 << 10;     // bytes per block of small samples: they stay in the CPU cache
constexpr size_t kMostTogether = 1024;       // small samples per block
constexpr size_t kLongCopy = 16 << 10;       // bytes; in longer copies a few cache lines do not matter

// How many from the first on may be read together: small samples, up to kTogether bytes. Neighbors may share
// bytes.
size_t small_ones(std::span<const Extent> extents) {
  uint64_t bytes = 0;
  size_t n = 0;
  for (; n < std::min(extents.size(), kMostTogether); ++n) {
    const Extent& next = extents[n];
    const bool is_same = n > 0 && next.file == extents[n - 1].file && next.offset == extents[n - 1].offset;
    const uint64_t more = is_same ? 0 : next.length;
    if (next.length > kSmallSample || (n > 0 && bytes + more > kTogether)) break;
    bytes += more;
  }
  return n;
}

// The destinations of the rows of a part, from row `first` of the ticket on.
class PlacesOfRows {
 public:
  PlacesOfRows(Ticket& ticket, Part& part, size_t first) : fields_(ticket.slots.size()) {
    texts_.reserve(fields_.size());
    const Schema& schema = ticket.batch->rows->schema;
    for (size_t f = 0; f < fields_.size(); ++f) {
      fields_[f].spec = &schema.specs[f];
      if (std::byte* const slots = ticket.slots[f].data)
        fields_[f].values = slots + first * schema.specs[f].size_bytes();
      else if (ticket.rows[f].are_texts)
        fields_[f].texts = &texts_.emplace_back(ticket.texts_of(part, f, first));
      else
        fields_[f].tensors = ticket.rows[f].tensors.data() + first;
    }
  }
  PlacesOfRows(const PlacesOfRows&) = delete;
  PlacesOfRows& operator=(const PlacesOfRows&) = delete;
  std::span<FieldPlace> fields() { return fields_; }
  std::span<const FieldPlace> fields() const { return fields_; }

 private:
  std::vector<FieldPlace> fields_;
  std::vector<TextRows> texts_;
};

// Positions and extents of some rows of a part: few enough to stay in the CPU caches.
struct FewRows {
  static constexpr size_t kMost = 512;
  std::array<Position, kMost> at;
  std::array<uint64_t, kMost> indices;
  std::array<Extent, kMost> extents;
};

bool is_kept(const LeafPlan& leaf, const Position& at) {
  return std::ranges::any_of(leaf.caches, [&](const LeafPlan::Cached& cache) {
    return cache.elements->has({cache.leaf, at.index});
  });
}

bool is_small(const Extent& extent) { return extent.length <= kSmallSample; }
// Small enough to be accessed in a map.
bool may_be_mapped(const Extent& extent) { return extent.length <= kMappable.most; }

size_t large_ones(std::span<const Extent> extents) {
  const auto is_large = [](const Extent& extent) { return !is_small(extent) && !extent.lies_apart(); };
  return static_cast<size_t>(std::ranges::find_if_not(extents, is_large) - extents.begin());
}

// How many from the first on are stored in pieces, as many as are worth a block.
size_t apart_ones(const Source& source, std::span<const Extent> extents) {
  if (!extents[0].lies_apart()) return 0;
  uint64_t row_bytes = 1;
  for (const TensorSpec& spec : source.schema().specs)
    if (spec.is_static()) row_bytes = saturating_add(row_bytes, spec.size_bytes());
  const size_t most = std::clamp<uint64_t>(kTogether / row_bytes, 1, kMostTogether);
  const auto some = extents.first(std::min(extents.size(), most));
  return static_cast<size_t>(std::ranges::find_if_not(some, &Extent::lies_apart) - some.begin());
}

// How many of these are neighbors in the block of the first.
size_t same_block(const Source& source, std::span<const uint64_t> indices) {
  const uint64_t block = source.place(indices[0]).block;
  const auto is_in_it = [&](uint64_t index) { return source.place(index).block == block; };
  const auto side_by_side = indices.first(num_consecutive(indices));
  return static_cast<size_t>(std::ranges::partition_point(side_by_side, is_in_it) - side_by_side.begin());
}

// Rows are passed on as the source gives them.
bool passes(const LeafPlan& leaf) { return leaf.source && leaf.programs.empty() && leaf.caches.empty(); }

bool may_pass(const Ticket& ticket, const Part& part, size_t i) {
  const LeafPlan& leaf = ticket.batch->rows->leaves[part.at[i].leaf];
  return passes(leaf) && !part.blocks.empty() && part.blocks[i];
}

// Whether rows of a leaf may be copied in the form of its source.
bool puts(const Ticket& ticket, const LeafPlan& leaf) {
  return passes(leaf) && leaf.source->schema().specs == ticket.batch->rows->schema.specs;
}

// Makes rows from `first` on by calls of the source; returns how many, up to one that found no memory.
size_t fetch_made(Fetcher& fetcher, const Source& source, std::span<const uint64_t> indices, Part& part,
                  size_t first, Counters& counters) {
  size_t done = 0;
  while (done < indices.size()) {
    const auto made = fetcher.made(source, indices.subspan(done), counters);
    if (made.ok() ? made->rows == 0 : made.status().code() == Code::exhausted) break;
    const size_t rows = made.ok() ? made->rows : 1;
    for (size_t k = 0; k < rows; ++k, ++done) {
      const size_t i = first + done;
      if (made.ok())
        part.blocks[i] = made->block, part.rows[i] = k;
      else
        part.failures[i] = made.status();
    }
  }
  return done;
}

// The end of the rows from `first` on that are in one block.
size_t end_of_run(const Part& part, size_t first) {
  size_t end = first + 1;
  if (part.blocks.empty()) return end;
  while (end < part.count && part.at[end].leaf == part.at[first].leaf &&
         part.blocks[end] == part.blocks[first])
    ++end;
  return end;
}

// Large bytes may stay in the mapped file. Anything else is copied: its reader would not expect that it can
// change, or that it is read-only.
bool must_be_copied(const Tensor& field) {
  if (!field.buffer || field.is_ragged()) return false;
  const View view = field.view();
  return (field.dtype != DType::bytes || view.size_bytes() < kMappable.least) && is_mapped(view.data);
}

}  // namespace

Status said_by_format(Status status, const Source& source) {
  if (status.code() != Code::corrupt) return status;
  const auto format = source.describe().get_text("format");
  if (!format.ok() || status.facts().format == *format) return status;
  return std::move(status).in_format(*format);
}

Status LevelBody::fetch(Ticket& ticket, Part& part, Counters& counters) const {
  if (!ticket.batches.empty()) return fetch_many(ticket, part, counters);
  if (as_batch_ && part.count == ticket.num_rows && read_rows(ticket, part, counters)) return {};
  const Stretch rows = stretch_of(ticket);
  HEADRACE_TRY(fetch_and_pass(ticket, part, {&rows, 1}, counters));
  if (many_reads_ && part.has_passed) note_bytes(ticket, part);
  return {};
}

Status LevelBody::fetch_and_pass(Ticket& ticket, Part& part, Stretches rows, Counters& counters) const {
  if (!part.rows.empty()) ticket.take_back(part);  // of an earlier attempt: reuse its memory
  const Level& level = *rows[0].level;
  ticket.begin_rows(part);
  part.forget();
  const Small small = put_small(ticket, part, rows, counters);
  part.has_passed = small == Small::are_put;
  if (part.has_passed) return {};
  if (part.at.empty()) locate(rows, part);
  if (small == Small::was_refused)
    return fetch_part(level, part, counters, nullptr);  // run() reports the error
  std::vector<Mapped> seen;
  Status status = fetch_part(level, part, counters, may_map(ticket, part) ? &seen : nullptr);
  part.has_passed = status.ok() && ticket.batch && pass_all(ticket, part, seen.empty());
  if (seen.empty() || (part.has_passed && are_intact(seen))) return status;
  // A file changed, or there is another error: then everything is read, and errors are reported as usual.
  if (part.has_passed) ticket.take_back(part);
  part.forget();
  HEADRACE_TRY(fetch_part(level, part, counters, nullptr));
  part.has_passed = pass_all(ticket, part, true);
  return {};
}

// Whether no operator processes a batch: then only this code and the consumer read the bytes of its rows.
bool LevelBody::may_stay_mapped(const Ticket& ticket) const {
  return maps_ && ticket.batch && ticket.batch->programs.empty() && ticket.batch->caches.empty();
}

// Whether that holds for all rows of a part.
bool LevelBody::may_map(const Ticket& ticket, const Part& part) const {
  if (!may_stay_mapped(ticket)) return false;
  const std::vector<LeafPlan>& leaves = ticket.batch->rows->leaves;
  if (std::ranges::all_of(leaves, passes)) return true;
  return std::ranges::all_of(part.at, [&](const Position& at) { return passes(leaves[at.leaf]); });
}

Status LevelBody::fetch_part(const Level& level, Part& part, Counters& counters,
                             std::vector<Mapped>* seen) const {
  part.blocks.resize(part.count);
  part.rows.resize(part.count);
  part.failures.assign(part.count, Status());
  const auto is_there = [&](size_t i, const LeafPlan& leaf) {  // needs no read
    return part.blocks[i] || is_kept(leaf, part.at[i]);
  };
  for (size_t i = 0; i < part.count;) {  // runs of rows of one leaf
    const uint32_t ordinal = part.at[i].leaf;
    const LeafPlan& leaf = level.leaves[ordinal];
    if (is_there(i, leaf)) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < part.count && part.at[end].leaf == ordinal && !is_there(end, leaf)) ++end;
    if (leaf.source && !leaf.source->resident()) {
      RowStatus stopped_at = fetch_rows(leaf, part, i, end, counters, seen);
      // Memory only for the first rows: run() reads the others when those are done.
      if (!stopped_at.status.ok()) return stopped_at.row == 0 ? std::move(stopped_at.status) : Status();
    }
    i = end;
  }
  return fetch_zipped(level, part, counters);
}

// The results of earlier inputs are useless if this one found no memory: keeps only the first row.
Status LevelBody::fetch_zipped(const Level& level, Part& part, Counters& counters) const {
  for (size_t k = 0; k < part.zipped.size(); ++k) {
    const Level& input = *level.leaves[0].zipped[k];
    Status status = fetch_part(input, part.zipped[k], counters, nullptr);
    if (status.code() == Code::exhausted && k > 0) {
      for (size_t before = 0; before < k; ++before)
        for (size_t i = 1; i < part.count; ++i) part.zipped[before].forget_row(i);
      status = fetch_part(input, part.zipped[k], counters, nullptr);
    }
    HEADRACE_TRY(std::move(status));
  }
  return {};
}

// Copies small samples without operators directly into the batch when they are read, without a block for
// each. If that is not possible, no row is in place, and the part has the blocks that were read.
LevelBody::Small LevelBody::put_small(Ticket& ticket, Part& part, Stretches rows, Counters& counters) const {
  if (!ticket.batch || std::ranges::none_of(ticket.batch->rows->leaves, passes)) return Small::are_none;
  const std::vector<LeafPlan>& leaves = ticket.batch->rows->leaves;
  const bool large_stay = may_stay_mapped(ticket);
  FewRows few;
  std::span<const Position> at;  // of rows that are located
  for (size_t first = 0, n = 0; first < part.count; first += n, at = at.subspan(n)) {
    if (at.empty() && !part.at.empty()) {
      at = part.at;
    } else if (at.empty()) {
      const auto here = std::span(few.at).first(std::min(few.at.size(), part.count - first));
      locate(rows, part.first + first, here);
      at = here;
    }
    const LeafPlan& leaf = leaves[at[0].leaf];
    const size_t most = std::min(at.size(), FewRows::kMost);
    for (n = 0; n < most && at[n].leaf == at[0].leaf; ++n) few.indices[n] = at[n].index;
    const auto indices = std::span<const uint64_t>(few.indices).first(n);
    const auto extents = std::span(few.extents).first(n);
    bool may_be_put = puts(ticket, leaf);
    Small put = Small::are_none;
    if (may_be_put && leaf.source->extents(indices, extents)) {
      may_be_put = std::ranges::all_of(extents, large_stay ? may_be_mapped : is_small);
      if (may_be_put) put = put_together(ticket, part, first, *leaf.source, indices, extents, counters);
    } else if (may_be_put = may_be_put && Fetcher::shares_blocks(*leaf.source); may_be_put) {
      put = put_of_blocks(ticket, part, first, *leaf.source, indices, counters);
    }
    if (put == Small::are_put) continue;
    if (may_be_put || first > 0) ticket.take_back(part);
    return put;
  }
  return Small::are_put;
}

// The same for rows of one source from row `first` on, one block after the other. REQUIRES: there are some.
LevelBody::Small LevelBody::put_of_blocks(Ticket& ticket, Part& part, size_t first, const Source& source,
                                          std::span<const uint64_t> indices, Counters& counters) const {
  std::array<uint64_t, FewRows::kMost> rows;
  std::vector<Mapped> seen;  // rows of mapped blocks are not copied here
  std::vector<TextsThatLeave> leaving(ticket.slots.size(), TextsThatLeave(fetcher_->pool()));
  Place at = source.place(indices[0]);
  for (size_t done = 0, n = 0; done < indices.size(); done += n) {
    const uint64_t number = at.block;
    for (n = 0; at.block == number;) {
      rows[n++] = at.row;
      if (done + n == indices.size()) break;
      at = source.place(indices[done + n]);
    }
    const auto block = fetcher_->block(source, number, counters, may_stay_mapped(ticket) ? &seen : nullptr);
    if (!block.ok() || !seen.empty()) return Small::are_none;
    PlacesOfRows places(ticket, part, part.first + first + done);
    const std::span<FieldPlace> fields = places.fields();
    for (size_t f = 0; f < fields.size() && n <= TextsThatLeave::kMostRows; ++f)
      if (fields[f].texts) fields[f].texts = &leaving[f].begin(n, *fields[f].texts);
    if ((*block)->put(std::span(rows).first(n), fields) < n) return Small::are_none;
    for (TextsThatLeave& texts : leaving) texts.leave();
  }
  return Small::are_put;
}

// The same for samples that are read individually: together, or out of maps.
LevelBody::Small LevelBody::put_together(Ticket& ticket, Part& part, size_t first, const Source& source,
                                         std::span<const uint64_t> indices, std::span<const Extent> extents,
                                         Counters& counters) const {
  std::vector<uint64_t> rows;
  for (size_t done = 0, n = 0; done < indices.size(); done += n) {
    const PlacesOfRows places(ticket, part, part.first + first + done);
    const auto rest = extents.subspan(done);
    const auto large = may_stay_mapped(ticket) ? Fetcher::Large::may_stay : Fetcher::Large::are_copied;
    const auto mapped =
        fetcher_->put_mapped(source, indices.subspan(done), rest, places.fields(), large, counters);
    if (!mapped) return Small::are_none;
    if (n = *mapped; n > 0) continue;
    n = small_ones(rest);
    if (n == 0) return Small::are_none;  // a large one must be read
    const auto block = fetcher_->together(source, indices.subspan(done, n), rest.first(n), counters);
    if (!block.ok()) return Small::are_none;
    rows.resize(n);
    std::iota(rows.begin(), rows.end(), uint64_t{0});
    if ((*block)->put(rows, places.fields()) == n) continue;
    part.blocks.resize(part.count);
    part.rows.resize(part.count);
    for (size_t k = 0; k < n; ++k) part.blocks[first + done + k] = *block, part.rows[first + done + k] = k;
    return Small::was_refused;
  }
  return Small::are_put;
}

// False if a row cannot be passed: run() then processes all of them. Without `may_put` (blocks may be of
// mapped files) each row is handled individually.
bool LevelBody::pass_all(Ticket& ticket, Part& part, bool may_put) const {
  std::vector<Tensor> fields;
  for (size_t i = 0; i < part.count;) {
    const size_t end = end_of_run(part, i);
    // If a block does not support put(), it is not tried again for its other rows.
    for (bool puts = may_put; i < end;) {
      const size_t rows = puts ? put(ticket, part, i, end) : 0;
      puts = rows > 0, i += rows;
      if (i == end) break;
      if (!pass(ticket, part, i++, fields)) {
        ticket.take_back(part);
        return false;
      }
    }
  }
  return true;
}

// Copies rows of one block (see end_of_run()) at once; returns how many, from the first on.
size_t LevelBody::put(Ticket& ticket, Part& part, size_t first, size_t end) const {
  if (!may_pass(ticket, part, first) || !puts(ticket, ticket.batch->rows->leaves[part.at[first].leaf]))
    return 0;
  return part.blocks[first]->put(std::span(part.rows).subspan(first, end - first),
                                 PlacesOfRows(ticket, part, part.first + first).fields());
}

RowStatus LevelBody::fetch_rows(const LeafPlan& leaf, Part& part, size_t first, size_t end,
                                Counters& counters, std::vector<Mapped>* seen) const {
  std::vector<uint64_t> indices(end - first);
  for (size_t i = first; i < end; ++i) indices[i - first] = part.at[i].index;
  std::vector<Extent> extents(indices.size());
  if (!leaf.source->extents(indices, extents)) {
    if (leaf.source->num_files() == 0)  // only sources without files make samples by calls
      first += fetch_made(*fetcher_, *leaf.source, indices, part, first, counters);
    return fetch_blocks(leaf, part, first, end, counters, seen);
  }
  constexpr size_t kFewRefusals = 4;  // with more, most rows of the part are in no map, or have no room
  size_t refusals = 0, copied = 0;
  for (size_t i = first, n = 0; i < end; i += n) {
    const std::span<const Extent> next = std::span(extents).subspan(i - first);
    const std::span<const uint64_t> wanted = std::span(indices).subspan(i - first);
    n = apart_ones(*leaf.source, next);
    if (n > 0) {
      const auto [block, rows] =
          refusals < kFewRefusals + copied
              ? fetcher_->copied(*leaf.source, wanted.first(n), next.first(n), counters)
              : Fetcher::Copied();
      refusals += rows == 0, copied += rows;
      for (size_t k = 0; k < rows; ++k) part.blocks[i + k] = block, part.rows[i + k] = k;
      if (rows > 0) {
        n = rows;
        continue;
      }
      n = same_block(*leaf.source, wanted.first(n));
    } else if (n = small_ones(next); n > 0) {
      const auto block = fetcher_->together(*leaf.source, wanted.first(n), next.first(n), counters);
      for (size_t k = 0; block.ok() && k < n; ++k) part.blocks[i + k] = *block, part.rows[i + k] = k;
      if (block.ok())
        continue;  // otherwise each is read alone, so that a failure does not affect its neighbors
    } else {
      n = large_ones(next);
    }
    RowStatus stopped_at = fetch_blocks(leaf, part, i, i + n, counters, seen);
    if (!stopped_at.status.ok()) return stopped_at;
  }
  return {};
}

RowStatus LevelBody::fetch_blocks(const LeafPlan& leaf, Part& part, size_t first, size_t end,
                                  Counters& counters, std::vector<Mapped>* seen) const {
  uint64_t before = 0;
  for (size_t i = first; i < end; ++i) {
    const Place wanted = leaf.source->place(part.at[i].index);
    part.rows[i] = wanted.row;
    if (i > first && wanted.block == before && part.blocks[i - 1] && leaf.source->num_files() > 0) {
      part.blocks[i] = part.blocks[i - 1];  // neighbors in order: rows of one block
      continue;
    }
    before = wanted.block;
    auto block = fetcher_->block(*leaf.source, wanted.block, counters, seen);
    if (block.ok())
      part.blocks[i] = *std::move(block);
    else if (block.status().code() == Code::exhausted)
      return {of_sample(block.status(), leaf, part.at[i]).at_place(leaf.made_at), i};
    else
      part.failures[i] = block.status();
  }
  return {};
}

// Passes a row of a batch that goes through no program: fields are unchanged. False if that fails; the
// general path then reports the error. `fields` is a reused buffer.
bool LevelBody::pass(Ticket& ticket, Part& part, size_t i, std::vector<Tensor>& fields) const {
  if (!may_pass(ticket, part, i)) return false;
  if (!part.blocks[i]->get(part.rows[i], fields).ok() || fields.size() != ticket.slots.size()) return false;
  const size_t n = part.first + i;
  for (size_t f = 0; f < fields.size(); ++f) {
    const MutView& slot = ticket.slots[f];
    const TensorSpec& spec = ticket.batch->rows->schema.specs[f];
    if (slot.data ? fields[f].dtype != spec.dtype || !(fields[f].shape == spec.shape)
                  : ticket.rows[f].are_texts && fields[f].is_ragged())
      return false;
  }
  for (size_t f = 0; f < fields.size(); ++f) {
    if (!ticket.slots[f].data) {
      if (maps_ && must_be_copied(fields[f])) {
        fields[f].buffer = fetcher_->copy(fields[f].view().bytes());
        fields[f].offset = 0;
        if (!fields[f].buffer) return false;
      }
      ticket.set_row(part, f, n, std::move(fields[f]));
      continue;
    }
    const View view = fields[f].view();
    const size_t size = view.size_bytes();
    std::byte* const to = ticket.slots[f].data + n * size;
    if (size >= kLongCopy && ticket.slots[f].size_bytes() >= kernels::kBeyondCaches)
      kernels::copy_past_caches(to, view.data, size);
    else if (size > 0)
      std::memcpy(to, view.data, size);
  }
  return true;
}

}  // namespace headrace
