// LMDB: see README.md beside this file.
#include <algorithm>
#include <array>
#include <optional>

#include "headrace/codecs/fields.h"
#include "headrace/formats/lmdb/index.h"
#include "headrace/formats/lmdb/page.h"
#include "headrace/formats/records/damaged.h"
#include "headrace/formats/records/record_files.h"

namespace headrace {
namespace {

struct LmdbFile {
  SourceFile file;
  uint64_t page_size = 0, size = 0;  // size: records
  std::vector<RecordExtent> extents;
  std::vector<LmdbBlock> blocks;  // as many
  BufferPtr keys;                 // of big values

  // The block that record `i` is in. Blocks are of about the same size, so a look at where it would then be
  // comes close, and steps that double do the rest.
  uint64_t block_of(uint64_t i) const {
    const auto begins_after = [&](uint64_t block) { return blocks[block].first > i; };
    uint64_t low = std::min<uint64_t>(
        blocks.size() - 1, static_cast<uint64_t>(static_cast<double>(i) / static_cast<double>(size) *
                                                 static_cast<double>(blocks.size())));
    uint64_t high = low + 1, step = 1;  // the answer is in [low, high)
    while (begins_after(low)) high = low, low -= std::min(low, step), step *= 2;
    while (high < blocks.size() && !begins_after(high))
      low = high, high = std::min<uint64_t>(blocks.size(), high + step), step *= 2;
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      (begins_after(middle) ? high : low) = middle;
    }
    return low;
  }
  bool is_big(uint64_t block) const { return blocks[block].kind == LmdbBlock::big; }
  bool is_lost(uint64_t block) const { return blocks[block].kind == LmdbBlock::lost; }
  // The key of a big value, or why a block is lost.
  std::span<const std::byte> key_of(uint64_t block) const {
    return keys->bytes().subspan(blocks[block].key, blocks[block].key_size);
  }
  uint64_t page_of(uint64_t block) const { return extents[block].offset / page_size; }
  uint64_t records_of(uint64_t block) const {
    return (block + 1 < blocks.size() ? blocks[block + 1].first : size) - blocks[block].first;
  }
};

// What source and blocks share: blocks may outlive their source.
struct Lmdb {
  Schema schema;
  enum class Values : uint8_t { bytes, datum, tensor_protos } values = Values::bytes;
  DatumKind datum;
  TensorProtosKind tensors;
  std::vector<LmdbFile> files;
  std::vector<uint64_t> first_record, first_block;  // of each file; of all at the end
  bool is_damaged = false;                          // a block of one is lost

