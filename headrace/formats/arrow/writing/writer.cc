// Writes Arrow IPC files and streams: "Writing" in ../README.md.
#include "headrace/formats/writer.h"

#include <algorithm>

#include "headrace/formats/arrow/compression.h"
#include "headrace/formats/arrow/writing/new_messages.h"
#include "headrace/io/new_file.h"

namespace headrace {
namespace {

using namespace std::literals;
using arrow::Codec;
using arrow::NewColumn;

// Size of a batch if rows_per_batch is not given. A compressed one is read whole for any of its rows.
constexpr uint64_t kPlainBytes = uint64_t{1} << 20, kCompressedBytes = uint64_t{256} << 10;
constexpr uint64_t kMostRows = uint64_t{1} << 16;
constexpr size_t kMostBatches = size_t{1} << 26;  // entries of a footer, which must be below 2 GiB

struct Layout {
  bool is_stream = false;
  Codec codec = Codec::none;
  uint64_t rows = 0;  // of a batch; 0: until it is large enough
};

Result<Codec> codec_of(const WriteRequest& request) {
  HEADRACE_ASSIGN(const std::string name, request.text("compression", "none"));
  if (name == "none") return Codec::none;
  if (name == "lz4") return Codec::lz4;
  if (name == "zstd") return Codec::zstd;
  return invalid("compression must be \"none\", \"lz4\" or \"zstd\", got \"" + name + "\"");
}

Result<Layout> layout_of(const WriteRequest& request) {
  Layout out;
  HEADRACE_ASSIGN(out.is_stream, request.flag("stream", false));
  HEADRACE_ASSIGN(out.codec, codec_of(request));
  HEADRACE_ASSIGN(const int64_t rows, request.integer("rows_per_batch", 0));
  const Value* given = request.options.find("rows_per_batch");
  if (given && !given->is_null() && rows < 1)
    return invalid("rows_per_batch must be 1 or more, got " + std::to_string(rows));
  out.rows = static_cast<uint64_t>(rows);
  return out;
}

Result<std::vector<NewColumn>> new_columns(const WriteRequest& request) {
  arrow::ColumnForm form;
  HEADRACE_ASSIGN(form.is_large, request.flag("large_offsets", false));
  HEADRACE_ASSIGN(form.has_tensors, request.flag("tensors", false));
  std::vector<NewColumn> out;
  for (FieldColumn& field : columns_of(request.schema.names, request.schema.specs)) {
    HEADRACE_ASSIGN(NewColumn column, NewColumn::make(std::move(field), form));
    out.push_back(std::move(column));
  }
  if (out.empty()) return invalid({.expected = "at least one field", .got = "none"}).in_format("arrow");
  return out;
}

// The source's metadata, as JSON under our key.
arrow::About about_of(const Value& metadata) {
  if (!metadata.object() || metadata.object()->empty()) return {};
  return {{arrow::kAboutKey, metadata.dump()}};
}

class ArrowWriter final : public FileWriter {
 public:
  ArrowWriter(std::vector<NewColumn> columns, arrow::About about, Layout layout,
              std::unique_ptr<AppendedFile> file)
      : columns_(std::move(columns)), about_(std::move(about)), layout_(layout), file_(std::move(file)) {}

  Status begin() {
    if (!layout_.is_stream) HEADRACE_TRY(append("ARROW1\0\0"sv));
    return append(arrow::schema_message(columns_, about_));
  }

  Status add(const std::vector<Tensor>& fields) override {
    for (const NewColumn& column : columns_) HEADRACE_TRY(column.check(fields));
    if (without_room(fields)) HEADRACE_TRY(write_batch());
    if (const NewColumn* column = without_room(fields))
      return invalid({.expected = "fewer than 2^31 bytes or items",
                      .got = std::to_string(column->run_of(fields)),
                      .fix = "set large_offsets=True for 64-bit offsets"})
          .with({.format = "arrow", .field = std::string(column->name())})
          .before("field '" + column->name() + "': arrow has 32-bit offsets: ");
    for (NewColumn& column : columns_) column.add(fields);
    ++rows_;
    return is_full() ? write_batch() : Status();
  }

  Status finish() override {
    HEADRACE_TRY(write_batch());
    HEADRACE_TRY(append(arrow::end_mark()));
    if (!layout_.is_stream) HEADRACE_TRY(append(arrow::file_end(columns_, about_, batches_)));
    return file_->finish();
  }

 private:
  Status append(std::string_view text) { return file_->append(std::as_bytes(std::span(text))); }

