#include <zlib.h>

#include <algorithm>

#include "tests/sources/tfrecord.h"
#include "tests/sources/tfrecord_framing.h"

namespace headrace::trial {
namespace {

// Deflate cannot exceed 1032:1; the allowance is for a stream's own worst case, and the ceiling for bombs of
// many members.
constexpr uint64_t kMaxRatio = 1100;
constexpr uint64_t kMaxInflated = uint64_t{4} << 30;

// zlib counts in 32 bits: the input and the room are handed over piece by piece.
class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, 15 + 32) == Z_OK; }  // 32: gzip or zlib, by the header
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Status run(std::span<const std::byte> in, const std::string& path, std::vector<std::byte>& out) {
    if (!ready_) return Status(Code::exhausted, "tfrecord: no memory to inflate " + path);
    const uint64_t limit = std::min(kMaxInflated, in.size() * kMaxRatio + 4096);
    size_t used = 0;
    while (used < in.size() || pending_) {
      const size_t piece = std::min<size_t>(in.size() - used, 1 << 30);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + used));
      stream_.avail_in = static_cast<uInt>(piece);
      const int code = inflate_some(out);
      used += piece - stream_.avail_in;
      if (out.size() > limit)
        return Status(Code::exhausted, "tfrecord: may inflate to " + std::to_string(limit) +
                                           " bytes, got more" + at_byte(used, path));
      if (code == Z_STREAM_END) {
        if (inflateReset(&stream_) != Z_OK) return internal_error("tfrecord: cannot inflate the next member");
        ended_ = true;
      } else if (code != Z_OK && !(code == Z_BUF_ERROR && stream_.avail_in == 0)) {
        return corrupt(std::string("tfrecord: cannot inflate (") + (stream_.msg ? stream_.msg : "bad data") +
                       ")" + at_byte(used, path));
      } else if (code == Z_OK) {
        ended_ = false;
      }
    }
    if (!ended_) return corrupt("tfrecord: the compressed data end early" + at_byte(used, path));
    return {};
  }

 private:
  int inflate_some(std::vector<std::byte>& out) {
    std::byte room[1 << 15];
    stream_.next_out = reinterpret_cast<Bytef*>(room);
    stream_.avail_out = sizeof(room);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    pending_ = stream_.avail_out == 0 && code == Z_OK;
    out.insert(out.end(), room, room + (sizeof(room) - stream_.avail_out));
    return code;
  }

  z_stream stream_{};
  bool ready_ = false;
  bool pending_ = false;  // the room was filled: more may come without more input
  bool ended_ = false;    // at the end of a member, with nothing after it
};

// The inflated bytes with their record starts: checked once, as a whole.
Status index_records(std::span<const std::byte> bytes, size_t file, const std::string& path,
                     RecordIndex& index) {
  uint64_t position = 0;
  while (position < bytes.size()) {
    const uint64_t left = bytes.size() - position;
    if (left < kRecordHeader)
      return corrupt("tfrecord: a record's header is cut short" + at_byte(position, path));
    HEADRACE_ASSIGN(const uint64_t length, record_length(bytes.subspan(position), left, position, path));
    const uint64_t end = position + kRecordHeader + length + kRecordFooter;
    index.add(file, position, end);
    position = end;
  }
  return {};
}

class InflatedBuffer final : public Buffer {
 public:
  explicit InflatedBuffer(std::vector<std::byte> bytes) : Buffer(nullptr, 0), bytes_(std::move(bytes)) {
    data_ = bytes_.data();
    size_ = bytes_.size();
  }

 private:
  std::vector<std::byte> bytes_;
};

class FileBlock final : public Block {
 public:
  FileBlock(BufferPtr bytes, std::shared_ptr<const RecordIndex> index, uint64_t file, std::string path)
      : bytes_(std::move(bytes)), index_(std::move(index)), file_(file), path_(std::move(path)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= index_->num_rows(file_)) return internal_error("tfrecord: no record " + std::to_string(row));
    const auto entry = index_->row(file_, row);
    const auto record = bytes_->bytes().subspan(entry.start, entry.end - entry.start);
    HEADRACE_ASSIGN(const auto payload, record_payload(record, entry.start, path_ + " (inflated)"));
    fields = {Tensor{
        bytes_, entry.start + kRecordHeader, DType::bytes, {static_cast<int64_t>(payload.size())}, nullptr}};
    return {};
  }
  size_t held_bytes() const override { return bytes_->size(); }

 private:
  BufferPtr bytes_;
  std::shared_ptr<const RecordIndex> index_;
  uint64_t file_;
  std::string path_;
};

class FileOpening final : public Opening<BlockPtr> {
 public:
  FileOpening(std::shared_ptr<const RecordIndex> index, uint64_t file, SourceFile source_file)
      : index_(std::move(index)), ordinal_(file), file_(std::move(source_file)) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<BlockPtr>(std::vector<Extent>{{ordinal_, 0, file_.size}});
    std::vector<std::byte> inflated;
    HEADRACE_TRY(Inflater().run(bytes[0]->bytes(), file_.path, inflated));
    if (inflated.size() != index_->end(ordinal_))
      return corrupt("tfrecord: wants " + std::to_string(index_->end(ordinal_)) + " inflated bytes of " +
                     file_.path + " as when it was indexed, got " + std::to_string(inflated.size()));
    auto buffer = std::make_shared<InflatedBuffer>(std::move(inflated));
    return Step<BlockPtr>(std::make_shared<FileBlock>(std::move(buffer), index_, ordinal_, file_.path));
  }

 private:
  std::shared_ptr<const RecordIndex> index_;
  uint64_t ordinal_;
  SourceFile file_;
};

class GzipSource final : public RecordSource {
 public:
  using RecordSource::RecordSource;
  Place place(uint64_t index) const override {
    const auto entry = index_->at(index);
    return {entry.file, entry.row};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<FileOpening>(index_, block, files_[block]);
  }
  Value describe() const override { return describe_as("tfrecord_gzip"); }
};

// One file after the other: at most one file's bytes, compressed and inflated, are in memory.
class GzipOpening final : public Opening<SourcePtr> {
 public:
  explicit GzipOpening(std::vector<SourceFile> files) : files_(std::move(files)), index_(files_.size()) {}

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    if (!bytes.empty()) {
      std::vector<std::byte> inflated;
      HEADRACE_TRY(Inflater().run(bytes[0]->bytes(), files_[next_].path, inflated));
      HEADRACE_TRY(index_records(inflated, next_, files_[next_].path + " (inflated)", index_));
      ++next_;
    }
    if (next_ < files_.size()) return Step<SourcePtr>(std::vector<Extent>{{next_, 0, files_[next_].size}});
    index_.finish();
    return Step<SourcePtr>(std::make_shared<GzipSource>(std::move(files_), std::move(index_)));
  }

 private:
  std::vector<SourceFile> files_;
  size_t next_ = 0;
  RecordIndex index_;
};

}  // namespace

Result<std::unique_ptr<Opening<SourcePtr>>> open_gzip_tfrecord(std::vector<SourceFile> files) {
  return std::unique_ptr<Opening<SourcePtr>>(std::make_unique<GzipOpening>(std::move(files)));
}

}  // namespace headrace::trial
