#include "tests/sources/tfrecord.h"

#include <algorithm>
#include <cassert>

#include "tests/sources/tfrecord_framing.h"

namespace headrace::trial {
namespace {

constexpr size_t kFilesAtOnce = 16;  // windows in memory while the index is built

class RecordBlock final : public Block {
 public:
  RecordBlock(BufferPtr buffer, size_t length) : buffer_(std::move(buffer)), length_(length) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row != 0)
      return internal_error("tfrecord: a block has one record, wanted number " + std::to_string(row));
    fields = {Tensor{buffer_, kRecordHeader, DType::bytes, {static_cast<int64_t>(length_)}, nullptr}};
    return {};
  }

 private:
  BufferPtr buffer_;
  size_t length_;
};

class RecordOpening final : public Opening<BlockPtr> {
 public:
  RecordOpening(RecordIndex::Entry entry, std::string path) : entry_(entry), path_(std::move(path)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty())
      return Step<BlockPtr>(std::vector<Extent>{{entry_.file, entry_.start, entry_.end - entry_.start}});
    HEADRACE_ASSIGN(const auto payload, record_payload(bytes[0]->bytes(), entry_.start, path_));
    return Step<BlockPtr>(std::make_shared<RecordBlock>(bytes[0], payload.size()));
  }

 private:
  RecordIndex::Entry entry_;
  std::string path_;
};

class PlainSource final : public RecordSource {
 public:
  using RecordSource::RecordSource;
  Place place(uint64_t index) const override { return {index, 0}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const auto entry = index_->at(block);
    return std::make_unique<RecordOpening>(entry, files_[entry.file].path);
  }
  Value describe() const override { return describe_as("tfrecord"); }
};

// Walks the files window by window. The window of a file starts at a record's header, so a header is never
// split.
class IndexOpening final : public Opening<SourcePtr> {
 public:
  IndexOpening(std::vector<SourceFile> files, uint64_t window)
      : files_(std::move(files)), window_(window), position_(files_.size()), index_(files_.size()) {}

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    assert(bytes.size() == asked_.size());
    for (size_t i = 0; i < asked_.size(); ++i) HEADRACE_TRY(scan(asked_[i], bytes[i]->bytes()));
    std::vector<Extent> extents;
    asked_.clear();
    for (size_t file = first_unfinished_; file < files_.size() && asked_.size() < kFilesAtOnce; ++file) {
      const uint64_t left = files_[file].size - position_[file];
      if (left == 0) {
        if (file == first_unfinished_) ++first_unfinished_;
        continue;
      }
      asked_.push_back(file);
      extents.push_back({file, position_[file], std::min(window_, left)});
    }
    if (!extents.empty()) return Step<SourcePtr>(std::move(extents));
    index_.finish();
    return Step<SourcePtr>(std::make_shared<PlainSource>(std::move(files_), std::move(index_)));
  }

 private:
  // Every record that starts in `window` with its whole header.
  Status scan(size_t file, std::span<const std::byte> window) {
    const std::string& path = files_[file].path;
    uint64_t used = 0;
    while (used < window.size()) {
      const uint64_t start = position_[file], left = files_[file].size - start;
      if (left < kRecordHeader)
        return corrupt("tfrecord: a record's header is cut short" + at_byte(start, path));
      if (window.size() - used < kRecordHeader) return {};
      HEADRACE_ASSIGN(const uint64_t length, record_length(window.subspan(used), left, start, path));
      const uint64_t framed = kRecordHeader + length + kRecordFooter;
      position_[file] += framed;
      index_.add(file, start, position_[file]);
      if (framed > window.size() - used) return {};
      used += framed;
    }
    return {};
  }

  std::vector<SourceFile> files_;
  uint64_t window_;
  std::vector<uint64_t> position_;  // of the next record, per file
  std::vector<size_t> asked_;       // the files of the last step's extents
  size_t first_unfinished_ = 0;
  RecordIndex index_;
};

}  // namespace

Result<std::unique_ptr<Opening<SourcePtr>>> open_tfrecord(std::vector<SourceFile> files,
                                                          TfrecordOptions options) {
  if (options.window < kRecordHeader)
    return invalid("tfrecord: a window holds at least " + std::to_string(kRecordHeader) + " bytes, got " +
                   std::to_string(options.window));
  return std::unique_ptr<Opening<SourcePtr>>(
      std::make_unique<IndexOpening>(std::move(files), options.window));
}

}  // namespace headrace::trial
