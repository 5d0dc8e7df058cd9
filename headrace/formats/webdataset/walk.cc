#include "headrace/formats/webdataset/walk.h"

#include <algorithm>
#include <array>

#include "headrace/formats/webdataset/sample_name.h"
#include "headrace/formats/webdataset/tar_head.h"

namespace headrace {
namespace {

// Below a mean of this many bytes a member, reading what lies between two headers costs less than a read for
// each.
constexpr uint64_t kMostBetween = 8192;
// The headers of a member, and mostly a short one and the next headers behind it, are in the first window.
constexpr uint64_t kFirstWindow = 4096, kMostWindow = 1 << 18;

bool is_compressed(std::span<const std::byte> head) {
  constexpr std::array<std::string_view, 4> magics{"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh", "\xfd\x37zXZ"};
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return std::ranges::any_of(magics, [&](std::string_view magic) { return text.starts_with(magic); });
}

class Walk final : public Opening<FileIndex> {
 public:
  Walk(SourceFile file, bool may_be_open) : file_(std::move(file)), may_be_open_(may_be_open) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (!bytes.empty()) HEADRACE_TRY(scan(bytes[0]->bytes()));
    const uint64_t left = file_.size - position_;
    if (left == 0 && !is_end_) HEADRACE_TRY(end(TarHead()));
    if (is_end_) return Step<FileIndex>(std::move(index_));
    return Step<FileIndex>(std::vector<Extent>{{0, position_, std::min(std::max(window_, needed_), left)}});
  }

 private:
  // Every member whose headers are in `window`, which begins with one.
  Status scan(std::span<const std::byte> window) {
    const uint64_t begin = position_;
    uint64_t members = 0;
    needed_ = 0;
    if (begin == 0 && is_compressed(window) && !is_tar_header(window)) return compressed();
    while (position_ - begin < window.size()) {
      const auto bytes = window.subspan(position_ - begin);
      auto head = read_tar_head(bytes, file_.size - position_, joined_);
      if (!head.ok()) return at_byte(head.status());
      if (head->needed > 0) {
        needed_ = head->needed;
        break;
      }
      if (head->is_end) return end(*head);
      if (Status status = take(*head); !status.ok()) return at_byte(std::move(status));
      position_ = std::min(position_ + head->next(), file_.size);  // the last one's padding may be missing
      ++members, ++members_;
    }
    if (members > 0) adapt((position_ - begin) / members);
    return {};
  }

  Status end(const TarHead& head) {
    is_end_ = true;
    if (head.is_closed || may_be_open_) return {};
    if (!head.cut.ok()) return at_byte(head.cut);
    return at_byte(
        corrupt("wants two blocks of zeros at the end, got none: the tar was cut, or its writer was not "
                "closed; unfinished=True takes what is there"));
  }

  Status take(const TarHead& head) {
    const auto name = head.is_file ? sample_name(head.name) : std::nullopt;
    if (!name) return {};
    if (index_.records.empty() || name->key != key_) {
      index_.records.push_back({position_, 0});
      key_ = name->key;
      in_sample_ = 0;
    }
    RecordExtent& sample = index_.records.back();
    sample.length = position_ + head.end() - sample.offset;
    const auto refuse = [&](uint64_t most, const char* of) {
      return Status(Code::exhausted,
                    "wants a sample of at most " + std::to_string(most) + of + ", '" + key_ + "' has more");
    };
    if (sample.length > kMostTarSample) return refuse(kMostTarSample, " bytes");
    if (++in_sample_ > kMostSampleMembers) return refuse(kMostSampleMembers, " members");
    if (index_.records.size() == 1) index_.extra += lower_suffix(name->suffix) + '\0';
    return {};
  }

  void adapt(uint64_t mean) {
    window_ = mean > kMostBetween ? kFirstWindow : std::min(2 * window_, kMostWindow);
  }

  static Status compressed() {
    return {Code::unavailable,
            "wants a plain tar, got a compressed one, which has no random access: unpack it first, as "
            "`gunzip` does"};
  }

  Status at_byte(Status status) const {
    return std::move(status).after(" (member " + std::to_string(members_) + " at byte " +
                                   std::to_string(position_) + ")");
  }

  SourceFile file_;
  bool may_be_open_;
  uint64_t position_ = 0;  // of the next member's first header
  uint64_t window_ = kFirstWindow;
  uint64_t needed_ = 0;  // when a member's headers are longer than the window
  uint64_t members_ = 0;
  bool is_end_ = false;
  std::string key_, joined_;
  size_t in_sample_ = 0;  // members of the last sample
  FileIndex index_;
};

}  // namespace

std::unique_ptr<Opening<FileIndex>> walk_webdataset(SourceFile file, bool may_be_open) {
  return std::make_unique<Walk>(std::move(file), may_be_open);
}

}  // namespace headrace
