// Zarr stores: see README.md in this folder.
#include <algorithm>
#include <cstring>
#include <optional>

#include "headrace/core/saturate.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/format.h"
#include "headrace/formats/meaning/attributes.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/formats/zarr/rows.h"

namespace headrace {
namespace {

using zarr::Field;
using zarr::Hierarchy;
using zarr::Part;
using zarr::ReadRows;
using zarr::RowRange;
using zarr::Table;

constexpr uint64_t kMostIndexes = uint64_t{64} << 20;  // bytes of all shard indexes that are kept,
constexpr size_t kMostShardsKept = 16 << 10;           // for at most this many shards
// While small rows are read to be kept: chunks, and their bytes, per step.
constexpr uint64_t kKeptAtOnce = 64, kKeptBytesAtOnce = 4 << 20;

class ZarrBlock final : public Block {
 public:
  ZarrBlock(std::shared_ptr<const Table> table, const Part& part, RowRange range,
            std::vector<zarr::Rows> fields)
      : table_(std::move(table)), part_(part), range_(range), fields_(std::move(fields)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= range_.size())
      return invalid({.expected = "a row below " + std::to_string(range_.size()), .got = std::to_string(row)})
          .in_format("zarr");
    fields.resize(fields_.size());
    for (size_t i = 0; i < fields.size(); ++i)
      fields[i] = fields_[i].row(part_.fields[i], range_.begin + row);
    return {};
  }

  bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const override {
    const Field& of = part_.fields[static_cast<size_t>(field)];
    const zarr::Rows& in = fields_[static_cast<size_t>(field)];
    if (of.array.element.is_text() ||
        std::ranges::any_of(rows, [&](uint64_t row) { return row >= range_.size(); }))
      return false;
    const size_t size = of.array.row_bytes();
    if (size == 0) return true;
    const std::byte* from = in.numbers->data() + (range_.begin - in.first) * size;
    for (size_t i = 0; i < rows.size(); ++i) std::memcpy(out + i * size, from + rows[i] * size, size);
    return true;
  }

  size_t held_bytes() const override {
    size_t out = 0;
    for (const zarr::Rows& field : fields_) out += field.held;
    return out;
  }

 private:
  std::shared_ptr<const Table> table_;
  const Part& part_;
  RowRange range_;
  std::vector<zarr::Rows> fields_;
};

// Combines the extents requested by several fields in one step.
class ReadFields {
 public:
  ReadFields() = default;
  void add(const Field& field, RowRange rows) { reading_.emplace_back(field, rows), counts_.push_back(0); }
  bool is_empty() const { return reading_.empty(); }

  Result<std::vector<Extent>> advance(std::span<const BufferPtr> bytes) {
    std::vector<Extent> out;
    for (size_t i = 0; i < reading_.size(); ++i) {
      const auto answers = bytes.subspan(0, counts_[i]);
      bytes = bytes.subspan(counts_[i]);
      HEADRACE_ASSIGN(const std::vector<Extent> wanted, reading_[i].advance(answers));
      counts_[i] = wanted.size();
      out.insert(out.end(), wanted.begin(), wanted.end());
    }
    return out;
  }
  zarr::Rows take(size_t i) { return std::move(reading_[i]).finish(); }

 private:
  std::vector<ReadRows> reading_;
  std::vector<size_t> counts_;  // of extents that each requested last
};

class OpenZarrBlock final : public Opening<BlockPtr> {
 public:
  OpenZarrBlock(std::shared_ptr<const Table> table, const Part& part, RowRange range)
      : table_(std::move(table)), part_(part), range_(range) {
    for (const Field& field : part_.fields)
      if (!field.kept) reading_.add(field, range_);
  }

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    auto wanted = reading_.advance(bytes);
    if (!wanted.ok()) return wanted.status().in_format("zarr");
    if (!wanted->empty()) return Step<BlockPtr>(*std::move(wanted));
    std::vector<zarr::Rows> fields;
    size_t read = 0;
    for (const Field& field : part_.fields)
      fields.push_back(field.kept ? zarr::Rows::kept(field) : reading_.take(read++));
    return Step<BlockPtr>(std::make_shared<ZarrBlock>(table_, part_, range_, std::move(fields)));
  }

 private:
  std::shared_ptr<const Table> table_;
  const Part& part_;
  RowRange range_;
  ReadFields reading_;
};

class ZarrSource final : public Source {
 public:
  ZarrSource(std::shared_ptr<const Table> table, Value description)
      : table_(std::move(table)), description_(std::move(description)) {}

