// Writes HDF5 files: "Writing" in ../README.md.
#include "headrace/formats/writer.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/writing/new_heap.h"
#include "headrace/formats/hdf5/writing/new_structures.h"

namespace headrace {
namespace {

using hdf5::NewChunk;
using hdf5::PlacedFile;

constexpr uint64_t kChunkBytes = 64 << 10;  // approximate size of a chunk, unless rows_per_chunk is given
constexpr uint64_t kMostChunk = uint64_t{2} << 30;
constexpr uint64_t kMostChunkRows = uint64_t{1} << 31;

struct Options {
  int gzip_level = 0;  // 0: none
  uint64_t chunk_rows = 0;
};

Result<Options> options_of(const WriteRequest& request) {
  Options out;
  HEADRACE_ASSIGN(const std::string compression, request.text("compression", "none"));
  HEADRACE_ASSIGN(const int64_t level, request.integer("level", 4));
  HEADRACE_ASSIGN(const int64_t rows, request.integer("rows_per_chunk", 0));
  if (compression != "none" && compression != "gzip")
    return invalid("compression must be \"none\" or \"gzip\", got \"" + compression + "\"");
  if (level < 1 || level > 9) return invalid("level must be 1 to 9, got " + std::to_string(level));
  if (rows < 0 || static_cast<uint64_t>(rows) > kMostChunkRows)
    return invalid("rows_per_chunk must be 1 or more, got " + std::to_string(rows));
  if (compression == "gzip") out.gzip_level = static_cast<int>(level);
  out.chunk_rows = static_cast<uint64_t>(rows);
  return out;
}

// As HDF5's shuffle filter does: all first bytes of the elements, then all second ones.
std::string shuffled(std::string_view bytes, size_t element) {
  std::string out(bytes.size(), '\0');
  const size_t count = bytes.size() / element;
  for (size_t b = 0; b < element; ++b)
    for (size_t i = 0; i < count; ++i) out[b * count + i] = bytes[i * element + b];
  return out;
}

Result<std::string> deflated(std::string_view bytes, int level) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), level);
  if (code != Z_OK) return Status(Code::exhausted, "no memory to compress a chunk");
  out.resize(size);
  return out;
}

// A field being written: rows of the current chunk, and the chunks before.
class Column {
 public:
  static Result<Column> make(std::string name, const TensorSpec& spec, const Options& options) {
    Column out;
    out.name_ = std::move(name), out.data_.spec = spec, out.options_ = options;
    const auto refused = [&](const std::string& why) {
      return invalid("field '" + out.name_ + "': hdf5 " + why + ", got " + spec.text());
    };
    const auto free = std::ranges::count(spec.shape.dims(), kAny);
    if (free > 1 || (free == 1 && spec.shape[0] != kAny))
      return refused("can have only one free dimension, the first");
    if (std::ranges::find(spec.shape.dims().subspan(free), 0) != spec.shape.dims().end() && free == 1)
      return refused("needs variable-length values of at least one byte per item");
    const uint64_t row = hdf5::stored_row_bytes(spec);
    if (row > kMostChunk) return refused("can have rows of at most 2 GiB");
    out.is_run_ = hdf5::is_run(spec);
    out.row_bytes_ = row;
    out.chunk_rows_ =
        options.chunk_rows != 0
            ? std::min(options.chunk_rows, std::max<uint64_t>(kMostChunk / std::max<uint64_t>(row, 1), 1))
            : std::max<uint64_t>(kChunkBytes / std::max<uint64_t>(row, 1), 1);
    return out;
  }

  const std::string& name() const { return name_; }

  // Whether this value can be written.
  Status check(const View& value) const {
    if (value.dtype == DType::str && std::memchr(value.data, 0, value.size_bytes()) != nullptr)
      return invalid("field '" + name_ + "': hdf5 cannot store a NUL in a string");
    if (is_run_ && value.shape.rank() > 0 && static_cast<uint64_t>(value.shape[0]) > ~uint32_t{0})
      return invalid("field '" + name_ + "': hdf5 stores fewer than 2^32 items per value, got " +
                     std::to_string(value.shape[0]));
    return {};
  }

