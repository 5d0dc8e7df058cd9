// Writes .npy files: see "Writing" in README.md.
#include "headrace/formats/writer.h"

#include <algorithm>

#include "headrace/codecs/npy.h"
#include "headrace/io/new_file.h"

namespace headrace {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // bytes written at once, or one longer row

// Leaves room for the header of any number of rows, and writes the header last. The first sample decides the
// dimensions that the schema leaves open.
class NpyWriter final : public FileWriter {
 public:
  NpyWriter(std::string name, const TensorSpec& row, std::unique_ptr<NewFile> file)
      : name_(std::move(name)), row_(row), file_(std::move(file)) {}

  Status add(const std::vector<Tensor>& fields) override {
    const View row = fields[0].view();
    if (row.size_bytes() == 0)
      return invalid(name_ + "expected arrays of at least one number, got " + row.spec().text());
    if (rows_ == 0)
      begin(row.shape);
    else if (!(row.shape == row_.shape))
      return invalid(name_ + "expected arrays of one shape, " + row_.shape.text() + ", got " +
                     row.shape.text() + "; Arrow files can hold several shapes");
    waiting_.insert(waiting_.end(), row.bytes().begin(), row.bytes().end());
    ++rows_;
    return waiting_.size() < kPiece ? Status() : flush();
  }

  Status finish() override {
    if (rows_ == 0) begin(without_free(row_.shape));
    HEADRACE_TRY(flush());
    const std::string head = header(rows_, room_);
    HEADRACE_TRY(file_->write(0, std::as_bytes(std::span(head))));
    return file_->commit(NewFile::Lasts::as_the_system_likes);
  }

 private:
  static Shape without_free(Shape shape) {
    for (int i = 0; i < shape.rank(); ++i) shape.set(i, std::max<int64_t>(shape[i], 0));
    return shape;
  }
  void begin(const Shape& shape) {
    row_.shape = shape;
    written_ = room_ = header(INT64_MAX).size();
  }
  std::string header(int64_t rows, size_t least = 0) const {
    return new_npy_header({row_.dtype, row_.shape.with_front(rows)}, least);
  }
  Status flush() {
    HEADRACE_TRY(file_->write(written_, waiting_));
    written_ += waiting_.size();
    waiting_.clear();
    return {};
  }

  const std::string name_;
  TensorSpec row_;
  uint64_t room_ = 0, written_ = 0;  // bytes: of the header, in total
  int64_t rows_ = 0;
  std::unique_ptr<NewFile> file_;
  std::vector<std::byte> waiting_;
};

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  const Schema& schema = request.schema;
  if (schema.size() != 1)
    return invalid({.expected = "one field",
                    .got = schema.text(),
                    .fix = "keep one with ds.map(lambda s: s.image)"})
        .in_format("npy");
  const TensorSpec& row = schema.specs[0];
  const std::string field = "npy: field '" + schema.names[0] + "': ";
  if (is_text(row.dtype))
    return invalid(field + "expected arrays of one shape, got " + row.text() +
                   "; Arrow files can hold others");
  HEADRACE_TRY(check_npy(row.dtype).before(field));
  if (row.shape.rank() == kMaxRank) return invalid(field + "expected at most 7 dimensions, got 8");
  HEADRACE_ASSIGN(auto file, NewFile::make(request.path));
  return std::make_unique<NpyWriter>(field, row, std::move(file));
}

const WriterRegistration registered_writer({
    .name = "npy",
    .doc = "NumPy's .npy files: one field of one shape, its values stacked along a new first axis.",
    .ending = ".npy",
    .make = make,
});

}  // namespace
}  // namespace headrace
