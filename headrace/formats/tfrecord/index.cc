#include "headrace/formats/tfrecord/index.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/stop_flag.h"
#include "headrace/formats/tfrecord/framing.h"

namespace headrace {
namespace {

// Below this mean size of a record in bytes, reading all between two headers is cheaper than one read per
// header.
constexpr uint64_t kMostBetween = 8192;
constexpr uint64_t kFirstWindow = 4096, kMostWindow = 1 << 18;

// Damage becomes an entry of the index; other errors end the walk. No record begins at `byte`.
Status lose(const Status& why, uint64_t byte, FileIndex& index) {
  if (why.code() != Code::corrupt) return Status(why).at_record(index.records.size(), byte);
  index.damaged.push_back({index.records.size(), byte, std::string(why.text())});
  return {};
}

// Whether a length and its checksum match. By chance they do once in 2^32.
bool has_checksum(std::span<const std::byte> header) {
  return masked_crc32c(header.first(8)) == load<uint32_t>(header, 8);
}

// The number of bytes to skip to the next record, or to where one may begin when more bytes are seen: all but
// the last eleven. `left`: bytes of the file.
size_t to_next_record(std::span<const std::byte> bytes, uint64_t left) {
  for (size_t i = 0; i + kTfrecordHeader <= bytes.size(); ++i) {
    const auto header = bytes.subspan(i, kTfrecordHeader);
    const auto length = load<uint64_t>(header);
    if (left - i >= kTfrecordFrame && length <= std::min(left - i - kTfrecordFrame, kMostTfrecord) &&
        has_checksum(header))
      return i;
  }
  return bytes.size() == left ? bytes.size()
                              : bytes.size() - std::min<size_t>(bytes.size(), kTfrecordHeader - 1);
}

Status cut(uint64_t left) {
  return corrupt("expected a record header of 12 bytes, but only " + std::to_string(left) +
                 " bytes are left");
}

class Walk final : public Opening<FileIndex> {
 public:
  explicit Walk(SourceFile file) : file_(std::move(file)) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (!bytes.empty()) HEADRACE_TRY(scan(bytes[0]->bytes()));
    const uint64_t left = file_.size - position_;
    if (left == 0) return Step<FileIndex>(std::move(index_));
    const uint64_t wanted = is_lost_ ? kMostWindow : window_;
    return Step<FileIndex>(std::vector<Extent>{{0, position_, std::min(wanted, left)}});
  }

 private:
  // Takes every record whose header is in `window`, which begins with one unless is_lost_.
  Status scan(std::span<const std::byte> window) {
    const uint64_t begin = position_;
    const size_t before = index_.records.size();
    for (uint64_t used = 0; used < window.size(); used = position_ - begin) {
      const uint64_t left = file_.size - position_;
      const auto rest = window.subspan(used);
      if (is_lost_) {
        const size_t passed = to_next_record(rest, left);
        position_ += passed;
        is_lost_ = rest.size() - passed < kTfrecordHeader && passed < left;
        if (is_lost_) break;
        continue;
      }
      if (left < kTfrecordHeader) {
        HEADRACE_TRY(lose(cut(left), position_, index_));
        position_ = file_.size;
        break;
      }
      if (rest.size() < kTfrecordHeader) break;
      const auto length = framed_length(rest, left);
      if (!length.ok()) {
        HEADRACE_TRY(lose(length.status(), position_, index_));
        // A length with a valid checksum that is too large means that the file was truncated.
        is_lost_ = !has_checksum(rest) && index_.damaged.size() < kMostDamagedPlaces;
        position_ = is_lost_ ? position_ + 1 : file_.size;
        continue;
      }
      index_.records.push_back({position_, *length});
      position_ += *length;
    }
    if (const size_t found = index_.records.size() - before; found > 0) adapt((position_ - begin) / found);
    return {};
  }

