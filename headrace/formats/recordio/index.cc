#include "headrace/formats/recordio/index.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "headrace/core/little_endian.h"
#include "headrace/formats/recordio/framing.h"

namespace headrace {
namespace {

// Below this mean size of a part in bytes, reading all between two headers is cheaper than one read per
// header.
constexpr uint64_t kMostBetween = 8192;
constexpr uint64_t kFirstWindow = 4096, kMostWindow = 1 << 18;
constexpr uint64_t kChecked = 64;  // records of an .idx

class Indexing final : public Opening<FileIndex> {
 public:
  explicit Indexing(SourceFile file) : file_(std::move(file)), idx_(file_.first_beside()) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    switch (stage_) {
      case Stage::begin: return begin();
      case Stage::idx: return take_idx(bytes);
      case Stage::check: return check(bytes);
      case Stage::walk: break;
    }
    const auto window = bytes[0]->bytes();
    if (is_lost_) find_next(window);
    if (!is_lost_) HEADRACE_TRY(scan(window.subspan(position_ - window_begin_)));
    return walk();
  }

 private:
  enum class Stage : uint8_t { begin, idx, check, walk };

  Step<FileIndex> begin() {
    if (idx_ == 0 || file_.size == 0) return walk();
    stage_ = Stage::idx;
    return std::vector<Extent>{{0, 0, std::min(window_, file_.size)}, {idx_, 0, kToEnd}};
  }

  Step<FileIndex> take_idx(std::span<const BufferPtr> bytes) {
    const auto text = bytes[1]->bytes();
    auto records = parse_recordio_idx({reinterpret_cast<const char*>(text.data()), text.size()}, file_.size);
    if (!records) return walk();
    index_.records = *std::move(records);
    look_at(bytes[0]->bytes());
    std::vector<Extent> headers;
    const uint64_t count = index_.records.size(), checked = std::min(count, kChecked);
    for (uint64_t i = 0; i < checked; ++i) {
      checked_.push_back(checked == 1 ? 0 : i * (count - 1) / (checked - 1));
      headers.push_back({0, index_.records[checked_.back()].offset, kRecordioHeader});
    }
    stage_ = Stage::check;
    return headers;
  }

  Step<FileIndex> check(std::span<const BufferPtr> bytes) {
    for (size_t i = 0; i < checked_.size(); ++i) {
      const uint64_t length = index_.records[checked_[i]].length;
      const auto part = recordio_part(bytes[i]->bytes(), length);
      const bool agrees = part.ok() && (part->kind == PartKind::whole   ? part->framed() == length
                                        : part->kind == PartKind::first ? part->framed() < length
                                                                        : false);
      if (agrees) continue;
      index_ = {};
      return walk();
    }
    return std::move(index_);
  }

  Step<FileIndex> walk() {
    stage_ = Stage::walk;
    const uint64_t left = file_.size - position_;
    if (left == 0) return std::move(index_);
    window_begin_ = position_;
    return std::vector<Extent>{{0, position_, std::min(is_lost_ ? kMostWindow : window_, left)}};
  }

  // No record can be found from `record_` or, between records, from here on. Damage becomes an entry of the
  // index; other errors end the walk.
  Status lose(Status why) {
    if (why.code() != Code::corrupt) return here(std::move(why));
    const bool was_inside = std::exchange(inside_, false);  // then a record may begin here
    const uint64_t from = was_inside ? record_ : position_, next = was_inside ? position_ : position_ + 4;
    index_.damaged.push_back({index_.records.size(), from, std::string(why.text())});
    is_lost_ = next < file_.size && index_.damaged.size() < kMostDamagedPlaces;
    position_ = is_lost_ ? next : file_.size;
    return {};
  }

  // A magic word at a multiple of four always begins a part, which may be a record's first.
  void find_next(std::span<const std::byte> window) {
    for (size_t at = 0; at + kRecordioHeader <= window.size(); at += 4, position_ += 4) {
      if (load<uint32_t>(window, at) != kRecordioMagic) continue;
      const auto part = recordio_part(window.subspan(at), file_.size - position_);
      if (!part.ok() || !part->begins()) continue;
      is_lost_ = false;
      return;
    }
    if (file_.size - position_ >= kRecordioHeader) return;
    position_ = file_.size;
    is_lost_ = false;
  }

