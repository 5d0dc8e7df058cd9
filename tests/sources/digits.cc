// An example format: DIG and the number of dimensions, each dimension as a big-endian uint32, then uint8
// values, one row after the other. IDX, MNIST's format, is similar.
#include "headrace/formats/format.h"

namespace headrace {
namespace {

constexpr uint64_t kRowsPerBlock = 64;  // samples per read
constexpr uint64_t kLongestHeader = 4 + 4 * kMaxRank;

struct Layout {
  SourceFile file;
  uint64_t start = 0;  // of the first row
  uint64_t rows = 0, row_bytes = 1;
  Shape row;
};

uint64_t dimension(std::span<const std::byte> header, size_t ordinal) {
  uint64_t out = 0;
  for (const std::byte b : header.subspan(4 + 4 * ordinal, 4)) out = out << 8 | std::to_integer<uint64_t>(b);
  return out;
}

// `header`: the first bytes of the file, kLongestHeader or all there are.
Result<Layout> parse(SourceFile file, std::span<const std::byte> header) {
  const auto byte_at = [&](size_t i) { return i < header.size() ? std::to_integer<int>(header[i]) : -1; };
  const int rank = byte_at(3);
  if (byte_at(0) != 'D' || byte_at(1) != 'I' || byte_at(2) != 'G' || rank < 1 || rank > kMaxRank)
    return corrupt("expected DIG and 1 to 8 dimensions at byte 0");
  Layout out;
  out.start = 4 + 4 * static_cast<uint64_t>(rank);
  if (header.size() < out.start)
    return corrupt({.expected = "a header of " + std::to_string(out.start) + " bytes",
                    .got = std::to_string(header.size())});
  out.rows = dimension(header, 0);
  std::vector<int64_t> row;
  for (size_t i = 1; i < static_cast<size_t>(rank); ++i) {
    const uint64_t length = dimension(header, i);
    if (length == 0 || length > file.size / out.row_bytes)  // before the product can overflow
      return corrupt(
          {.expected = "rows that fit the file", .got = "a dimension of " + std::to_string(length)});
    out.row_bytes *= length;
    row.push_back(static_cast<int64_t>(length));
  }
  out.row = Shape(row);
  const uint64_t data = file.size - out.start;
  if (data % out.row_bytes != 0 || data / out.row_bytes != out.rows)
    return corrupt(
        {.expected = std::to_string(out.rows) + " rows of " + std::to_string(out.row_bytes) + " bytes",
         .got = std::to_string(data) + " bytes"});
  out.file = std::move(file);
  return out;
}

class Rows final : public Block {
 public:
  Rows(BufferPtr bytes, std::shared_ptr<const Layout> layout)
      : bytes_(std::move(bytes)), layout_(std::move(layout)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= bytes_->size() / layout_->row_bytes) return invalid("digits: no row " + std::to_string(row));
    fields.assign(1, Tensor{bytes_, row * layout_->row_bytes, DType::u8, layout_->row, nullptr});
    return {};
  }

 private:
  BufferPtr bytes_;
  std::shared_ptr<const Layout> layout_;
};

class OpenRows final : public Opening<BlockPtr> {
 public:
  OpenRows(Extent extent, std::shared_ptr<const Layout> layout)
      : extent_(extent), layout_(std::move(layout)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<BlockPtr>(std::vector<Extent>{extent_});
    return Step<BlockPtr>(std::make_shared<Rows>(bytes[0], layout_));
  }

 private:
  Extent extent_;
  std::shared_ptr<const Layout> layout_;
};

class DigitsSource final : public Source {
 public:
  explicit DigitsSource(Layout layout)
      : layout_(std::make_shared<Layout>(std::move(layout))),
        schema_{{"value"}, {{DType::u8, layout_->row}}, "0"} {}

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return layout_->rows; }
  Place place(uint64_t index) const override { return {index / kRowsPerBlock, index % kRowsPerBlock}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const uint64_t first = block * kRowsPerBlock, count = std::min(kRowsPerBlock, layout_->rows - first);
    const Extent rows{0, layout_->start + first * layout_->row_bytes, count * layout_->row_bytes};
    return std::make_unique<OpenRows>(rows, layout_);
  }
  uint64_t num_files() const override { return 1; }
  std::string file(uint64_t) const override { return layout_->file.path; }
  SamplePlace where(uint64_t index) const override {
    return {layout_->file.path, " at row " + std::to_string(index), index};
  }
  Value describe() const override {
    return Value::Object{{"format", "digits"}, {"path", layout_->file.path}};
  }
  std::string fingerprint() const override {
    const std::string& path = layout_->file.path;
    return hash_text("digits " + path.substr(path.rfind('/') + 1) + ' ' + std::to_string(layout_->rows) +
                     " of " + layout_->row.text());
  }

 private:
  std::shared_ptr<const Layout> layout_;
  Schema schema_;
};

class OpenDigits final : public Opening<SourcePtr> {
 public:
  explicit OpenDigits(SourceFile file) : file_(std::move(file)) {}
  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty())
      return Step<SourcePtr>(std::vector<Extent>{{0, 0, std::min(file_.size, kLongestHeader)}});
    HEADRACE_ASSIGN(Layout layout, parse(std::move(file_), bytes[0]->bytes()));
    return Step<SourcePtr>(std::make_shared<DigitsSource>(std::move(layout)));
  }

 private:
  SourceFile file_;
};

int recognise(const Probe& probe) {
  return probe.head && parse({probe.path, probe.info.size}, probe.head->bytes()).ok() ? 95 : 0;
}

Result<SourceOpening> open(const OpenRequest& request) {
  const Probe& path = request.path();
  if (path.listing) return invalid({.expected = "a file", .got = "a folder"});
  return SourceOpening{std::make_unique<OpenDigits>(SourceFile{path.path, path.info.size}),
                       [name = path.path](uint64_t) { return name; }};
}

const FormatRegistration registered({
    .name = "digits",
    .doc = "Rows of uint8 values in one file.",
    .fields = "`value`, uint8 with the shape of a row.",
    .path = "The file.",
    .raises = {{"CorruptSample", "the header is damaged, or the file size does not match it."}},
    .example = "hr.read_digits(\"mnist/digits\")",
    .recognise = recognise,
    .open = open,
});

}  // namespace
}  // namespace headrace