  Status fields(Tensor key, Tensor value, std::vector<Tensor>& out) const {
    if (values == Values::datum) return read_datum(value, datum, out);
    if (values == Values::tensor_protos) return read_tensor_protos(value, tensors, out);
    out.resize(2);
    out[0] = std::move(key), out[1] = std::move(value);
    return {};
  }
};

Tensor bytes_at(const BufferPtr& buffer, size_t offset, size_t size) {
  return {buffer, offset, DType::bytes, {static_cast<int64_t>(size)}, nullptr};
}

// A key and the value behind it, row n of a batch.
void share(const BufferPtr& buffer, Text bytes, size_t key, size_t n, std::span<const FieldPlace> to) {
  to[0].texts->set(n, buffer, bytes.first(key));
  to[1].texts->set(n, buffer, bytes.subspan(key));
}
// The same of the big value of a block.
void share_big(const LmdbFile& file, uint64_t block, const BufferPtr& buffer, Text value, size_t n,
               std::span<const FieldPlace> to) {
  to[0].texts->set(n, file.keys, file.key_of(block));
  to[1].texts->set(n, buffer, value);
}

class Values final : public Block {
 public:
  // `at`: where in `bytes` the block's extent begins.
  Values(std::shared_ptr<const Lmdb> lmdb, size_t file, uint64_t block, BufferPtr bytes, size_t at = 0)
      : lmdb_(std::move(lmdb)), file_(lmdb_->files[file]), block_(block), bytes_(std::move(bytes)), at_(at) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= file_.records_of(block_))
      return invalid("lmdb: wants a row below " + std::to_string(file_.records_of(block_)) + ", got " +
                     std::to_string(row));
    return is_big() ? big(fields) : small(row, fields);
  }

  bool are_bytes() const { return lmdb_->values == Lmdb::Values::bytes; }
  bool is_big() const { return file_.is_big(block_); }
  Result<LmdbPage> parse() const { return LmdbPage::parse(block_bytes(), page(), LmdbPage::Kind::leaf); }
  // Key and value, as they are. False: get() says why. REQUIRES: are_bytes().
  bool put_big(size_t n, std::span<const FieldPlace> to) const {
    const auto value = lmdb_big_value(block_bytes(), page(), file_.page_size);
    if (value.ok()) share_big(file_, block_, bytes_, *value, n, to);
    return value.ok();
  }
  // The same of a row of a leaf, which parse() gave.
  bool put(const LmdbPage& page, uint64_t row, size_t n, std::span<const FieldPlace> to) const {
    if (row >= file_.records_of(block_)) return false;
    const auto node = page.small_node(file_.blocks[block_].node + row);
    if (node) share(bytes_, node->bytes, node->key, n, to);
    return node.has_value();
  }

 private:
  std::span<const std::byte> block_bytes() const {
    return bytes_->bytes().subspan(at_, file_.extents[block_].length);
  }
  uint64_t page() const { return file_.page_of(block_); }

  Status big(std::vector<Tensor>& fields) const {
    HEADRACE_ASSIGN(const auto value, lmdb_big_value(block_bytes(), page(), file_.page_size));
    const LmdbBlock& block = file_.blocks[block_];
    return lmdb_->fields(bytes_at(file_.keys, block.key, block.key_size),
                         bytes_at(bytes_, at_ + kLmdbPageHeader, value.size()), fields);
  }

  Status small(uint64_t row, std::vector<Tensor>& fields) const {
    HEADRACE_ASSIGN(const LmdbPage leaf, parse());
    HEADRACE_ASSIGN(const LmdbNode node, leaf.node(file_.blocks[block_].node + row));
    if (node.is_big) return corrupt("wants a value inside its page as when it was indexed, got another page");
    const auto shared = [&](std::span<const std::byte> part) {
      return bytes_at(bytes_, static_cast<size_t>(part.data() - bytes_->data()), part.size());
    };
    return lmdb_->fields(shared(node.key), shared(node.value), fields);
  }

  std::shared_ptr<const Lmdb> lmdb_;
  const LmdbFile& file_;  // of lmdb_
  uint64_t block_;
  BufferPtr bytes_;
  size_t at_;
};

// Small values of any leaves, whose pages were read together.
class Pages final : public Block {
 public:
  struct Row {
    uint64_t row = 0;  // of `values`
    size_t values = 0;
  };
  Pages(std::vector<Values> values, std::vector<Row> rows)
      : values_(std::move(values)), rows_(std::move(rows)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= rows_.size())
      return invalid("lmdb: wants a row below " + std::to_string(rows_.size()) + ", got " +
                     std::to_string(row));
    return values_[rows_[row].values].get(rows_[row].row, fields);
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    if (values_.empty() || !values_[0].are_bytes()) return put_each(*this, rows, to);
    std::optional<LmdbPage> page;
    size_t of = 0;  // of which of `values_`
    for (size_t n = 0; n < rows.size(); ++n) {
      if (rows[n] >= rows_.size()) return n;
      const Row& row = rows_[rows[n]];
      if (values_[row.values].is_big()) {
        if (!values_[row.values].put_big(n, to)) return n;
        continue;
      }
      if (!page || row.values != of) {
        auto parsed = values_[row.values].parse();
        if (!parsed.ok()) return n;
        page = *parsed, of = row.values;
      }
      if (!values_[of].put(*page, row.row, n, to)) return n;
    }
    return rows.size();
  }

 private:
  std::vector<Values> values_;
  std::vector<Row> rows_;
};

