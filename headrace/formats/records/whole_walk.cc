#include "headrace/formats/records/whole_walk.h"

#include <algorithm>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/codecs/zstd/frames.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/stop_flag.h"
#include "headrace/core/text/utf8.h"

namespace headrace {
namespace {

constexpr uint64_t kWindow = uint64_t{1} << 20;

std::string pack_extra(std::string_view finders, std::string_view points) {
  if (finders.empty() && points.empty()) return {};
  const uint64_t size = finders.size();
  std::string out(reinterpret_cast<const char*>(&size), sizeof size);
  return out.append(finders).append(points);
}

class WholeWalk final : public Opening<FileIndex> {
 public:
  WholeWalk(SourceFile file, Packing packing, std::unique_ptr<RecordFinder> finder)
      : file_(std::move(file)), finder_(std::move(finder)), packing_(packing) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    Status status;
    if (!bytes.empty()) status = take(bytes[0]->bytes());
    const uint64_t left = file_.size - done_;
    if (status.ok() && left > 0)
      return Step<FileIndex>(std::vector<Extent>{{0, done_, std::min(kWindow, left)}});
    if (packing_ != Packing::deflated) {
      HEADRACE_TRY(std::move(status));
      finder_->finish(true, index_);
      index_.extra = pack_extra(index_.extra, "");
      return Step<FileIndex>(std::move(index_));
    }
    if (status.ok()) status = inflater_.finish();
    if (!status.ok() && status.code() != Code::corrupt) return status;
    return Step<FileIndex>(finish_inflated(status));
  }

 private:
  Status take(std::span<const std::byte> bytes) {
    if (packing_ == Packing::by_content) packing_ = begins_packed(bytes) ? Packing::deflated : Packing::plain;
    done_ += bytes.size();
    if (packing_ == Packing::plain) return finder_->take(bytes, index_);
    return inflater_.feed(bytes, [this](std::span<const std::byte> piece) {
      const Status status = finder_->take(piece, index_);
      return status.ok() ? check_inflated_count(index_.records.size(), file_.size) : status;
    });
  }

  // Nothing after damage can be found: inflated data depends on everything before it.
  FileIndex finish_inflated(const Status& status) {
    finder_->finish(status.ok(), index_);
    if (!status.ok()) {
      const uint64_t end =
          index_.records.empty() ? 0 : index_.records.back().offset + index_.records.back().length;
      index_.damaged.push_back({index_.records.size(), end, std::string(status.text())});
    }
    InflatePoints points = inflater_.points();
    points.packed_size = file_.size;
    index_.extra = pack_extra(index_.extra, points.points.empty() ? "" : pack_points(points));
    return std::move(index_);
  }

  SourceFile file_;
  std::unique_ptr<RecordFinder> finder_;
  Packing packing_;
  uint64_t done_ = 0;
  Inflater inflater_;
  FileIndex index_;
};

}  // namespace

Status check_inflated_count(uint64_t records, uint64_t packed_size) {
  constexpr uint64_t kAlways = uint64_t{1} << 24, kEachPacked = 4;
  const uint64_t most = std::max(kAlways, packed_size * kEachPacked);
  if (records <= most) return {};
  return {Code::exhausted, "expected at most " + std::to_string(most) +
                               " records in so few compressed bytes, to keep the index small"};
}

bool begins_gzip(std::span<const std::byte> head) {
  return head.size() >= 3 && head[0] == std::byte{0x1f} && head[1] == std::byte{0x8b} &&
         head[2] == std::byte{8};
}

bool begins_packed(std::span<const std::byte> head) { return begins_gzip(head) || begins_zstd(head); }

OptionInfo compression_option(std::string otherwise) {
  return {"compression", "Literal[\"none\", \"gzip\", \"zlib\", \"zstd\"] | None",
          "Compression of whole files: \"none\", \"gzip\", \"zlib\" or \"zstd\"; " + std::move(otherwise) +
              " when not given."};
}

Result<Packing> packing(const OpenRequest& request, Packing otherwise) {
  HEADRACE_ASSIGN(const std::string name, request.text("compression"));
  if (name.empty()) return otherwise;
  if (name == "none") return Packing::plain;
  if (name == "gzip" || name == "zlib" || name == "zstd") return Packing::deflated;
  return invalid({.expected = "none, gzip, zlib or zstd", .got = "'" + name + "'"}).in_option("compression");
}

std::unique_ptr<Opening<FileIndex>> walk_whole(SourceFile file, Packing packing,
                                               std::unique_ptr<RecordFinder> finder) {
  return std::make_unique<WholeWalk>(std::move(file), packing, std::move(finder));
}

Result<std::string> take_finders_extra(FileIndex& index) {
  if (index.extra.empty()) return std::string();
  uint64_t size = 0;
  if (index.extra.size() >= sizeof size) size = load<uint64_t>(std::as_bytes(std::span(index.extra)));
  if (index.extra.size() < sizeof size || size > index.extra.size() - sizeof size)
    return internal_error("expected the extra data of a file's index, got " +
                          std::to_string(index.extra.size()) + " bytes");
  std::string out = index.extra.substr(sizeof size, size);
  index.extra.erase(0, sizeof size + size);
  return out;
}

bool hides_text_of_head(const Probe& probe) {
  if (!probe.head || !begins_zstd(probe.head->bytes()) || probe.info.size <= probe.head->size()) return false;
  uint64_t made = 0;
  Inflater inflater;
  const Status status = inflater.feed(probe.head->bytes(), [&](std::span<const std::byte> piece) {
    made += piece.size();
    return Status();
  });
  return status.ok() && made == 0;
}

std::string text_of_head(const Probe& probe) {
  if (!probe.head) return {};
  std::string text(probe.text());
  bool whole = probe.info.size <= text.size();
  if (begins_packed(probe.head->bytes())) {
    text.clear();
    Inflater inflater;
    const Status status = inflater.feed(probe.head->bytes(), [&](std::span<const std::byte> piece) {
      text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      return text.size() < kProbeBytes ? Status() : stopped();
    });
    whole = whole && status.ok();
  }
  const size_t good = utf8_prefix(text);
  constexpr size_t kLongestCharacter = 4;
  const bool is_utf8 = good + (whole ? 0 : kLongestCharacter - 1) >= text.size();
  if (is_utf8) text.resize(good);
  const auto is_control = [](unsigned char c) { return c < 0x20 && (c < '\t' || c > '\r'); };
  const bool is_text =
      is_utf8 ? text.find('\0') == std::string::npos : std::ranges::none_of(text, is_control);
  return is_text ? text : "";
}

}  // namespace headrace