  void look_at(std::span<const std::byte> head) {
    index_.extra = may_have_headers(head) ? recordio_prefix(head, kRecordioExtra) : "";
  }

  // Takes every part whose header is in `window`, which begins with one.
  Status scan(std::span<const std::byte> window) {
    if (position_ == 0) look_at(window);
    const uint64_t begin = position_;
    size_t parts = 0;
    for (uint64_t used = 0; used < window.size() && position_ < file_.size; used = position_ - begin) {
      const uint64_t left = file_.size - position_;
      if (left < kRecordioHeader)
        return lose(corrupt("expected a header of 8 bytes, but only " + std::to_string(left) + " are left"));
      if (window.size() - used < kRecordioHeader) break;
      if (Status status = accept(window.subspan(used), left); !status.ok()) return lose(std::move(status));
      ++parts;
    }
    if (inside_ && position_ == file_.size)
      return lose(corrupt("expected the next part of the record, but the file ends"));
    if (parts > 0) adapt((position_ - begin) / parts);
    return {};
  }

  Status accept(std::span<const std::byte> header, uint64_t left) {
    auto part = recordio_part(header, left);
    Status status = part.ok() ? follows(*part, inside_) : part.status();
    if (!status.ok()) return status;
    if (part->begins()) record_ = position_;
    if (position_ + part->framed() - record_ > kMostRecordio)
      return Status(
          Code::exhausted,
          {.expected = "a record of at most " + std::to_string(kMostRecordio) + " bytes", .got = "more"});
    position_ += part->framed();
    inside_ = !part->ends();
    if (!inside_) index_.records.push_back({record_, position_ - record_});
    return {};
  }

  void adapt(uint64_t mean) {
    window_ = mean > kMostBetween          ? kRecordioHeader
              : window_ == kRecordioHeader ? kFirstWindow
                                           : std::min(2 * window_, kMostWindow);
  }

  Status here(Status status) const { return std::move(status).at_record(index_.records.size(), position_); }

  SourceFile file_;
  uint64_t idx_;  // ordinal of the .idx among the files of the extents; 0: none
  Stage stage_ = Stage::begin;
  std::vector<uint64_t> checked_;
  uint64_t position_ = 0, record_ = 0;  // of the next part, of the record it is in
  bool inside_ = false;                 // a record that has not ended
  bool is_lost_ = false;                // looking for the next record after damage
  uint64_t window_begin_ = 0;           // of the requested bytes
  uint64_t window_ = kFirstWindow;
  FileIndex index_;
};

}  // namespace

std::optional<std::vector<RecordExtent>> parse_recordio_idx(std::string_view text, uint64_t size) {
  std::vector<uint64_t> offsets;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const size_t tab = line.find_last_of("\t ");
    if (tab == std::string_view::npos) return std::nullopt;
    uint64_t offset = 0;
    const auto [stopped, error] = std::from_chars(line.data() + tab + 1, line.data() + line.size(), offset);
    if (error != std::errc() || stopped != line.data() + line.size()) return std::nullopt;
    offsets.push_back(offset);
  }
  std::ranges::sort(offsets);
  if (offsets.empty() || offsets[0] != 0) return std::nullopt;
  std::vector<RecordExtent> records;
  records.reserve(offsets.size());
  for (size_t i = 0; i < offsets.size(); ++i) {
    const uint64_t end = i + 1 < offsets.size() ? offsets[i + 1] : size;
    if (end > size || offsets[i] % 4 != 0 || end < offsets[i] || end - offsets[i] < kRecordioHeader)
      return std::nullopt;
    records.push_back({offsets[i], end - offsets[i]});
  }
  return records;
}

std::unique_ptr<Opening<FileIndex>> index_recordio(SourceFile file) {
  return std::make_unique<Indexing>(std::move(file));
}

}  // namespace headrace