  const NewColumn* without_room(const std::vector<Tensor>& fields) const {
    for (const NewColumn& column : columns_)
      if (!column.has_room_for(fields)) return &column;
    return nullptr;
  }

  bool is_full() const {
    if (layout_.rows != 0) return rows_ >= layout_.rows;
    uint64_t bytes = 0;
    for (const NewColumn& column : columns_) bytes += column.bytes();
    return rows_ >= kMostRows || bytes >= (layout_.codec == Codec::none ? kPlainBytes : kCompressedBytes);
  }

  Status write_batch() {
    if (rows_ == 0) return {};
    if (batches_.size() == kMostBatches && !layout_.is_stream)
      return invalid(
          "an Arrow file can have at most 2^26 record batches; set a larger rows_per_batch, or leave it out");
    std::vector<arrow::Node> nodes;
    std::vector<std::span<const std::byte>> buffers;
    for (NewColumn& column : columns_) column.append_nodes(nodes), column.append_buffers(buffers);
    HEADRACE_TRY(compress(buffers));
    std::vector<arrow::Piece> pieces;
    uint64_t body = 0;
    for (const auto& buffer : buffers) {
      pieces.push_back({body, buffer.size()});
      body += (buffer.size() + 7) / 8 * 8;
    }
    const uint64_t offset = file_->size();
    const std::string head = arrow::batch_message(rows_, nodes, pieces, layout_.codec, body);
    HEADRACE_TRY(append(head));
    for (const auto& buffer : buffers) {
      HEADRACE_TRY(file_->append(buffer));
      HEADRACE_TRY(append("\0\0\0\0\0\0\0"sv.substr(0, (8 - buffer.size() % 8) % 8)));
    }
    if (!layout_.is_stream)
      batches_.push_back(
          {static_cast<int64_t>(offset), static_cast<int32_t>(head.size()), 0, static_cast<int64_t>(body)});
    for (NewColumn& column : columns_) column.clear();
    rows_ = 0;
    return {};
  }

  // Compresses each buffer on its own, all of them into `compressed_`.
  Status compress(std::vector<std::span<const std::byte>>& buffers) {
    if (layout_.codec == Codec::none) return {};
    compressed_.clear();
    std::vector<size_t> ends;
    for (const auto& buffer : buffers) {
      HEADRACE_TRY(arrow::deflate(layout_.codec, buffer, compressed_));
      ends.push_back(compressed_.size());
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      const size_t begin = i == 0 ? 0 : ends[i - 1];
      buffers[i] = std::span(compressed_).subspan(begin, ends[i] - begin);
    }
    return {};
  }

  std::vector<NewColumn> columns_;
  arrow::About about_;
  Layout layout_;
  std::unique_ptr<AppendedFile> file_;
  uint64_t rows_ = 0;  // of the current batch
  std::vector<arrow::BatchPlace> batches_;
  std::vector<std::byte> compressed_;
};

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  HEADRACE_ASSIGN(const Layout layout, layout_of(request));
  HEADRACE_ASSIGN(std::vector<NewColumn> columns, new_columns(request));
  HEADRACE_ASSIGN(auto file, AppendedFile::make(request.path));
  auto out =
      std::make_unique<ArrowWriter>(std::move(columns), about_of(request.metadata), layout, std::move(file));
  HEADRACE_TRY(out->begin());
  return out;
}

const WriterRegistration registered_writer({
    .name = "arrow",
    .doc = "Arrow IPC files (Feather V2) and streams: one column per field.",
    .ending = ".arrow",
    .options = {{"rows_per_batch", "int | None",
                 "Rows of a record batch. When not given, batches have 1 MiB, or 256 KiB when compressed.",
                 Value()},
                {"compression", "str", "\"none\", \"lz4\" or \"zstd\"; each buffer is compressed on its own.",
                 "none"},
                {"stream", "bool", "Write an IPC stream, which has no footer.", false},
                {"large_offsets", "bool",
                 "64-bit offsets: large_binary, large_utf8, large_list, for values of 2 GiB and more.",
                 false},
                {"tensors", "bool",
                 "Write arrays of a fixed shape as arrow.fixed_shape_tensor, which pyarrow returns as "
                 "tensors, instead "
                 "of nested lists.",
                 false}},
    .make = make,
    .other_endings = {{".feather", Value(Value::Object())},
                      {".ipc", Value(Value::Object())},
                      {".arrows", Value(Value::Object{{"stream", true}})}},
});

}  // namespace
}  // namespace headrace
