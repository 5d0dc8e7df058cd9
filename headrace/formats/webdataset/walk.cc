#include "headrace/formats/webdataset/walk.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/core/stop_flag.h"
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
  constexpr std::array<std::string_view, 3> magics{"\x28\xb5\x2f\xfd", "BZh", "\xfd\x37zXZ"};
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return std::ranges::any_of(magics, [&](std::string_view magic) { return text.starts_with(magic); });
}

Status compressed() {
  return {
      Code::unavailable,
      "wants a tar, plain or in gzip, got another compression, which has no random access: unpack it first"};
}

Status at_member(Status status, uint64_t member, uint64_t position) {
  return std::move(status).after(" (member " + std::to_string(member) + " at byte " +
                                 std::to_string(position) + ")");
}

// Makes samples of members that come one by one.
class Grouping {
 public:
  // The member whose first header is at `position`.
  Status take(const TarHead& head, uint64_t position) {
    ++members_;
    const auto name = head.is_file ? sample_name(head.name) : std::nullopt;
    if (!name) return {};
    if (index_.records.empty() || name->key != key_) {
      index_.records.push_back({position, 0});
      key_ = name->key;
      in_sample_ = 0;
    }
    RecordExtent& sample = index_.records.back();
    sample.length = position + head.end() - sample.offset;
    const auto refuse = [&](uint64_t most, const char* of) {
      return at_member(Status(Code::exhausted, "wants a sample of at most " + std::to_string(most) + of +
                                                   ", '" + key_ + "' has more"),
                       members_ - 1, position);
    };
    if (sample.length > kMostTarSample) return refuse(kMostTarSample, " bytes");
    if (++in_sample_ > kMostSampleMembers) return refuse(kMostSampleMembers, " members");
    if (index_.records.size() == 1) index_.extra += lower_suffix(name->suffix) + '\0';
    return {};
  }

  FileIndex finish(std::string points) {
    index_.extra += '\0' + points;
    return std::move(index_);
  }
  uint64_t members() const { return members_; }

 private:
  uint64_t members_ = 0;
  std::string key_;
  size_t in_sample_ = 0;  // members of the last sample
  FileIndex index_;
};

// What is wrong with the end that `head` found. `may_be_open`: nothing.
Status check_end(const TarHead& head, bool may_be_open) {
  if (head.is_closed || may_be_open) return {};
  if (!head.cut.ok()) return head.cut;
  return corrupt(
      "wants two blocks of zeros at the end, got none: the tar was cut, or its writer was not closed; "
      "unfinished=True takes what is there");
}

class Walk final : public Opening<FileIndex> {
 public:
  Walk(SourceFile file, bool may_be_open) : file_(std::move(file)), may_be_open_(may_be_open) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (!bytes.empty()) HEADRACE_TRY(scan(bytes[0]->bytes()));
    const uint64_t left = file_.size - position_;
    if (left == 0 && !is_end_) HEADRACE_TRY(end(TarHead()));
    if (is_end_) return Step<FileIndex>(grouping_.finish(""));
    return Step<FileIndex>(std::vector<Extent>{{0, position_, std::min(std::max(window_, needed_), left)}});
  }

 private:
  // Every member whose headers are in `window`, which begins with one.
  Status scan(std::span<const std::byte> window) {
    const uint64_t begin = position_;
    const uint64_t before = grouping_.members();
    const uint64_t asked = std::exchange(needed_, 0);
    if (begin == 0 && is_compressed(window) && !is_tar_header(window)) return compressed();
    while (position_ - begin < window.size()) {
      const auto head = read_tar_head(window.subspan(position_ - begin), file_.size - position_, joined_);
      if (!head.ok()) return at_member(head.status(), grouping_.members(), position_);
      if (head->needed > 0) {
        needed_ = std::max(head->needed, 2 * asked);  // headers are parsed anew each time
        break;
      }
      if (head->is_end) return end(*head);
      HEADRACE_TRY(grouping_.take(*head, position_));
      position_ = std::min(position_ + head->next(), file_.size);  // the last one's padding may be missing
    }
    if (const uint64_t found = grouping_.members() - before; found > 0) adapt((position_ - begin) / found);
    return {};
  }

  Status end(const TarHead& head) {
    is_end_ = true;
    return at_member(check_end(head, may_be_open_), grouping_.members(), position_);
  }

  void adapt(uint64_t mean) {
    window_ = mean > kMostBetween ? kFirstWindow : std::min(2 * window_, kMostWindow);
  }

  SourceFile file_;
  bool may_be_open_;
  uint64_t position_ = 0;  // of the next member's first header
  uint64_t window_ = kFirstWindow;
  uint64_t needed_ = 0;  // when a member's headers are longer than the window
  bool is_end_ = false;
  std::string joined_;
  Grouping grouping_;
};

