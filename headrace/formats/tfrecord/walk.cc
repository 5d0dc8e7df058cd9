#include "headrace/formats/tfrecord/walk.h"

#include <algorithm>

#include "headrace/formats/tfrecord/framing.h"

namespace headrace {
namespace {

// Below a mean of this many bytes a record, reading what lies between two headers costs less than a read for
// each.
constexpr uint64_t kMostBetween = 8192;  // bench/micro/tfrecord_index
constexpr uint64_t kFirstWindow = 4096, kMostWindow = 1 << 18;

class Walk final : public Opening<FileIndex> {
 public:
  explicit Walk(SourceFile file) : file_(std::move(file)) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (!bytes.empty()) HEADRACE_TRY(scan(bytes[0]->bytes()));
    const uint64_t left = file_.size - position_;
    if (left == 0) return Step<FileIndex>(std::move(index_));
    return Step<FileIndex>(std::vector<Extent>{{0, position_, std::min(window_, left)}});
  }

 private:
  // Every record whose header is in `window`, which begins with one.
  Status scan(std::span<const std::byte> window) {
    const uint64_t begin = position_;
    size_t records = 0;
    uint64_t used = 0;
    while (used < window.size() && position_ < file_.size) {
      const uint64_t left = file_.size - position_;
      if (left < kTfrecordHeader)
        return at_byte(
            corrupt("wants a record's header of 12 bytes, only " + std::to_string(left) + " bytes are left"));
      if (window.size() - used < kTfrecordHeader) break;
      auto length = framed_length(window.subspan(used), left);
      if (!length.ok()) return at_byte(length.status());
      index_.records.push_back({position_, *length});
      position_ += *length, used += *length;
      ++records;
    }
    if (records > 0) adapt((position_ - begin) / records);
    return {};
  }

  void adapt(uint64_t mean) {
    window_ = mean > kMostBetween          ? kTfrecordHeader
              : window_ == kTfrecordHeader ? kFirstWindow
                                           : std::min(2 * window_, kMostWindow);
  }

  Status at_byte(Status status) const {
    return std::move(status).after(" (record " + std::to_string(index_.records.size()) + " at byte " +
                                   std::to_string(position_) +
                                   ": what follows cannot be found without its length)");
  }

  SourceFile file_;
  uint64_t position_ = 0;  // of the next header
  uint64_t window_ = kFirstWindow;
  FileIndex index_;
};

}  // namespace

std::unique_ptr<Opening<FileIndex>> walk_tfrecord(SourceFile file) {
  return std::make_unique<Walk>(std::move(file));
}

}  // namespace headrace