  Status add(const View& value, hdf5::NewHeap& heap, PlacedFile& file) {
    if (is_run_) {
      const auto count = static_cast<uint64_t>(value.shape[0]);
      HEADRACE_ASSIGN(const std::string reference,
                      heap.add(value.size_bytes() == 0 ? 0 : count, value.bytes()));
      rows_ += reference;
    } else {
      rows_.append(reinterpret_cast<const char*>(value.data), value.size_bytes());
    }
    ++data_.rows;
    return data_.rows % chunk_rows_ == 0 && row_bytes_ > 0 ? write_chunk(file) : Status();
  }

  // Writes all remaining rows and the dataset's header; returns the position of the header.
  Result<uint64_t> finish(PlacedFile& file) {
    const bool is_compressed = is_compressible() && data_.rows > 0;
    if (chunks_.empty() && !is_compressed) {
      if (!rows_.empty()) {
        HEADRACE_ASSIGN(data_.address, file.append(rows_));
      }
    } else {
      if (chunks_.empty()) chunk_rows_ = data_.rows;
      if (!rows_.empty()) HEADRACE_TRY(write_chunk(file));
      data_.chunk_rows = chunk_rows_;
      data_.gzip_level = is_compressed ? options_.gzip_level : 0;
      HEADRACE_TRY(write_tree(file));
    }
    return file.append(hdf5::dataset_header(data_));
  }

 private:
  bool is_compressible() const { return options_.gzip_level > 0 && !is_run_ && row_bytes_ > 0; }

  // The last chunk has the full size, padded with zeros.
  Status write_chunk(PlacedFile& file) {
    rows_.resize(chunk_rows_ * row_bytes_);
    if (is_compressible()) {
      const size_t element = size_of(data_.spec.dtype);
      HEADRACE_ASSIGN(rows_, deflated(element > 1 ? shuffled(rows_, element) : rows_, options_.gzip_level));
    }
    HEADRACE_ASSIGN(const uint64_t place, file.append(rows_));
    chunks_.push_back({place, rows_.size()});
    rows_.clear();
    return {};
  }

  Status write_tree(PlacedFile& file) {
    const int rank = 1 + (is_run_ ? 0 : data_.spec.shape.rank());
    const uint64_t place = file.reserve(0);
    const std::string tree = hdf5::chunk_tree(chunks_, chunk_rows_, rank, place, &data_.address);
    return file.append(tree).status();
  }

  std::string name_;
  hdf5::NewDataset data_;
  Options options_;
  bool is_run_ = false;
  uint64_t row_bytes_ = 0, chunk_rows_ = 1;
  std::string rows_;
  std::vector<NewChunk> chunks_;
};

// Names with slashes are datasets in groups.
struct Group {
  std::map<std::string, Group> groups;
  std::map<std::string, uint64_t> datasets;  // positions of their headers

