// LMDB: see README.md.
#include <algorithm>
#include <optional>

#include "headrace/codecs/fields.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/damaged.h"
#include "headrace/formats/lmdb/put_mapped.h"
#include "headrace/formats/records/record_files.h"

namespace headrace {
namespace {

Tensor bytes_at(const BufferPtr& buffer, size_t offset, size_t size) {
  return {buffer, offset, DType::bytes, {static_cast<int64_t>(size)}, nullptr};
}

class Values final : public Block {
 public:
  // `at`: offset of the block's extent in `bytes`.
  Values(std::shared_ptr<const Lmdb> lmdb, size_t file, uint64_t block, BufferPtr bytes, size_t at = 0)
      : lmdb_(std::move(lmdb)), file_(lmdb_->files[file]), block_(block), bytes_(std::move(bytes)), at_(at) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= file_.records_of(block_))
      return invalid({.expected = "a row below " + std::to_string(file_.records_of(block_)),
                      .got = std::to_string(row)})
          .in_format("lmdb");
    return is_big() ? big(fields) : small(row, fields);
  }

  bool are_bytes() const { return lmdb_->values == Lmdb::Values::bytes; }
  bool is_big() const { return file_.is_big(block_); }
  Result<LmdbPage> parse() const { return LmdbPage::parse(block_bytes(), page(), LmdbPage::Kind::leaf); }
  // Key and value as they are. False: get() gives the error. REQUIRES: are_bytes().
  bool put_big(size_t n, std::span<const FieldPlace> to) const {
    const auto value = lmdb_big_value(block_bytes(), page(), file_.page_size);
    if (value.ok()) share_big_lmdb_value(file_, block_, bytes_, *value, n, to);
    return value.ok();
  }
  // The same for a row of the leaf from parse().
  bool put_small(const LmdbPage& page, uint64_t row, size_t n, std::span<const FieldPlace> to) const {
    if (row >= file_.records_of(block_)) return false;
    const auto node = page.small_node(file_.blocks[block_].node + row);
    if (node) share_lmdb_pair(bytes_, node->bytes, node->key, n, to);
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
    if (node.is_big)
      return corrupt(
          {.expected = "a value inside its page as when it was indexed", .got = "one in another page"});
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

// Small values of any leaves whose pages were read together.
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
      return invalid({.expected = "a row below " + std::to_string(rows_.size()), .got = std::to_string(row)})
          .in_format("lmdb");
    return values_[rows_[row].values].get(rows_[row].row, fields);
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    if (values_.empty() || !values_[0].are_bytes()) return put_each(*this, rows, to);
    std::optional<LmdbPage> page;
    size_t of = 0;  // index into `values_` of `page`
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
      if (!values_[of].put_small(*page, row.row, n, to)) return n;
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
  LmdbSource(std::shared_ptr<const Lmdb> lmdb, Value description, Value left_out)
      : lmdb_(std::move(lmdb)), description_(std::move(description)), left_out_(std::move(left_out)) {}

  const Schema& schema() const override { return lmdb_->schema; }
  uint64_t size() const override { return lmdb_->first_record.back(); }

  Place place(uint64_t index) const override {
    const LmdbSpot spot = lmdb_spot(lmdb_->first_record, index);
    const LmdbFile& file = lmdb_->files[spot.file];
    const uint64_t block = file.block_of(spot.i);
    return {lmdb_->first_block[spot.file] + block, spot.i - file.blocks[block].first};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const LmdbSpot spot = lmdb_spot(lmdb_->first_block, block);
    return std::make_unique<OpenValues>(lmdb_, spot.file, spot.i);
  }

  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    LmdbNeighbours near(*lmdb_);
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
    LmdbNeighbours near(*lmdb_);
    for (size_t i = 0; i < indices.size(); ++i) {
      if (near.find(indices[i])) values.emplace_back(lmdb_, near.file, near.block, bytes, at[i]);
      rows.push_back({indices[i] - near.first, values.size() - 1});
    }
    return std::make_shared<Pages>(std::move(values), std::move(rows));
  }

  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    return lmdb_->values == Lmdb::Values::bytes ? put_lmdb_pairs(*lmdb_, indices, mapped, to) : 0;
  }

  uint64_t num_files() const override { return lmdb_->files.size(); }
  std::string file(uint64_t ordinal) const override { return lmdb_->files[ordinal].file.path; }
  const SourceFile* known_file(uint64_t ordinal) const override { return &lmdb_->files[ordinal].file; }
  SamplePlace where(uint64_t index) const override {
    const LmdbSpot spot = lmdb_spot(lmdb_->first_record, index);
    const LmdbFile& file = lmdb_->files[spot.file];
    const uint64_t offset = file.extents[file.block_of(spot.i)].offset;
    return {file.file.path,
            ", record " + std::to_string(spot.i) + " in page " + std::to_string(offset / file.page_size) +
                " at byte " + std::to_string(offset),
            spot.i, offset};
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
    if (!left_out_.is_null()) out.set("left_out", left_out_);
    return out;
  }

 private:
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

  std::shared_ptr<const Lmdb> lmdb_;
  Value description_, left_out_;
};

