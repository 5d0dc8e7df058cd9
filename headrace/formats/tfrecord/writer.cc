// Writes TFRecord: see "Writing" in README.md.
#include "headrace/formats/writer.h"

#include "headrace/codecs/deflate/deflate.h"
#include "headrace/formats/tfrecord/example.h"
#include "headrace/formats/tfrecord/framing.h"
#include "headrace/io/new_file.h"

namespace headrace {
namespace {

constexpr int64_t kLevel = 6;  // zlib's default

// The caller keeps `bytes` alive while the tensor is in use.
Tensor borrowed(std::string_view bytes) {
  const auto span = std::as_bytes(std::span(bytes));
  return {std::make_shared<BorrowedBuffer>(span, nullptr),
          0,
          DType::bytes,
          {static_cast<int64_t>(bytes.size())},
          nullptr};
}

class TfrecordWriter final : public FileWriter {
 public:
  TfrecordWriter(Schema schema, bool is_raw, bool rounds, std::unique_ptr<AppendedFile> file,
                 std::unique_ptr<Deflater> deflater)
      : schema_(std::move(schema)),
        is_raw_(is_raw),
        rounds_(rounds),
        file_(std::move(file)),
        deflater_(std::move(deflater)) {}

  Status add(const std::vector<Tensor>& fields) override {
    record_.clear();
    std::span<const std::byte> data =
        fields.empty() ? std::span<const std::byte>() : fields[0].view().bytes();
    if (!is_raw_) {
      HEADRACE_TRY(check_values(schema_, fields, rounds_));
      append_example(schema_, fields, record_);
      data = std::as_bytes(std::span(record_));
      read_.assign(1, borrowed(record_));
    }
    if (data.size() > kMostTfrecord)
      return invalid({.expected = "a record of at most " + std::to_string(kMostTfrecord) + " bytes",
                      .got = std::to_string(data.size())})
          .in_format("tfrecord");
    struct {
      uint64_t length;
      uint32_t checksum;
    } header{data.size(), 0};
    header.checksum = masked_crc32c(std::as_bytes(std::span(&header.length, 1)));
    const uint32_t footer = masked_crc32c(data);
    HEADRACE_TRY(append(std::as_bytes(std::span(&header, 1)).first(kTfrecordHeader)));
    HEADRACE_TRY(append(data));
    return append(std::as_bytes(std::span(&footer, 1)));
  }
  const std::vector<Tensor>* as_read() const override { return is_raw_ ? nullptr : &read_; }

  Status finish() override {
    if (deflater_)
      HEADRACE_TRY(deflater_->finish([&](std::span<const std::byte> piece) { return file_->append(piece); }));
    return file_->finish();
  }

 private:
  Status append(std::span<const std::byte> bytes) {
    if (!deflater_) return file_->append(bytes);
    return deflater_->feed(bytes, [&](std::span<const std::byte> piece) { return file_->append(piece); });
  }

  const Schema schema_;
  const bool is_raw_, rounds_;
  std::unique_ptr<AppendedFile> file_;
  std::unique_ptr<Deflater> deflater_;  // null: plain
  std::string record_;                  // the last one
  std::vector<Tensor> read_;
};

// Records as they are read: one field of bytes with the reader's name.
bool holds_records(const Schema& schema) {
  return schema.size() == 1 && schema.names[0] == "record" && schema.specs[0].dtype == DType::bytes;
}

Result<std::unique_ptr<Deflater>> deflater_for(const WriteRequest& request) {
  HEADRACE_ASSIGN(const std::string compression, request.text("compression", "none"));
  HEADRACE_ASSIGN(const int64_t level, request.integer("level", kLevel));
  if (level < 1 || level > 9)
    return invalid("level must be 1 to 9, got " + std::to_string(level)).in_format("tfrecord");
  if (compression == "none") return std::unique_ptr<Deflater>();
  if (compression != "gzip" && compression != "zlib")
    return invalid("compression must be 'none', 'gzip' or 'zlib', got '" + compression + "'")
        .in_format("tfrecord");
  return std::make_unique<Deflater>(compression == "gzip" ? DeflateWrap::gzip : DeflateWrap::zlib,
                                    static_cast<int>(level));
}

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  HEADRACE_TRY(check_example(request.schema));
  HEADRACE_ASSIGN(auto deflater, deflater_for(request));
  HEADRACE_ASSIGN(const bool rounds, request.flag("round", false));
  HEADRACE_ASSIGN(auto file, AppendedFile::make(request.path));
  return std::make_unique<TfrecordWriter>(request.schema, holds_records(request.schema), rounds,
                                          std::move(file), std::move(deflater));
}

const WriterRegistration registered_writer({
    .name = "tfrecord",
    .doc = "TFRecord files, one tf.train.Example per sample; a single bytes field `record` is written as is.",
    .ending = ".tfrecord",
    .options =
        {{"compression", "str", "Of whole files: \"none\", \"gzip\" or \"zlib\".", "none"},
         {"level", "int", "Compression level, 1 (fast) to 9 (small).", kLevel},
         {"round", "bool",
          "Round float64 to the float32 of a FloatList; False: a number that would change is an error.",
          false}},
    .make = make,
    .other_endings = {{".tfrecords", Value(Value::Object{})},
                      {".tfrecord.gz", Value(Value::Object{{"compression", "gzip"}})},
                      {".tfrecords.gz", Value(Value::Object{{"compression", "gzip"}})}},
});

}  // namespace
}  // namespace headrace