// A tar that is compressed as a whole is inflated once, window by window, and forgotten but for its points.
class InflatingWalk final : public Opening<FileIndex> {
 public:
  InflatingWalk(SourceFile file, bool may_be_open) : file_(std::move(file)), may_be_open_(may_be_open) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (!bytes.empty()) {
      HEADRACE_TRY(inflater_.feed(bytes[0]->bytes(), [this](auto piece) { return scan(piece); }));
      done_ += bytes[0]->size();
    }
    if (const uint64_t left = file_.size - done_; left > 0)
      return Step<FileIndex>(std::vector<Extent>{{0, done_, std::min(kPackedWindow, left)}});
    HEADRACE_TRY(inflater_.finish());
    if (!is_end_) HEADRACE_TRY(finish_heads());
    return Step<FileIndex>(grouping_.finish(pack_points(inflater_.points())));
  }

 private:
  static constexpr uint64_t kPackedWindow = uint64_t{1} << 20;
  static constexpr uint64_t kUnknown = uint64_t{1} << 62;  // bytes that are left, before the end is seen

  Status scan(std::span<const std::byte> piece) {
    while (!piece.empty() && !is_end_) {
      if (const auto skipped = std::min<uint64_t>(to_skip_, piece.size()); skipped > 0) {
        to_skip_ -= skipped;
        piece = piece.subspan(skipped);
        continue;
      }
      const size_t taken = std::min<size_t>(needed_ - heads_.size(), piece.size());
      heads_.insert(heads_.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(taken));
      piece = piece.subspan(taken);
      if (heads_.size() == needed_) HEADRACE_TRY(take(kUnknown));
    }
    return {};
  }

  // The member, or the end, that `heads_` says, when they are all of its headers.
  Status take(uint64_t left) {
    const auto head = read_tar_head(heads_, left, joined_);
    if (!head.ok()) return at_member(head.status(), grouping_.members(), position_);
    if (head->needed > 0) {
      needed_ = head->needed;
      return {};
    }
    if (head->is_end) {
      is_end_ = true;
      return at_member(check_end(*head, may_be_open_), grouping_.members(), position_);
    }
    HEADRACE_TRY(grouping_.take(*head, position_));
    to_skip_ = head->next() - heads_.size();
    position_ += head->next();
    data_end_ = position_ - (head->next() - head->end());
    heads_.clear();
    needed_ = kTarBlock;
    return {};
  }

  // The data end before the tar does.
  Status finish_heads() {
    const uint64_t there = inflater_.points().unpacked_size;
    if (there < data_end_)
      return at_member(corrupt("wants " + std::to_string(data_end_ - there) +
                               " more bytes of a member's data, "
                               "the file ends"),
                       grouping_.members() - 1, there);
    return take(heads_.size());
  }

  SourceFile file_;
  bool may_be_open_;
  uint64_t done_ = 0;      // packed bytes
  uint64_t position_ = 0;  // of the next member's first header, unpacked
  uint64_t to_skip_ = 0;   // of the data of the member before, and their padding
  uint64_t data_end_ = 0;  // of the member before
  uint64_t needed_ = kTarBlock;
  bool is_end_ = false;
  std::vector<std::byte> heads_;
  std::string joined_;
  Inflater inflater_;
  Grouping grouping_;
};

// Which of the two, by the first bytes.
class Look final : public Opening<FileIndex> {
 public:
  Look(SourceFile file, bool may_be_open) : file_(std::move(file)), may_be_open_(may_be_open) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (walk_) return walk_->advance(bytes);
    if (bytes.empty() && file_.size > 0)
      return Step<FileIndex>(std::vector<Extent>{{0, 0, std::min(file_.size, kTarBlock)}});
    const auto head = bytes.empty() ? std::span<const std::byte>() : bytes[0]->bytes();
    if (looks_deflated(head) && !is_tar_header(head))
      walk_ = std::make_unique<InflatingWalk>(std::move(file_), may_be_open_);
    else
      walk_ = std::make_unique<Walk>(std::move(file_), may_be_open_);
    return walk_->advance({});
  }

 private:
  SourceFile file_;
  bool may_be_open_;
  std::unique_ptr<Opening<FileIndex>> walk_;
};

}  // namespace

bool begins_deflated_tar(std::span<const std::byte> head) {
  if (!looks_deflated(head)) return false;
  std::vector<std::byte> first;
  Inflater inflater;
  const Status status = inflater.feed(head, [&](std::span<const std::byte> piece) -> Status {
    first.insert(first.end(), piece.begin(), piece.end());
    return first.size() < kTarBlock ? Status() : stopped();
  });
  (void)status;  // the head may end in the middle of anything
  return is_tar_header(first);
}

std::unique_ptr<Opening<FileIndex>> walk_webdataset(SourceFile file, bool may_be_open) {
  return std::make_unique<Look>(std::move(file), may_be_open);
}

}  // namespace headrace