Status add_file(Lmdb& out, SourceFile file, FileIndex index) {
  auto unpacked = unpack_lmdb(index.extra, index.records.size());
  if (!unpacked) return corrupt("expected the index of an LMDB file").in_file(file.path);
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

// Sets how values are read, and the fields.
Status choose(Lmdb& out, std::string_view values) {
  const bool is_empty = out.first_record.back() == 0;
  const TensorSpec bytes{DType::bytes, {kAny}};
  out.schema = Schema::of({"key", "value"}, {bytes, bytes});
  if (values == "datum") {
    if (out.datum.form == DatumKind::none && !is_empty)
      return corrupt(
          "expected values that are a Datum with an encoded image or 1 or 3 planes of bytes, but the first "
          "is "
          "not");
    out.values = Lmdb::Values::datum;
    out.schema = datum_schema(out.datum);
  }
  if (values == "tensor_protos") {
    if (out.tensors.empty() && !is_empty)
      return corrupt(
          "expected values that are Caffe2 TensorProtos of numbers or strings, but the first is not");
    out.values = Lmdb::Values::tensor_protos;
    out.schema = tensor_protos_schema(out.tensors);
  }
  return {};
}

Result<SourcePtr> finish(const OpenRequest& request, std::vector<SourceFile> files,
                         std::vector<FileIndex> indexes) {
  HEADRACE_ASSIGN(const std::string values, request.text("values", "bytes"));
  if (values != "bytes" && values != "datum" && values != "tensor_protos")
    return invalid("values must be \"bytes\", \"datum\" or \"tensor_protos\", got \"" + values + "\"");
  auto lmdb = std::make_shared<Lmdb>();
  lmdb->first_record = lmdb->first_block = {0};
  for (size_t i = 0; i < files.size(); ++i)
    HEADRACE_TRY(add_file(*lmdb, std::move(files[i]), std::move(indexes[i])));
  HEADRACE_TRY(choose(*lmdb, values));
  return SourcePtr(std::make_shared<LmdbSource>(std::move(lmdb), describe_opening("lmdb", request),
                                                request.path().left_out));
}

// Without the lock file in the folder of a database.
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
    .doc = "LMDB databases, in the order of their keys; also the images of Caffe and Caffe2.",
    .fields = "`key` and `value` (bytes). With `values=\"datum\"` (Caffe): `image` and `label` (int64 "
              "scalar); the image is encoded bytes, or uint8 (height, width, 3) in RGB converted from raw "
              "BGR planes, or uint8 (height, width, 1), depending on the first value. With "
              "`values=\"tensor_protos\"` (Caffe2): `image`, `label` and, if present, `box`, as stored.",
    .details = {"Lock files are neither created nor checked."},
    .path = "The folder of a database, its data file, a pattern of data files, or a list.",
    .options =
        {{"values", "Literal[\"bytes\", \"datum\", \"tensor_protos\"]",
          "How to parse values: \"bytes\" as they are, Caffe's \"datum\", or Caffe2's \"tensor_protos\".",
          "bytes"}},
    .raises = {{"CorruptSample", "the tree is damaged. The message has file, page and byte."},
               {"NotImplementedError", "the database has several values per key, or named databases."}},
    .example = "hr.read_lmdb(\"ilsvrc12_train_lmdb\", values=\"datum\")",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
