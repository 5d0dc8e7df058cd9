#include "tests/sources/arrow_file.h"

#include <algorithm>
#include <cstring>

#include "tests/sources/arrow_batch.h"
#include "tests/sources/little_endian.h"

namespace headrace::trial {
namespace {

constexpr char kMagic[] = {'A', 'R', 'R', 'O', 'W', '1'};
constexpr uint64_t kTrailer = 10;  // i32 footer length, magic

struct BatchPlace {
  uint64_t offset = 0, metadata = 0, body = 0;
};

Status in_file(Status status, const SourceFile& file, uint64_t byte) {
  return std::move(status).after(" (at byte " + std::to_string(byte) + " of " + file.path + ")");
}

// What blocks share with their source, and outlives it.
struct ArrowLayoutOfFile {
  SourceFile file;
  ArrowSchema schema;
  std::vector<ArrowColumn> columns;
  std::vector<BatchPlace> batches;
};
using LayoutPtr = std::shared_ptr<const ArrowLayoutOfFile>;

class BatchOpening final : public Opening<BlockPtr> {
 public:
  BatchOpening(LayoutPtr layout, uint64_t batch)
      : layout_(std::move(layout)), place_(layout_->batches[batch]) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<BlockPtr>(std::vector<Extent>{{0, place_.offset, place_.metadata}});
    if (!asked_) return in_batch(ask(bytes[0]->bytes()));
    return in_batch(make(bytes));
  }

 private:
  Result<Step<BlockPtr>> in_batch(Result<Step<BlockPtr>> step) const {
    if (!step.ok()) return in_file(step.status(), layout_->file, place_.offset);
    return step;
  }

  Result<Step<BlockPtr>> ask(std::span<const std::byte> message) {
    HEADRACE_ASSIGN(batch_, ArrowBatch::read(message, place_.body, layout_->schema, layout_->columns));
    std::vector<Extent> extents;
    for (const ArrowColumn& column : layout_->columns)
      for (int i = 0; i < num_buffers(column); ++i) {
        const ArrowPiece& piece = batch_.pieces[column.buffer + static_cast<uint32_t>(i)];
        extents.push_back({0, place_.offset + place_.metadata + piece.offset, piece.length});
      }
    asked_ = true;
    return Step<BlockPtr>(std::move(extents));
  }

  Result<Step<BlockPtr>> make(std::span<const BufferPtr> bytes) {
    std::vector<ArrowBytes> buffers;
    for (const BufferPtr& stored : bytes) {
      HEADRACE_ASSIGN(ArrowBytes inflated, inflate_arrow(batch_.codec, stored));
      buffers.push_back(std::move(inflated));
    }
    HEADRACE_ASSIGN(BlockPtr block, make_arrow_block(layout_->columns, batch_.num_rows, std::move(buffers)));
    return Step<BlockPtr>(std::move(block));
  }

  LayoutPtr layout_;
  BatchPlace place_;
  ArrowBatch batch_;
  bool asked_ = false;
};

class ArrowSource final : public Source {
 public:
  ArrowSource(ArrowLayoutOfFile layout, std::vector<uint64_t> first)
      : layout_(std::make_shared<ArrowLayoutOfFile>(std::move(layout))),
        first_(std::move(first)),
        schema_(sample_schema(layout_->columns)) {}

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return first_.back(); }
  Place place(uint64_t index) const override {
    const auto next = std::upper_bound(first_.begin(), first_.end(), index);
    return {static_cast<uint64_t>(next - first_.begin() - 1), index - next[-1]};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<BatchOpening>(layout_, block);
  }
  uint64_t num_files() const override { return 1; }
  std::string file(uint64_t) const override { return layout_->file.path; }
  std::string where(uint64_t index) const override {
    const Place at = place(index);
    return layout_->file.path + " at row " + std::to_string(at.row) + " of record batch " +
           std::to_string(at.block);
  }
  Value describe() const override {
    Value::List columns(schema_.names.begin(), schema_.names.end());
    return Value::Object{{"format", "arrow"}, {"file", layout_->file.path}, {"columns", std::move(columns)}};
  }
  std::string fingerprint() const override {
    const std::string& path = layout_->file.path;
    return hash_text("arrow " + std::to_string(size()) + " " + path.substr(path.rfind('/') + 1) + ":" +
                     std::to_string(layout_->file.size) + " " + schema_.text());
  }

 private:
  LayoutPtr layout_;
  std::vector<uint64_t> first_;  // row at which each batch begins, and the number of rows
  Schema schema_;
};