  Status add(std::string_view path, uint64_t place) {
    const size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    if (name.empty() || name == "." || name.find('\0') != std::string::npos || name.size() > 65'000)
      return invalid({.expected = "names that are parts of a path", .got = "'" + std::string(path) + "'"})
          .in_format("hdf5");
    if (datasets.contains(name) || (slash == std::string_view::npos && groups.contains(name)))
      return invalid("hdf5 cannot have both a field '" + name + "' and one below it");
    if (slash != std::string_view::npos) return groups[name].add(path.substr(slash + 1), place);
    datasets[name] = place;
    return {};
  }

  Result<uint64_t> write(PlacedFile& file, std::string_view about) const {
    std::vector<hdf5::NewLink> links;
    for (const auto& [name, group] : groups) {
      HEADRACE_ASSIGN(const uint64_t place, group.write(file, {}));
      links.push_back({name, place});
    }
    for (const auto& [name, place] : datasets) links.push_back({name, place});
    std::ranges::sort(links, {}, &hdf5::NewLink::name);
    return file.append(hdf5::group_header(links, about));
  }
};

// The fields, in their order, and the source's metadata if it fits.
std::string about_of(const WriteRequest& request) {
  const Value::List names(request.schema.names.begin(), request.schema.names.end());
  Value out{Value::Object()};
  out.set("fields", names);
  const std::string short_form = out.dump();
  if (request.metadata.object() && !request.metadata.object()->empty()) out.set("about", request.metadata);
  const std::string whole = out.dump();
  return whole.size() <= hdf5::kMostAbout ? whole : short_form.size() <= hdf5::kMostAbout ? short_form : "";
}

class Hdf5Writer final : public FileWriter {
 public:
  Hdf5Writer(std::vector<Column> columns, std::string about, std::unique_ptr<NewFile> file,
             const Schema& schema)
      : columns_(std::move(columns)),
        about_(std::move(about)),
        file_(std::move(file), hdf5::kNewSuperblockBytes),
        heap_(&file_) {
    for (size_t i = 0; i < schema.size(); ++i)
      if (schema.specs[i].dtype == DType::u8 && schema.specs[i].shape == Shape{kAny})
        read_as_bytes_.push_back(i);
  }

  Status add(const std::vector<Tensor>& fields) override {
    for (size_t i = 0; i < columns_.size(); ++i) HEADRACE_TRY(columns_[i].check(fields[i].view()));
    for (size_t i = 0; i < columns_.size(); ++i)
      HEADRACE_TRY(columns_[i].add(fields[i].view(), heap_, file_));
    if (read_as_bytes_.empty()) return {};
    last_ = fields;
    for (const size_t i : read_as_bytes_) last_[i].dtype = DType::bytes;
    return {};
  }
  const std::vector<Tensor>* as_read() const override { return read_as_bytes_.empty() ? nullptr : &last_; }

  Status finish() override {
    HEADRACE_TRY(heap_.finish());
    Group root;
    for (Column& column : columns_) {
      HEADRACE_ASSIGN(const uint64_t place, column.finish(file_));
      HEADRACE_TRY(root.add(column.name(), place));
    }
    HEADRACE_ASSIGN(const uint64_t place, root.write(file_, about_));
    HEADRACE_TRY(file_.write(0, hdf5::new_superblock(place, file_.end())));
    return file_.commit();
  }

 private:
  std::vector<Column> columns_;
  std::string about_;
  PlacedFile file_;
  hdf5::NewHeap heap_;
  std::vector<size_t> read_as_bytes_;  // variable-length uint8
  std::vector<Tensor> last_;
};

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  HEADRACE_ASSIGN(const Options options, options_of(request));
  const Schema& schema = request.schema;
  if (schema.size() == 0) return invalid({.expected = "at least one field", .got = "none"}).in_format("hdf5");
  std::vector<Column> columns;
  Group names;
  for (size_t i = 0; i < schema.size(); ++i) {
    HEADRACE_TRY(names.add(schema.names[i], 0));
    HEADRACE_ASSIGN(Column column, Column::make(schema.names[i], schema.specs[i], options));
    columns.push_back(std::move(column));
  }
  HEADRACE_ASSIGN(auto file, NewFile::make(request.path));
  return std::make_unique<Hdf5Writer>(std::move(columns), about_of(request), std::move(file), schema);
}

const WriterRegistration registered_writer({
    .name = "hdf5",
    .doc = "HDF5 files: one dataset per field; bytes as variable-length uint8, str as variable-length UTF-8.",
    .ending = ".h5",
    .options = {{"compression", "str",
                 "\"none\" or \"gzip\" (with shuffle); compresses chunks of arrays and numbers.", "none"},
                {"level", "int", "Compression level of gzip, 1 to 9.", 4},
                {"rows_per_chunk", "int | None", "Rows of a chunk. When not given, chunks have 64 KiB."}},
    .make = make,
    .other_endings = {{".hdf5", Value(Value::Object())}},
});

}  // namespace
}  // namespace headrace