  const Schema& schema() const override { return table_->schema; }
  uint64_t size() const override { return table_->rows; }
  Place place(uint64_t index) const override {
    const Part& part = table_->part_of_row(index);
    const uint64_t row = index - part.first_row;
    return {part.first_block + row / part.rows_each, row % part.rows_each};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const Part& part = table_->part_of_block(block);
    const uint64_t begin = (block - part.first_block) * part.rows_each;
    const RowRange rows{begin, part.rows - begin < part.rows_each ? part.rows : begin + part.rows_each};
    return with_changes(std::make_unique<OpenZarrBlock>(table_, part, rows), part.changes);
  }
  uint64_t num_files() const override { return table_->listing->files.size(); }
  std::string file(uint64_t ordinal) const override {
    return zarr::path_in_store(table_->root, table_->listing->files[ordinal]);
  }

  SamplePlace where(uint64_t index) const override {
    const Part& part = table_->part_of_row(index);
    const uint64_t row = index - part.first_row;
    return {table_->root, ", row " + std::to_string(row) + " of /" + part.fields[0].array.path, row};
  }
  Value describe() const override { return description_; }
  std::string fingerprint() const override { return table_->fingerprint; }

  Value metadata() const override {
    Value out{Value::Object()};
    out.set("group", "/" + table_->parts[0].group);
    if (table_->parts.size() > 1) out.set("stores", table_->parts.size());
    const std::vector<std::string>& decoded = table_->decoded;
    if (!decoded.empty()) out.set("decoded", Value::List(decoded.begin(), decoded.end()));
    const Value& attributes = table_->attributes;
    if (attributes.object() && !attributes.object()->empty() && !attributes.find("headrace"))
      out.set("attributes", attributes);
    if (!table_->field_attributes.is_null()) out.set("field_attributes", table_->field_attributes);
    table_->agreed.add_to(out);
    return out;
  }

 private:
  std::shared_ptr<const Table> table_;
  Value description_;
};

// Reads the metadata, then shard indexes, then rows small enough to be kept.
class OpenZarr final : public Opening<SourcePtr> {
 public:
  OpenZarr(OpenRequest request, zarr::TableOptions options)
      : request_(std::move(request)),
        options_(std::move(options)),
        hierarchy_(request_.path().path, request_.path().listing->files) {}

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    if (stage_ == Stage::hierarchy) {
      HEADRACE_ASSIGN(auto step, hierarchy_.advance(bytes));
      if (auto* wanted = std::get_if<std::vector<Extent>>(&step)) return Step<SourcePtr>(std::move(*wanted));
      HEADRACE_ASSIGN(Table made, zarr::make_table(std::get<Hierarchy>(step), options_, request_.path().path,
                                                   request_.path().listing));
      table_ = std::make_shared<Table>(std::move(made));
      for (Part& part : table_->parts)
        for (Field& field : part.fields) all_.push_back(&field);
      stage_ = Stage::indexes;
      std::vector<Extent> wanted = ask_indexes();
      if (!wanted.empty()) return Step<SourcePtr>(std::move(wanted));
      bytes = {};
    }
    if (stage_ == Stage::indexes) {
      HEADRACE_TRY(take_indexes(bytes));
      stage_ = Stage::rows;
      bytes = {};
    }
    while (true) {
      if (!keeping_ && !begin_keeping()) break;
      HEADRACE_ASSIGN(std::vector<Extent> wanted, keeping_->advance(bytes));
      if (!wanted.empty()) return Step<SourcePtr>(std::move(wanted));
      take_rows();
      bytes = {};
    }
    return Step<SourcePtr>(
        std::make_shared<ZarrSource>(std::move(table_), describe_opening("zarr", request_)));
  }

 private:
  enum class Stage : uint8_t { hierarchy, indexes, rows };

  std::vector<Extent> ask_indexes() {
    uint64_t left = kMostIndexes, files_left = kMostShardsKept;
    std::vector<Extent> out;
    for (Field* const field_of : all_) {
      Field& field = *field_of;
      if (!field.array.has_index() || field.chunks.empty()) continue;
      const zarr::Sharding& sharding = *field.array.chain.sharding;
      const uint64_t each = sharding.index_bytes(field.array.chunks_in_shard());
      const uint64_t all = saturating_mul(each, field.chunks.size());
      if (all > left || field.chunks.size() > files_left) continue;
      left -= all, files_left -= field.chunks.size();
      for (const zarr::StoredChunk& chunk : field.chunks)
        out.push_back({chunk.file, sharding.index_at_end ? kAtEnd : 0, each});
      asked_.push_back(&field);
    }
    return out;
  }

  Status take_indexes(std::span<const BufferPtr> bytes) {
    for (Field* const asked : asked_) {
      Field& field = *asked;
      const zarr::Array& array = field.array;
      for (const zarr::StoredChunk& chunk : field.chunks) {
        auto index = zarr::decode_index(*array.chain.sharding, array.chunks_in_shard(), bytes[0]);
        if (!index.ok())
          return index.status().before(
              in_quotes(zarr::path_in_store(table_->root, table_->listing->files[chunk.file])) + ": ");
        field.indexes.push_back(*std::move(index));
        bytes = bytes.subspan(1);
      }
    }
    return {};
  }

  // Starts reading the next rows to keep; false when there are none.
  bool begin_keeping() {
    for (; field_ < all_.size(); ++field_, row_ = 0, kept_ = nullptr) {
      Field& field = *all_[field_];
      if (!field.is_to_keep) continue;
      if (!kept_) kept_ = HeapBuffer::make(field.array.rows() * field.array.row_bytes());
      if (row_ == field.array.rows()) {
        field.kept = std::exchange(kept_, nullptr);
        continue;
      }
      const uint64_t across = std::max<uint64_t>(field.array.cells_across(), 1);
      const uint64_t cells = std::min(kKeptAtOnce, kKeptBytesAtOnce / field.array.cell_bytes());
      const uint64_t rows = std::max<uint64_t>(cells / across, 1) * field.array.cell()[0];
      range_ = {row_, std::min(saturating_add(row_, rows), field.array.rows())};
      keeping_.emplace();
      keeping_->add(field, range_);
      return true;
    }
    return false;
  }

  void take_rows() {
    const Field& field = *all_[field_];
    const zarr::Rows rows = keeping_->take(0);
    const uint64_t size = field.array.row_bytes();
    if (const uint64_t bytes = range_.size() * size; bytes > 0)
      std::memcpy(kept_->mutable_data() + range_.begin * size,
                  rows.numbers->data() + (range_.begin - rows.first) * size, bytes);
    row_ = range_.end;
    keeping_.reset();
  }

  OpenRequest request_;
  zarr::TableOptions options_;
  zarr::OpenHierarchy hierarchy_;
  Stage stage_ = Stage::hierarchy;
  std::shared_ptr<Table> table_;
  std::vector<Field*> all_, asked_;  // fields of all parts; those whose indexes were requested
  size_t field_ = 0;                 // current field to keep,
  uint64_t row_ = 0;                 // and its next row
  MutableBufferPtr kept_;
  RowRange range_;
  std::optional<ReadFields> keeping_;
};