class FileOpening final : public Opening<SourcePtr> {
 public:
  FileOpening(SourceFile file, ArrowOptions options) : options_(std::move(options)) {
    layout_.file = std::move(file);
  }

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    switch (stage_) {
      case Stage::start: return ask_tail(std::min(options_.tail, layout_.file.size), Stage::tail);
      case Stage::tail: return read_tail(bytes[0]->bytes());
      case Stage::footer: return read_footer(bytes[0]->bytes());
      case Stage::metadata: return read_metadata(bytes);
    }
    return internal_error("arrow: no such stage");
  }

 private:
  enum class Stage { start, tail, footer, metadata };

  Result<Step<SourcePtr>> ask_tail(uint64_t length, Stage next) {
    stage_ = next;
    return Step<SourcePtr>(std::vector<Extent>{{0, layout_.file.size - length, length}});
  }

  Result<Step<SourcePtr>> read_tail(std::span<const std::byte> tail) {
    const uint64_t size = layout_.file.size;
    const auto trailer = tail.last(kTrailer);
    if (std::memcmp(trailer.data() + 4, kMagic, sizeof(kMagic)) != 0)
      return corrupt("arrow: wants ARROW1 at byte " + std::to_string(size - 6) + " of " + layout_.file.path);
    const auto length = load<uint32_t>(trailer.data());
    if (length > size - kTrailer)
      return corrupt("arrow: wants a footer of " + std::to_string(length) + " bytes before byte " +
                     std::to_string(size - kTrailer) + " of " + layout_.file.path);
    footer_at_ = size - kTrailer - length;
    if (length + kTrailer > tail.size()) return ask_tail(length + kTrailer, Stage::footer);
    return read_footer(tail.last(length + kTrailer));
  }

  Result<Step<SourcePtr>> read_footer(std::span<const std::byte> bytes) {
    const Status status = parse_footer(bytes.first(bytes.size() - kTrailer));
    if (!status.ok()) return in_file(status, layout_.file, footer_at_);
    stage_ = Stage::metadata;
    std::vector<Extent> extents;
    for (const BatchPlace& place : layout_.batches) extents.push_back({0, place.offset, place.metadata});
    if (extents.empty()) return read_metadata({});
    return Step<SourcePtr>(std::move(extents));
  }

  Status parse_footer(std::span<const std::byte> bytes) {
    HEADRACE_ASSIGN(const FlatTable footer, FlatTable::root(bytes));
    HEADRACE_ASSIGN(const auto schema, footer.table(1));
    if (!schema) return corrupt("arrow: a footer without a schema");
    HEADRACE_ASSIGN(layout_.schema, read_arrow_schema(*schema));
    HEADRACE_ASSIGN(layout_.columns, choose_columns(layout_.schema, options_.columns));
    HEADRACE_ASSIGN(const FlatVector blocks, footer.vector(3, 24));
    uint64_t left =
        footer_at_;  // batches do not overlap, so a small footer cannot ask for a large file many times
    for (uint32_t i = 0; i < blocks.count; ++i) {
      const std::byte* at = blocks.bytes.data() + uint64_t{24} * i;
      const BatchPlace place{load<uint64_t>(at), load<uint32_t>(at + 8), load<uint64_t>(at + 16)};
      if (!within(place.offset, place.metadata, footer_at_) ||
          !within(place.offset + place.metadata, place.body, footer_at_) ||
          place.metadata + place.body > left)
        return corrupt("arrow: record batch " + std::to_string(i) + " lies outside, byte " +
                       std::to_string(place.offset));
      left -= place.metadata + place.body;
      layout_.batches.push_back(place);
    }
    return {};
  }

  Result<Step<SourcePtr>> read_metadata(std::span<const BufferPtr> bytes) {
    std::vector<uint64_t> first{0};
    for (size_t i = 0; i < bytes.size(); ++i) {
      const BatchPlace& place = layout_.batches[i];
      const auto batch = ArrowBatch::read(bytes[i]->bytes(), place.body, layout_.schema, layout_.columns);
      if (!batch.ok()) return in_file(batch.status(), layout_.file, place.offset);
      first.push_back(first.back() + batch->num_rows);
    }
    return Step<SourcePtr>(std::make_shared<ArrowSource>(std::move(layout_), std::move(first)));
  }

  ArrowOptions options_;
  Stage stage_ = Stage::start;
  uint64_t footer_at_ = 0;
  ArrowLayoutOfFile layout_;
};

}  // namespace

Result<std::unique_ptr<Opening<SourcePtr>>> open_arrow(SourceFile file, ArrowOptions options) {
  if (file.size < kTrailer + 8)
    return corrupt("arrow: wants at least " + std::to_string(kTrailer + 8) + " bytes, " + file.path +
                   " has " + std::to_string(file.size) + ", at byte 0");
  options.tail = std::max(options.tail, kTrailer);
  return std::unique_ptr<Opening<SourcePtr>>(
      std::make_unique<FileOpening>(std::move(file), std::move(options)));
}

}  // namespace headrace::trial
