#include "headrace/formats/webdataset/index.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/core/stop_flag.h"
#include "headrace/formats/webdataset/dali_index.h"
#include "headrace/formats/webdataset/grouping.h"
#include "headrace/formats/webdataset/tar_head.h"

namespace headrace {
namespace {

// Below this mean size of a member in bytes, reading all between two headers is cheaper than one read per
// header.
constexpr uint64_t kMostBetween = 8192;
// The first window holds the headers of a member, and usually a short member and the next headers, too.
constexpr uint64_t kFirstWindow = 4096, kMostWindow = 1 << 18;
// How far another tar is looked for behind the end of one. Writers fill their last 10 KiB with zeros.
constexpr uint64_t kMostBehind = 1 << 16;

bool is_compressed(std::span<const std::byte> head) {
  constexpr std::array<std::string_view, 2> magics{"BZh", "\xfd\x37zXZ"};
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return std::ranges::any_of(magics, [&](std::string_view magic) { return text.starts_with(magic); });
}

Status compressed() {
  return {Code::unavailable, Mismatch{.expected = "a tar, plain or in gzip or zstd",
                                      .got = "another compression, which has no random access",
                                      .fix = "decompress it first"}};
}

// Whether the first block that is not all zeros is the header of a tar.
bool begins_tar_behind_zeros(std::span<const std::byte> bytes) {
  const auto first = std::ranges::find_if(bytes, [](std::byte b) { return b != std::byte{}; });
  const auto at = static_cast<uint64_t>(first - bytes.begin()) / kTarBlock * kTarBlock;
  return at < bytes.size() && is_tar_header(bytes.subspan(at));
}

// What is wrong with the end that `head` found; nothing if it `may_be_open`.
Status check_end(const TarHead& head, bool may_be_open) {
  if (head.is_closed || may_be_open) return {};
  if (!head.cut.ok()) return head.cut;
  return corrupt({.expected = "two blocks of zeros at the end",
                  .got = std::string(head.has_zeros ? "one" : "none") +
                         ": the tar was truncated, or its writer was not closed",
                  .fix = "unfinished=True reads what is there"});
}

class Walk final : public Opening<FileIndex> {
 public:
  Walk(SourceFile file, bool may_be_open) : file_(std::move(file)), may_be_open_(may_be_open) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (is_behind_ && !bytes.empty() && begins_tar_behind_zeros(bytes[0]->bytes())) grouping_.take_next_tar();
    if (is_behind_) return ask_for_arrays();
    if (is_end_) return finish(bytes);
    if (!bytes.empty()) HEADRACE_TRY(scan(bytes[0]->bytes()));
    const uint64_t left = file_.size - position_;
    if (file_.size == 0 && !may_be_open_) return corrupt({.expected = "a tar", .got = "an empty file"});
    if (left == 0 && !is_end_) HEADRACE_TRY(end(TarHead()));
    if (!is_end_)
      return Step<FileIndex>(std::vector<Extent>{{0, position_, std::min(std::max(window_, needed_), left)}});
    if (behind_ > 0 && behind_ < file_.size) {
      is_behind_ = true;
      return Step<FileIndex>(std::vector<Extent>{{0, behind_, std::min(kMostBehind, file_.size - behind_)}});
    }
    return ask_for_arrays();
  }

 private:
  Result<Step<FileIndex>> ask_for_arrays() {
    is_behind_ = false;
    if (grouping_.arrays().empty()) return finish({});
    std::vector<Extent> heads;
    for (const Grouping::Array& array : grouping_.arrays())
      heads.push_back({0, array.offset, std::min(array.size, kArrayHead)});
    return Step<FileIndex>(std::move(heads));
  }

  Step<FileIndex> finish(std::span<const BufferPtr> heads) {
    for (size_t i = 0; i < heads.size(); ++i) grouping_.look_at(grouping_.arrays()[i], heads[i]->bytes());
    return grouping_.finish("");
  }