int recognise(const Probe& probe) {
  if (!probe.listing) return 0;
  const int store = zarr::looks_like_store(probe.listing->files);
  return store > 0 ? store : zarr::looks_like_n5(probe.listing->files) ? 40 : 0;
}

std::string without_slashes(std::string group) {
  while (group.starts_with('/')) group.erase(0, 1);
  while (group.ends_with('/')) group.pop_back();
  return group;
}

Result<SourceOpening> open(const OpenRequest& request) {
  const Probe& path = request.path();
  if (!path.listing) return invalid({.expected = "the folder of a store", .got = "a file"});
  HEADRACE_TRY(zarr::check_metadata(*path.listing));
  zarr::TableOptions options;
  HEADRACE_ASSIGN(std::string group, request.text("group"));
  options.group = without_slashes(std::move(group));
  HEADRACE_ASSIGN(options.names, request.strings("fields"));
  for (std::string& name : options.names) name = without_slashes(std::move(name));
  HEADRACE_ASSIGN(options.raw, raw_option(request));
  HEADRACE_ASSIGN(options.align_labels, request.flag("align_labels", false));
  const auto files = [root = path.path, listing = path.listing](uint64_t ordinal) {
    return zarr::path_in_store(root, listing->files[ordinal]);
  };
  return SourceOpening{std::make_unique<OpenZarr>(request, std::move(options)), files};
}

const FormatRegistration registered({
    .name = "zarr",
    .doc =
        "The arrays of one group of a Zarr store, version 2 or 3: one sample per slice along the first axis.",
    .fields = "one per array; `array` for a store that is a single array. One-dimensional numeric arrays "
              "give scalars, further axes arrays, one-dimensional arrays of strings str and of bytes bytes.",
    .details =
        {"Missing chunks have the fill value; chunks in shards are read individually. Scalar arrays, "
         "which have no rows, are left out.",
         "Values of arrays that xarray wrote are decoded as xarray does: `metadata[\"decoded\"]` names "
         "the fields, `metadata[\"types\"]` their units, `metadata[\"field_attributes\"]` their "
         "attributes. Times stay numbers of their unit."},
    .path = "The folder of a store, or of a group or an array in it.",
    .options = {{"group", "str | None",
                 "The group, such as \"train\"; when not given the root, or the only group that has arrays."},
                {"fields", "Sequence[str] | None",
                 "Only these arrays, in this order, relative to the group, also in subgroups: \"meta/size\". "
                 "All of the group when not given."},
                raw_option_info("arrays that xarray wrote"),
                align_labels_option(),
                encoding_option()},
    .raises = {{"NotImplementedError",
                "a chosen array has an unsupported type or codec, or the store is in N5 format."},
               {"ValueError",
                "there are several groups, or arrays of different lengths, or a given name does not exist."},
               {"CorruptSample", "metadata, an index or a chunk is damaged."}},
    .example = "hr.read_zarr(\"data.zarr\", group=\"train\")",
    .recognise = recognise,
    .open = open,
    .may_hold_splits = true,
});

}  // namespace
}  // namespace headrace