  void adapt(uint64_t mean) {
    window_ = mean > kMostBetween          ? kTfrecordHeader
              : window_ == kTfrecordHeader ? kFirstWindow
                                           : std::min(2 * window_, kMostWindow);
  }

  SourceFile file_;
  uint64_t position_ = 0;  // of the next header
  uint64_t window_ = kFirstWindow;
  bool is_lost_ = false;  // looking for the next record after damage
  FileIndex index_;
};

// A file that is compressed as a whole is inflated once, window by window; only its points are kept.
class InflatingWalk final : public Opening<FileIndex> {
 public:
  explicit InflatingWalk(SourceFile file) : file_(std::move(file)) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    Status status;
    if (!bytes.empty()) {
      status = inflater_.feed(bytes[0]->bytes(), [this](auto piece) { return scan(piece); });
      done_ += bytes[0]->size();
    }
    const uint64_t left = file_.size - done_;
    if (status.ok() && left > 0)
      return Step<FileIndex>(std::vector<Extent>{{0, done_, std::min(kPackedWindow, left)}});
    if (status.ok()) status = inflater_.finish();
    if (status.ok() && !header_.empty()) status = cut(header_.size());
    if (status.ok() && to_skip_ > 0)
      status = corrupt("expected " + std::to_string(to_skip_) + " more bytes, but the file ends");
    InflatePoints points = inflater_.points();
    if (!status.ok()) HEADRACE_TRY(lose_rest(status, points));
    index_.extra = points.points.empty() ? "" : pack_points(points);
    return Step<FileIndex>(std::move(index_));
  }

 private:
  static constexpr uint64_t kPackedWindow = uint64_t{1} << 20;

  Status scan(std::span<const std::byte> piece) {
    while (!piece.empty()) {
      if (const auto skipped = std::min<uint64_t>(to_skip_, piece.size()); skipped > 0) {
        to_skip_ -= skipped;
        piece = piece.subspan(skipped);
        continue;
      }
      const size_t taken = std::min<size_t>(kTfrecordHeader - header_.size(), piece.size());
      header_.insert(header_.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(taken));
      piece = piece.subspan(taken);
      if (header_.size() < kTfrecordHeader) return {};
      const auto length = framed_length(header_, std::numeric_limits<uint64_t>::max());
      if (!length.ok()) return length.status();
      if (index_.records.size() >= most_records())
        return Status(Code::exhausted, {.expected = "at most " + std::to_string(most_records()) +
                                                    " records in a file of this compressed size",
                                        .got = "more"});
      index_.records.push_back({position_, *length});
      position_ += *length;
      to_skip_ = *length - kTfrecordHeader;
      header_.clear();
    }
    return {};
  }

  // Nothing after damage can be found: inflated data depend on everything before them.
  Status lose_rest(const Status& why, InflatePoints& points) {
    if (to_skip_ > 0) {
      position_ = index_.records.back().offset;
      index_.records.pop_back();
    }
    points.packed_size = file_.size;
    return lose(why, position_, index_);
  }

  // Deflate packs a thousand empty records into a few bytes; an index may not take that much memory.
  uint64_t most_records() const {
    constexpr uint64_t kAlways = uint64_t{1} << 24, kEachPacked = 4;
    return std::max(kAlways, file_.size * kEachPacked);
  }

  SourceFile file_;
  uint64_t done_ = 0;      // packed bytes
  uint64_t position_ = 0;  // of the next header, unpacked
  uint64_t to_skip_ = 0;   // of the record whose header came last
  std::vector<std::byte> header_;
  Inflater inflater_;
  FileIndex index_;
};

// The lines "offset length" of DALI's tfrecord2idx, if they cover every byte of the file.
std::optional<FileIndex> read_dali_index(std::string_view text, uint64_t size) {
  FileIndex out;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  const auto number = [&](char closed_by, uint64_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || next == end || *next != closed_by) return false;
    at = next + 1;
    return true;
  };
  uint64_t expected = 0;
  while (at != end) {
    RecordExtent record;
    if (!number(' ', record.offset) || !number('\n', record.length)) return std::nullopt;
    if (record.offset != expected || record.length < kTfrecordFrame || record.length > size - expected)
      return std::nullopt;
    expected += record.length;
    out.records.push_back(record);
  }
  if (expected != size || out.records.empty()) return std::nullopt;
  return out;
}

