// Writes MDS: see "Writing" in README.md.
#include "headrace/formats/writer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "headrace/core/text/text.h"
#include "headrace/formats/dataset/manifest.h"
#include "headrace/formats/mds/columns.h"
#include "headrace/formats/mds/index.h"
#include "headrace/io/new_file.h"

namespace headrace {
namespace {

constexpr uint64_t kMostShard = std::numeric_limits<uint32_t>::max();

// A field of the schema as a column.
struct NewColumn {
  size_t field = 0;
  std::string name, encoding;
  std::optional<uint32_t> size;
};

Result<std::string> number_name(const TensorSpec& spec) {
  if (mds::mds_dtype_code(spec.dtype) == 0)
    return invalid({.expected = "integers of 8 to 64 bits, float16, float32 or float64",
                    .got = spec.text(),
                    .fix = "cast the field"});
  return std::string(dtype_name(spec.dtype));
}

Result<NewColumn> column_of(const Schema& schema, size_t field) {
  const TensorSpec& spec = schema.specs[field];
  NewColumn out{field, schema.names[field]};
  if (is_text(spec.dtype)) {
    out.encoding = spec.dtype == DType::str ? "str" : "bytes";
    return out;
  }
  auto name = number_name(spec);
  if (!name.ok()) return name.status().in_field(out.name).in_format("mds");
  const bool is_fixed = spec.is_static() && spec.size_bytes() > 0 && spec.size_bytes() <= kMostShard;
  if (is_fixed) out.size = static_cast<uint32_t>(spec.size_bytes());
  if (spec.shape.rank() == 0) {
    out.encoding = spec.dtype == DType::i64 ? "int" : *name;
    return out;
  }
  out.encoding = "ndarray:" + *name;
  for (int i = 0; is_fixed && i < spec.shape.rank(); ++i)
    out.encoding += (i == 0 ? ":" : ",") + std::to_string(spec.shape[i]);
  return out;
}

// Sorted by name, as in MDS.
Result<std::vector<NewColumn>> columns_of_schema(const Schema& schema) {
  std::vector<NewColumn> out;
  for (size_t i = 0; i < schema.size(); ++i) {
    HEADRACE_ASSIGN(NewColumn column, column_of(schema, i));
    out.push_back(std::move(column));
  }
  std::ranges::sort(out, {}, &NewColumn::name);
  return out;
}

// The description of a shard, in index.json and in the shard itself.
Value config_of(const std::vector<NewColumn>& columns) {
  Value::List encodings, names, sizes;
  for (const NewColumn& column : columns) {
    encodings.emplace_back(column.encoding), names.emplace_back(column.name);
    sizes.push_back(column.size ? Value(*column.size) : Value());
  }
  return Value::Object{{"column_encodings", std::move(encodings)},
                       {"column_names", std::move(names)},
                       {"column_sizes", std::move(sizes)},
                       {"compression", Value()},
                       {"format", "mds"},
                       {"hashes", Value::List()},
                       {"size_limit", Value()},
                       {"version", 2}};
}

// The number of dimensions and their width, then the dimensions.
std::string shape_head(const Shape& shape) {
  int64_t most = 0;
  for (const int64_t dim : shape.dims()) most = std::max(most, dim);
  const int power = most < 1 << 8 ? 0 : most < 1 << 16 ? 1 : most < int64_t{1} << 32 ? 2 : 3;
  std::string out(1, static_cast<char>(shape.rank() << 2 | power));
  for (const int64_t dim : shape.dims()) out.append(reinterpret_cast<const char*>(&dim), size_t{1} << power);
  return out;
}

// The table of offsets comes first and its length is known last, so a shard is kept in memory until its end.
class MdsWriter final : public FileWriter {
 public:
  MdsWriter(std::vector<NewColumn> columns, std::unique_ptr<AppendedFile> file)
      : columns_(std::move(columns)), config_(config_of(columns_).dump()), file_(std::move(file)) {}

  Status add(const std::vector<Tensor>& fields) override {
    std::string sizes;
    std::vector<std::string> heads(columns_.size());
    uint64_t bytes = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const View value = fields[columns_[i].field].view();
      if (!columns_[i].size && !is_text(value.dtype)) heads[i] = shape_head(value.shape);
      const uint64_t size = heads[i].size() + value.size_bytes();
      bytes += size;
      if (columns_[i].size) continue;
      const auto stored = static_cast<uint32_t>(std::min(size, kMostShard));
      sizes.append(reinterpret_cast<const char*>(&stored), sizeof stored);
    }
    const uint64_t table = 4 * (ends_.size() + 3) + config_.size();
    if (table + samples_.size() + sizes.size() + bytes > kMostShard)
      return invalid(
                 {.expected = "a shard of less than 4 GiB",
                  .got = std::to_string(samples_.size()) + " bytes and a sample of " + std::to_string(bytes),
                  .fix = "write smaller shards with shard_size="})
          .in_format("mds");
    samples_ += sizes;
    read_.clear();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Tensor& field = fields[columns_[i].field];
      const auto value = field.view().bytes();
      samples_ += heads[i];
      samples_.append(reinterpret_cast<const char*>(value.data()), value.size());
      read_.push_back(field);
    }
    ends_.push_back(samples_.size());
    return {};
  }
  const std::vector<Tensor>* as_read() const override { return &read_; }

  Status finish() override {
    const auto count = static_cast<uint32_t>(ends_.size());
    const uint64_t begin = 4 * (uint64_t{count} + 2) + config_.size();
    std::vector<uint32_t> head = {count, static_cast<uint32_t>(begin)};
    for (const uint64_t end : ends_) head.push_back(static_cast<uint32_t>(begin + end));
    HEADRACE_TRY(file_->append(std::as_bytes(std::span(head))));
    HEADRACE_TRY(file_->append(text_bytes(config_)));
    HEADRACE_TRY(file_->append(text_bytes(samples_)));
    return file_->finish();
  }

 private:
  std::vector<NewColumn> columns_;
  std::string config_;
  std::unique_ptr<AppendedFile> file_;
  std::string samples_;
  std::vector<uint64_t> ends_;  // in samples_
  std::vector<Tensor> read_;
};

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  HEADRACE_ASSIGN(std::vector<NewColumn> columns, columns_of_schema(request.schema));
  HEADRACE_ASSIGN(auto file, AppendedFile::make(request.path));
  return std::make_unique<MdsWriter>(std::move(columns), std::move(file));
}

Result<std::string> index_text(const Manifest& manifest) {
  HEADRACE_ASSIGN(const std::vector<NewColumn> columns, columns_of_schema(manifest.schema));
  Value::List shards;
  for (const ShardEntry& entry : manifest.shards) {
    Value shard = config_of(columns);
    shard.set("raw_data",
              Value::Object{{"basename", entry.name}, {"bytes", entry.bytes}, {"hashes", Value::Object()}});
    shard.set("samples", entry.samples);
    shard.set("zip_data", Value());
    shards.push_back(std::move(shard));
  }
  return Value(Value::Object{{"shards", std::move(shards)}, {"version", 2}}).dump() + "\n";
}

const WriterRegistration registered_writer({
    .name = "mds",
    .doc = "Shards of MosaicML Streaming (MDS), plain, with index.json: any fields except bool and bfloat16.",
    .ending = ".mds",
    .make = make,
    .over_all = {.name = std::string(mds::kMdsIndex), .text = index_text, .shard_size = uint64_t{1} << 26},
});

}  // namespace
}  // namespace headrace