class OpenValues final : public Opening<BlockPtr> {
 public:
  OpenValues(std::shared_ptr<const Lmdb> lmdb, size_t file, uint64_t block)
      : lmdb_(std::move(lmdb)), file_(file), block_(block) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    const LmdbFile& file = lmdb_->files[file_];
    if (file.is_lost(block_)) return corrupt(std::string(characters_of(file.key_of(block_))));
    const RecordExtent& extent = file.extents[block_];
    const bool mappable = lmdb_->values == Lmdb::Values::bytes && file.is_big(block_);
    if (bytes.empty())
      return Step<BlockPtr>(std::vector<Extent>{{file_, extent.offset, extent.length, mappable}});
    return Step<BlockPtr>(std::make_shared<Values>(std::move(lmdb_), file_, block_, bytes[0]));
  }

 private:
  std::shared_ptr<const Lmdb> lmdb_;
  size_t file_;
  uint64_t block_;
};

class LmdbSource final : public Source {
 public:
  LmdbSource(std::shared_ptr<const Lmdb> lmdb, Value description)
      : lmdb_(std::move(lmdb)), description_(std::move(description)) {}

  const Schema& schema() const override { return lmdb_->schema; }
  uint64_t size() const override { return lmdb_->first_record.back(); }

  Place place(uint64_t index) const override {
    const Spot spot = spot_of(lmdb_->first_record, index);
    const LmdbFile& file = lmdb_->files[spot.file];
    const uint64_t block = file.block_of(spot.i);
    return {lmdb_->first_block[spot.file] + block, spot.i - file.blocks[block].first};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const Spot spot = spot_of(lmdb_->first_block, block);
    return std::make_unique<OpenValues>(lmdb_, spot.file, spot.i);
  }

  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    Neighbours near(*lmdb_);
    for (size_t i = 0; i < indices.size(); ++i) {
      near.find(indices[i]);
      const LmdbFile& file = lmdb_->files[near.file];
      const RecordExtent& extent = file.extents[near.block];
      out[i] = {near.file, extent.offset, file.is_lost(near.block) ? kToEnd : extent.length};
    }
    return true;
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    std::vector<Values> values;
    std::vector<Pages::Row> rows;
    rows.reserve(indices.size());
    Neighbours near(*lmdb_);
    for (size_t i = 0; i < indices.size(); ++i) {
      if (near.find(indices[i])) values.emplace_back(lmdb_, near.file, near.block, bytes, at[i]);
      rows.push_back({indices[i] - near.first, values.size() - 1});
    }
    return std::make_shared<Pages>(std::move(values), std::move(rows));
  }

  // A page is looked at where it is, and of it the record copied.
  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    if (lmdb_->values != Lmdb::Values::bytes) return 0;
    Neighbours near(*lmdb_);
    std::array<MappedNode, kNodesAtOnce> some;
    for (size_t n = 0; n < indices.size();) {
      const size_t found = find_mapped(indices.subspan(n), near, mapped, some);
      for (size_t i = 0; i < found; ++i, ++n)
        if (!put_node(some[i], mapped, n, to)) return n;
      if (found == 0) return n;
    }
    return indices.size();
  }

  uint64_t num_files() const override { return lmdb_->files.size(); }
  std::string file(uint64_t ordinal) const override { return lmdb_->files[ordinal].file.path; }
  std::string where(uint64_t index) const override {
    const Spot spot = spot_of(lmdb_->first_record, index);
    const LmdbFile& file = lmdb_->files[spot.file];
    const uint64_t offset = file.extents[file.block_of(spot.i)].offset;
    return file.file.path + ", record " + std::to_string(spot.i) + " in page " +
           std::to_string(offset / file.page_size) + " at byte " + std::to_string(offset);
  }
  Value describe() const override { return description_; }
  std::string fingerprint() const override {
    std::vector<SourceFile> files;
    std::vector<uint64_t> sizes;
    for (const LmdbFile& file : lmdb_->files) files.push_back(file.file), sizes.push_back(file.size);
    const auto values = static_cast<size_t>(lmdb_->values);
    constexpr std::string_view kNames[] = {"lmdb", "lmdb datum", "lmdb tensor_protos"};
    return files_fingerprint(kNames[values], files, sizes);
  }
  Value metadata() const override {
    Value out{Value::Object()};
    out.set("files", lmdb_->files.size());
    if (lmdb_->is_damaged) out.set("damaged", damage());
    return out;
  }

 private:
  struct Spot {
    size_t file;
    uint64_t i;  // in the file
  };
  // Of what is numbered through all files; `first` holds where each file begins, and the end.
  static Spot spot_of(const std::vector<uint64_t>& first, uint64_t i) {
    const auto file = static_cast<size_t>(std::ranges::upper_bound(first, i) - first.begin() - 1);
    return {file, i - first[file]};
  }

  Value::List damage() const {
    Value::List out;
    for (size_t f = 0; f < lmdb_->files.size(); ++f) {
      const LmdbFile& file = lmdb_->files[f];
      for (uint64_t block = 0; block < file.blocks.size(); ++block) {
        if (!file.is_lost(block)) continue;
        out.push_back(damage_entry(file.file.path, lmdb_->first_record[f] + file.blocks[block].first,
                                   file.extents[block].offset, characters_of(file.key_of(block))));
      }
    }
    return out;
  }

  // Where records are, of which one often lies beside the one before.
  struct Neighbours {
    explicit Neighbours(const Lmdb& all) : lmdb(all) {}
    // True where `index` is in another block than the last one.
    bool find(uint64_t index) {
      if (index >= first && index < end) return false;
      const Spot spot = spot_of(lmdb.first_record, index);
      file = spot.file, block = lmdb.files[file].block_of(spot.i);
      first = index - spot.i + lmdb.files[file].blocks[block].first;
      end = first + lmdb.files[file].records_of(block);
      node = lmdb.files[file].blocks[block].node;
      return true;
    }
    const Lmdb& lmdb;
    size_t file = 0;
    uint64_t block = 0;           // of the file
    uint64_t first = 0, end = 0;  // its records
    uint32_t node = 0;            // of the first
  };

  // A node of a page that is mapped, or a big value. The processor waits for each of the three places in
  // memory that lead to a record, unless it is told of many records at once where they are.
  static constexpr size_t kNodesAtOnce = 16;
  struct MappedNode {
    const LmdbFile* file = nullptr;
    uint64_t block = 0, node = 0;
    std::span<const std::byte> bytes;  // of the block
    std::optional<LmdbPage> page;      // of a node; nothing where there is none
    bool is_big() const { return file->is_big(block); }
    uint64_t number() const { return file->page_of(block); }
  };
  size_t find_mapped(std::span<const uint64_t> indices, Neighbours& near, MappedBytes& mapped,
                     std::array<MappedNode, kNodesAtOnce>& out) const {
    size_t count = std::min(indices.size(), kNodesAtOnce);
    for (size_t i = 0; i < count; ++i) {
      MappedNode& here = out[i];
      const bool is_new = near.find(indices[i]) || i == 0;
      here.file = &lmdb_->files[near.file];
      here.block = near.block, here.node = near.node + (indices[i] - near.first);
      const RecordExtent& extent = here.file->extents[near.block];
      here.bytes = is_new ? mapped.at({near.file, extent.offset, extent.length}) : out[i - 1].bytes;
      if (here.bytes.empty()) {
        count = i;
        break;
      }
      __builtin_prefetch(here.bytes.data());
      __builtin_prefetch(here.bytes.data() + std::min(kLmdbPageHeader + 2 * here.node, here.bytes.size()));
    }
    for (size_t i = 0; i < count; ++i) {
      MappedNode& here = out[i];
      here.page.reset();
      if (here.is_big()) continue;
      if (i > 0 && here.bytes.data() == out[i - 1].bytes.data())
        here.page = out[i - 1].page;
      else if (auto parsed = LmdbPage::parse(here.bytes, here.number(), LmdbPage::Kind::leaf); parsed.ok())
        here.page = *parsed;
      if (here.page) here.page->expect(here.node);
    }
    return count;
  }
  static bool put_node(const MappedNode& from, MappedBytes& mapped, size_t n,
                       std::span<const FieldPlace> to) {
    if (from.is_big()) {
      const auto value = lmdb_big_value(from.bytes, from.number(), from.file->page_size);
      const auto kept = value.ok() ? mapped.keep(*value) : std::nullopt;
      if (kept) share_big(*from.file, from.block, kept->buffer, kept->bytes, n, to);
      return kept.has_value();
    }
    const auto node = from.page ? from.page->small_node(from.node) : std::nullopt;
    const auto kept = node ? mapped.keep(node->bytes) : std::nullopt;
    if (kept) share(kept->buffer, kept->bytes, node->key, n, to);
    return kept.has_value();
  }

  std::shared_ptr<const Lmdb> lmdb_;
  Value description_;
};