// In FileIndex::extra of an index taken from DALI's.
constexpr std::string_view kClaim = "DALI";

// Chooses the walk by the first bytes; no walk where DALI's index next to the file covers it and some headers
// agree. Otherwise that index is ignored.
class Look final : public Opening<FileIndex> {
 public:
  explicit Look(SourceFile file) : file_(std::move(file)) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (walk_) return walk_->advance(bytes);
    if (bytes.empty() && file_.size > 0) return Step<FileIndex>(first_look());
    if (bytes.size() == 3 && agrees(bytes)) return Step<FileIndex>(*std::move(claimed_));
    const auto head = bytes.empty() ? std::span<const std::byte>() : bytes[0]->bytes();
    if (bytes.size() == 2 && begins_tfrecord(head, file_.size)) {
      const std::string_view text(reinterpret_cast<const char*>(bytes[1]->data()), bytes[1]->size());
      if ((claimed_ = read_dali_index(text, file_.size))) {
        claimed_->extra = kClaim;
        return Step<FileIndex>(some_headers());
      }
    }
    if (!begins_tfrecord(head, file_.size) && looks_deflated(head))
      walk_ = std::make_unique<InflatingWalk>(std::move(file_));
    else
      walk_ = std::make_unique<Walk>(std::move(file_));
    return walk_->advance({});
  }

 private:
  std::vector<Extent> first_look() const {
    std::vector<Extent> out{{0, 0, std::min(file_.size, kTfrecordHeader)}};
    if (const uint64_t index = file_.first_beside(); index != 0) out.push_back({index, 0, kToEnd});
    return out;
  }

  // The first, the middle and the last of the claimed records.
  std::array<RecordExtent, 3> some_records() const {
    const std::vector<RecordExtent>& all = claimed_->records;
    return {all.front(), all[all.size() / 2], all.back()};
  }
  std::vector<Extent> some_headers() const {
    std::vector<Extent> out;
    for (const RecordExtent& record : some_records()) out.push_back({0, record.offset, kTfrecordHeader});
    return out;
  }
  bool agrees(std::span<const BufferPtr> headers) const {
    const auto records = some_records();
    for (size_t i = 0; i < records.size(); ++i) {
      const auto length = framed_length(headers[i]->bytes(), file_.size - records[i].offset);
      if (!length.ok() || *length != records[i].length) return false;
    }
    return true;
  }

  SourceFile file_;
  std::optional<FileIndex> claimed_;
  std::unique_ptr<Opening<FileIndex>> walk_;
};

}  // namespace

bool begins_tfrecord(std::span<const std::byte> head, uint64_t size) {
  return head.size() >= kTfrecordHeader && framed_length(head, size).ok();
}

bool begins_deflated_tfrecord(std::span<const std::byte> head) {
  if (!looks_deflated(head)) return false;
  std::vector<std::byte> first;
  Inflater inflater;
  const Status status = inflater.feed(head, [&](std::span<const std::byte> piece) -> Status {
    first.insert(first.end(), piece.begin(), piece.end());
    return first.size() < kTfrecordHeader ? Status() : stopped();
  });
  (void)status;  // the head may end anywhere
  return begins_tfrecord(first, std::numeric_limits<uint64_t>::max());
}

std::string take_claim(const SourceFile& file, FileIndex& index) {
  if (index.extra != kClaim) return "";
  index.extra.clear();
  const uint64_t i = file.first_beside();
  return i != 0 ? file.beside[i - 1] : "";
}

std::unique_ptr<Opening<FileIndex>> walk_tfrecord(SourceFile file) {
  return std::make_unique<Look>(std::move(file));
}

}  // namespace headrace