  // Takes every member whose headers are in `window`, which begins with one.
  Status scan(std::span<const std::byte> window) {
    const uint64_t begin = position_;
    const uint64_t before = grouping_.members();
    const uint64_t asked = std::exchange(needed_, 0);
    if (begin == 0 && is_compressed(window) && !is_tar_header(window)) return compressed();
    while (position_ - begin < window.size()) {
      const auto head = read_tar_head(window.subspan(position_ - begin), file_.size - position_, joined_);
      if (!head.ok()) return lose(head.status());
      if (head->needed > 0) {
        needed_ = std::max(head->needed, 2 * asked);  // headers are parsed again each time
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
    if (head.is_closed) behind_ = position_ + 2 * kTarBlock;
    Status status = check_end(head, may_be_open_);
    return status.ok() ? status : lose(std::move(status), grouping_.is_closed_by(head));
  }

  Status lose(Status why, bool is_closed = false) {
    is_end_ = true;
    return grouping_.lose(at_member(std::move(why), grouping_.members(), position_), position_, is_closed);
  }

  void adapt(uint64_t mean) {
    window_ = mean > kMostBetween ? kFirstWindow : std::min(2 * window_, kMostWindow);
  }

  SourceFile file_;
  bool may_be_open_;
  uint64_t position_ = 0;  // of the next member's first header
  uint64_t window_ = kFirstWindow;
  uint64_t needed_ = 0;  // set when a member's headers are longer than the window
  bool is_end_ = false, is_behind_ = false;
  uint64_t behind_ = 0;  // the first byte behind the tar's end
  std::string joined_;
  Grouping grouping_;
};

// A tar that is compressed as a whole is inflated once, window by window; only its points are kept.
class InflatingWalk final : public Opening<FileIndex> {
 public:
  InflatingWalk(SourceFile file, bool may_be_open) : file_(std::move(file)), may_be_open_(may_be_open) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    Status status;
    if (!bytes.empty()) {
      status = inflater_.feed(bytes[0]->bytes(), [this](auto piece) { return scan(piece); });
      done_ += bytes[0]->size();
    }
    if (const uint64_t left = file_.size - done_; status.ok() && left > 0)
      return Step<FileIndex>(std::vector<Extent>{{0, done_, std::min(kPackedWindow, left)}});
    if (status.ok()) status = inflater_.finish();
    if (status.ok() && !is_end_) status = finish_heads();
    InflatePoints points = inflater_.points();
    if (!status.ok()) HEADRACE_TRY(lose(std::move(status), points));
    return Step<FileIndex>(grouping_.finish(points.points.empty() ? "" : pack_points(points)));
  }

 private:
  static constexpr uint64_t kPackedWindow = uint64_t{1} << 20;
  static constexpr uint64_t kUnknown = uint64_t{1} << 62;  // bytes left, before the end is seen

  Status scan(std::span<const std::byte> piece) {
    if (is_end_) look_behind(piece);
    while (!piece.empty() && !is_end_) {
      if (const auto skipped = std::min<uint64_t>(to_skip_, piece.size()); skipped > 0) {
        look(piece.first(skipped));
        to_skip_ -= skipped;
        piece = piece.subspan(skipped);
        continue;
      }
      const size_t taken = std::min<size_t>(needed_ - heads_.size(), piece.size());
      heads_.insert(heads_.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(taken));
      piece = piece.subspan(taken);
      if (heads_.size() == needed_) HEADRACE_TRY(take(kUnknown));
      if (is_end_) heads_.clear(), look_behind(piece);
    }
    return {};
  }

  // Takes the member, or the end, that `heads_` describes, if they are all of its headers.
  Status take(uint64_t left) {
    const auto head = read_tar_head(heads_, left, joined_);
    if (!head.ok()) return here(head.status());
    if (head->needed > 0) {
      needed_ = head->needed;
      return {};
    }
    if (head->is_end) {
      is_end_ = true;
      is_closed_ = grouping_.is_closed_by(*head);
      return here(check_end(*head, may_be_open_));
    }
    const size_t arrays = grouping_.arrays().size();
    HEADRACE_TRY(grouping_.take(*head, position_));
    if (grouping_.arrays().size() > arrays) to_look_ = std::min(head->size, kArrayHead);
    to_skip_ = head->next() - heads_.size();
    position_ += head->next();
    data_end_ = position_ - (head->next() - head->end());
    heads_.clear();
    needed_ = kTarBlock;
    return {};
  }

  // Block by block behind the end.
  void look_behind(std::span<const std::byte> piece) {
    while (!piece.empty() && looked_behind_ < kMostBehind) {
      const size_t taken = std::min<size_t>(kTarBlock - heads_.size(), piece.size());
      heads_.insert(heads_.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(taken));
      piece = piece.subspan(taken);
      if (heads_.size() < kTarBlock) return;
      looked_behind_ += kTarBlock;
      if (begins_tar_behind_zeros(heads_)) grouping_.take_next_tar(), looked_behind_ = kMostBehind;
      heads_.clear();
    }
  }

  // The first bytes of an array of the first sample.
  void look(std::span<const std::byte> data) {
    if (to_look_ == 0) return;
    const auto part = data.first(std::min<uint64_t>(to_look_, data.size()));
    array_.insert(array_.end(), part.begin(), part.end());
    to_look_ -= part.size();
    if (to_look_ > 0) return;
    grouping_.look_at(grouping_.arrays().back(), array_);
    array_.clear();
  }

  // The inflated data have ended, and the end of the tar was not seen.
  Status finish_heads() {
    const uint64_t there = inflater_.points().unpacked_size;
    if (there < data_end_)
      return at_member(corrupt("expected " + std::to_string(data_end_ - there) +
                               " more bytes of a member's data, but the file ends"),
                       grouping_.members() - 1, there);
    return take(heads_.size());
  }

  // Nothing after damage can be found: inflated data depend on everything before them.
  Status lose(Status why, InflatePoints& points) {
    const uint64_t from = std::min(position_, points.unpacked_size);
    points.packed_size = file_.size;
    return grouping_.lose(std::move(why), from, is_closed_);
  }

  Status here(Status status) const { return at_member(std::move(status), grouping_.members(), position_); }

  SourceFile file_;
  bool may_be_open_;
  uint64_t done_ = 0;      // packed bytes
  uint64_t position_ = 0;  // of the next member's first header, unpacked
  uint64_t to_skip_ = 0;   // of the previous member's data and padding
  uint64_t data_end_ = 0;  // of the previous member
  uint64_t to_look_ = 0;   // bytes still needed of the head of the array that is skipped
  uint64_t needed_ = kTarBlock;
  bool is_end_ = false, is_closed_ = false;  // closed: the last sample has all its members
  uint64_t looked_behind_ = 0;               // bytes behind the end
  std::vector<std::byte> heads_, array_;
  std::string joined_;
  Inflater inflater_;
  Grouping grouping_;
};

// Chooses one of the two by the first bytes; neither if DALI's index next to the file agrees with it.
class Look final : public Opening<FileIndex> {
 public:
  Look(SourceFile file, bool may_be_open) : file_(std::move(file)), may_be_open_(may_be_open) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (walk_) return walk_->advance(bytes);
    if (claimed_) {
      if (auto index = agreed(*claimed_, bytes)) return Step<FileIndex>(*std::move(index));
      return begin_walk(is_deflated_);
    }
    if (bytes.empty() && file_.size > 0) return Step<FileIndex>(first_look());
    const auto head = bytes.empty() ? std::span<const std::byte>() : bytes[0]->bytes();
    is_deflated_ = looks_deflated(head) && !is_tar_header(head);
    if (bytes.size() == 2 && !is_deflated_) {
      const std::string_view text(reinterpret_cast<const char*>(bytes[1]->data()), bytes[1]->size());
      if ((claimed_ = read_dali_tar_index(text, file_.size))) return Step<FileIndex>(looks_at(*claimed_));
    }
    return begin_walk(is_deflated_);
  }

 private:
  std::vector<Extent> first_look() const {
    std::vector<Extent> out{{0, 0, std::min(file_.size, kTarBlock)}};
    if (const uint64_t index = file_.first_beside(); index != 0) out.push_back({index, 0, kToEnd});
    return out;
  }

  Result<Step<FileIndex>> begin_walk(bool inflating) {
    if (inflating)
      walk_ = std::make_unique<InflatingWalk>(std::move(file_), may_be_open_);
    else
      walk_ = std::make_unique<Walk>(std::move(file_), may_be_open_);
    return walk_->advance({});
  }

  SourceFile file_;
  bool may_be_open_, is_deflated_ = false;
  std::optional<DaliTarIndex> claimed_;
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
  (void)status;  // the head may end anywhere
  return is_tar_header(first);
}

std::unique_ptr<Opening<FileIndex>> walk_webdataset(SourceFile file, bool may_be_open) {
  return std::make_unique<Look>(std::move(file), may_be_open);
}

}  // namespace headrace