Status add_file(Lmdb& out, SourceFile file, FileIndex index) {
  auto unpacked = unpack_lmdb(index.extra, index.records.size());
  if (!unpacked) return corrupt("'" + file.path + "': wants the index of an LMDB file");
  if (out.datum == DatumKind{}) out.datum = unpacked->datum;
  if (out.tensors.empty()) out.tensors = unpacked->tensors;
  out.first_record.push_back(out.first_record.back() + unpacked->size);
  out.first_block.push_back(out.first_block.back() + unpacked->blocks.size());
  out.is_damaged = out.is_damaged || std::ranges::any_of(unpacked->blocks, [](const LmdbBlock& block) {
                     return block.kind == LmdbBlock::lost;
                   });
  const Tensor keys = text_tensor(unpacked->keys, DType::bytes);
  out.files.push_back({std::move(file), unpacked->page_size, unpacked->size, std::move(index.records),
                       std::move(unpacked->blocks), keys.buffer});
  return {};
}

// What values are, and the fields they make.
Status choose(Lmdb& out, std::string_view values) {
  const bool is_empty = out.first_record.back() == 0;
  const TensorSpec bytes{DType::bytes, {kAny}};
  out.schema = Schema::of({"key", "value"}, {bytes, bytes});
  if (values == "datum") {
    if (out.datum.form == DatumKind::none && !is_empty)
      return corrupt(
          "wants values that are a Datum with an encoded image or 1 or 3 planes of bytes, "
          "the first is none");
    out.values = Lmdb::Values::datum;
    out.schema = datum_schema(out.datum);
  }
  if (values == "tensor_protos") {
    if (out.tensors.empty() && !is_empty)
      return corrupt("wants values that are Caffe2's TensorProtos of numbers or strings, the first is none");
    out.values = Lmdb::Values::tensor_protos;
    out.schema = tensor_protos_schema(out.tensors);
  }
  return {};
}

Result<SourcePtr> finish(const OpenRequest& request, std::vector<SourceFile> files,
                         std::vector<FileIndex> indexes) {
  HEADRACE_ASSIGN(const std::string values, request.text("values", "bytes"));
  if (values != "bytes" && values != "datum" && values != "tensor_protos")
    return invalid("option 'values' wants \"bytes\", \"datum\" or \"tensor_protos\", got \"" + values + "\"");
  auto lmdb = std::make_shared<Lmdb>();
  lmdb->first_record = lmdb->first_block = {0};
  for (size_t i = 0; i < files.size(); ++i)
    HEADRACE_TRY(add_file(*lmdb, std::move(files[i]), std::move(indexes[i])));
  HEADRACE_TRY(choose(*lmdb, values));
  return SourcePtr(std::make_shared<LmdbSource>(std::move(lmdb), describe_opening("lmdb", request)));
}

// Without the lock file that lies in the folder of a database.
std::vector<SourceFile> data_files(const Probe& probe) {
  std::vector<SourceFile> out = probe.files;
  std::erase_if(out, [](const SourceFile& file) {
    return file.path == "lock.mdb" || file.path.ends_with("/lock.mdb") || file.path.ends_with("-lock");
  });
  return out.empty() ? probe.files : out;
}

int recognise(const Probe& probe) { return probe.head && is_lmdb(probe.head->bytes()) ? 100 : 0; }

Result<SourceOpening> open(const OpenRequest& request) {
  RecordOpening out;
  out.kind = "lmdb 3";
  out.files = data_files(request.path());
  out.index = [files = out.files](uint64_t file) { return walk_lmdb(files[file]); };
  out.finish = [request, files = out.files](std::vector<FileIndex> indexes) {
    return finish(request, files, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "lmdb",
    .doc = "LMDB databases: key and value in the order of the keys, or the images of Caffe and Caffe2; one "
           "file or many.",
    .options = {{"values", "str",
                 "\"bytes\": fields key and value; \"datum\": Caffe's Datum, fields image and label; "
                 "\"tensor_protos\": Caffe2's, fields image, label, box.",
                 "bytes"}},
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
