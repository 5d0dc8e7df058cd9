#include "headrace/formats/litdata/chunk.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/packed/unpack.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/arrow/index.h"
#include "headrace/formats/records/offset_table.h"

namespace headrace::litdata {
namespace {

constexpr std::string_view kFrames("LDFZ01\0\0", 8), kArrow("LDARW01\0", 8), kZstd("\x28\xb5\x2f\xfd", 4);
constexpr uint64_t kHead = 24, kTail = 12, kFrameEntry = 24;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T> std::string packed_array(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T> std::vector<T> unpacked_array(std::string_view bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}
static_assert(sizeof(ChunkFrame) == 32);

// Checks that frames follow each other without a gap and unpack to the sizes given by the offsets.
Result<ChunkFrames> read_frames(std::span<const std::byte> table, uint64_t samples, uint64_t num_frames,
                                uint64_t file_size, std::vector<RecordExtent>& extents) {
  ChunkFrames out;
  out.offsets = unpacked_array<uint32_t>(as_text(table.first(4 * (samples + 1))));
  if (out.offsets[0] != 0 || !std::ranges::is_sorted(out.offsets))
    return corrupt("expected sample offsets that increase from 0");
  uint64_t next = 0, begin = 0;
  for (uint64_t i = 0; i < num_frames; ++i) {
    const std::span<const std::byte> entry = table.subspan(4 * (samples + 1) + kFrameEntry * i, kFrameEntry);
    const ChunkFrame frame{load<uint32_t>(entry), load<uint32_t>(entry, 4), begin, load<uint32_t>(entry, 20)};
    const RecordExtent extent{load<uint64_t>(entry, 8), load<uint32_t>(entry, 16)};
    const std::string name = "frame " + std::to_string(i) + ": expected ";
    if (frame.first != next || frame.count > samples - next)
      return corrupt(name + "samples from " + std::to_string(next) + " to " + std::to_string(samples) +
                     ", got " + std::to_string(frame.count) + " from " + std::to_string(frame.first));
    if (extent.offset > file_size || extent.length > file_size - extent.offset)
      return corrupt(name + std::to_string(extent.length) + " bytes at byte " +
                     std::to_string(extent.offset) + ", but the file has " + std::to_string(file_size));
    next += frame.count;
    if (frame.begin != out.offsets[frame.first] || frame.begin + frame.size != out.offsets[next])
      return corrupt(name + "its samples of " + std::to_string(out.offsets[next] - out.offsets[frame.first]) +
                     " bytes when unpacked, got " + std::to_string(frame.size));
    HEADRACE_TRY(check_unpacked_size(extent.length, frame.size));
    begin += frame.size;
    out.frames.push_back(frame), extents.push_back(extent);
  }
  if (next != samples)
    return corrupt(
        {.expected = "frames of all " + std::to_string(samples) + " samples", .got = std::to_string(next)});
  return out;
}

class IndexChunk final : public Opening<FileIndex> {
 public:
  IndexChunk(SourceFile file, uint64_t samples, std::optional<Leaves> leaves)
      : file_(std::move(file)), samples_(samples), leaves_(std::move(leaves)) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (arrow_) return rows(bytes);
    if (bytes.empty()) {
      const uint64_t tail = std::min(kTail, file_.size);
      return Step<FileIndex>(
          std::vector<Extent>{{0, 0, std::min(kHead, file_.size)}, {0, file_.size - tail, tail}});
    }
    switch (stage_) {
      case Stage::ends: return choose(bytes[0]->bytes(), bytes[1]->bytes());
      case Stage::table: return table(bytes[0]->bytes());
      case Stage::frames: return frames(bytes[0]->bytes());
      case Stage::first: return first(bytes[0]);
    }
    return internal_error("unknown stage");
  }

 private:
  enum class Stage : uint8_t { ends, table, frames, first };

  Result<Step<FileIndex>> ask(Stage next, uint64_t offset, uint64_t length) {
    stage_ = next;
    if (offset > file_.size || length > file_.size - offset)
      return corrupt("expected " + std::to_string(length) + " bytes at byte " + std::to_string(offset) +
                     ", but the file has " + std::to_string(file_.size));
    return Step<FileIndex>(std::vector<Extent>{{0, offset, length}});
  }

  Result<Step<FileIndex>> choose(std::span<const std::byte> head, std::span<const std::byte> tail) {
    if (tail.size() == kTail && as_text(tail).ends_with(kArrow)) return begin_rows(load<uint32_t>(tail));
    if (as_text(head).starts_with(kFrames)) return begin_frames(head);
    if (as_text(head).starts_with(kZstd)) {
      contents_.form = ChunkForm::packed;
      index_.records = {{0, file_.size}};
      if (samples_ > file_.size * 1000)
        return corrupt("the index states more samples than the chunk can hold");
      return leaves_ ? ask(Stage::first, 0, file_.size) : done();
    }
    return ask(Stage::table, 0, offset_table_bytes(samples_));
  }

  Result<Step<FileIndex>> table(std::span<const std::byte> bytes) {
    HEADRACE_ASSIGN(index_.records, read_offset_table(bytes, samples_, file_.size));
    if (!leaves_ || index_.records.empty()) return done();
    return ask(Stage::first, index_.records[0].offset, index_.records[0].length);
  }

  Result<Step<FileIndex>> begin_frames(std::span<const std::byte> head) {
    contents_.form = ChunkForm::frames;
    if (head.size() < kHead) return corrupt("expected the header of a framed chunk, but the file ends");
    if (load<uint16_t>(head, 8) != 1)
      return Status(Code::unavailable, {.expected = "a framed chunk of version 1",
                                        .got = std::to_string(load<uint16_t>(head, 8))});
    if (load<uint32_t>(head, 12) != samples_)
      return corrupt({.expected = std::to_string(samples_) + " samples as the index states",
                      .got = std::to_string(load<uint32_t>(head, 12))});
    num_frames_ = load<uint32_t>(head, 20);
    return ask(Stage::frames, kHead, 4 * (samples_ + 1) + kFrameEntry * num_frames_);
  }
  Result<Step<FileIndex>> frames(std::span<const std::byte> bytes) {
    HEADRACE_ASSIGN(frames_, read_frames(bytes, samples_, num_frames_, file_.size, index_.records));
    contents_.rest = frames_.pack();
    if (!leaves_ || index_.records.empty()) return done();
    return ask(Stage::first, index_.records[0].offset, index_.records[0].length);
  }

  Result<Step<FileIndex>> first(const BufferPtr& bytes) {
    const Record read{bytes, 0, bytes->size()};
    if (contents_.form == ChunkForm::plain) return learn(read);
    HEADRACE_ASSIGN(const UnpackedFrame frame, contents_.form == ChunkForm::frames
                                                   ? unpack_frame(frames_, 0, read)
                                                   : unpack_whole(samples_, read));
    if (frame.records.empty()) return done();
    return learn({frame.bytes, frame.records[0].offset, frame.records[0].length});
  }
  Result<Step<FileIndex>> learn(const Record& sample) {
    HEADRACE_TRY(leaves_->learn_from(sample).after(" (in the first sample)"));
    contents_.learned = leaves_->learned();
    return done();
  }
  Result<Step<FileIndex>> done() {
    index_.extra = contents_.pack();
    return Step<FileIndex>(std::move(index_));
  }

  // The Arrow file ends where its length and the mark begin.
  Result<Step<FileIndex>> begin_rows(uint64_t length) {
    contents_.form = ChunkForm::arrow;
    if (length > file_.size - kTail)
      return corrupt("expected Arrow rows of " + std::to_string(length) + " bytes, but the file has " +
                     std::to_string(file_.size));
    base_ = file_.size - kTail - length;
    SourceFile inner = file_;
    inner.size = length;
    arrow_ = arrow::index_arrow(std::move(inner));
    return rows({});
  }
  Result<Step<FileIndex>> rows(std::span<const BufferPtr> bytes) {
    HEADRACE_ASSIGN(Step<FileIndex> step, arrow_->advance(bytes));
    if (auto* extents = std::get_if<std::vector<Extent>>(&step)) {
      for (Extent& extent : *extents) extent.offset += base_;
      return step;
    }
    index_ = std::move(std::get<FileIndex>(step));
    for (RecordExtent& batch : index_.records) batch.offset += base_;
    contents_.rest = std::move(index_.extra);
    return done();
  }

  SourceFile file_;
  uint64_t samples_, num_frames_ = 0, base_ = 0;
  std::optional<Leaves> leaves_;
  Stage stage_ = Stage::ends;
  std::unique_ptr<Opening<FileIndex>> arrow_;
  ChunkContents contents_;
  ChunkFrames frames_;
  FileIndex index_;
};

}  // namespace

std::string ChunkContents::pack() const {
  std::string out(1, static_cast<char>(form));
  return out.append(std::to_string(learned.size())).append(" ").append(learned).append(rest);
}

std::optional<ChunkContents> ChunkContents::unpack(std::string_view bytes) {
  const size_t space = bytes.find(' ');
  if (space == std::string_view::npos || space < 2 || space > 10) return std::nullopt;
  ChunkContents out{static_cast<ChunkForm>(bytes[0]), {}, {}};
  size_t length = 0;
  for (const char digit : bytes.substr(1, space - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    length = 10 * length + static_cast<size_t>(digit - '0');
  }
  bytes.remove_prefix(space + 1);
  if (length > bytes.size()) return std::nullopt;
  out.learned = bytes.substr(0, length), out.rest = bytes.substr(length);
  return out;
}

std::string ChunkFrames::pack() const {
  const std::vector<uint64_t> counts = {offsets.size()};
  return packed_array(counts) + packed_array(offsets) + packed_array(frames);
}

std::optional<ChunkFrames> ChunkFrames::unpack(std::string_view bytes) {
  if (bytes.size() < sizeof(uint64_t)) return std::nullopt;
  const auto count = load<uint64_t>(text_bytes(bytes));
  bytes.remove_prefix(sizeof(uint64_t));
  if (count > bytes.size() / sizeof(uint32_t)) return std::nullopt;
  ChunkFrames out;
  out.offsets = unpacked_array<uint32_t>(bytes.substr(0, count * sizeof(uint32_t)));
  bytes.remove_prefix(count * sizeof(uint32_t));
  if (bytes.size() % sizeof(ChunkFrame) != 0) return std::nullopt;
  out.frames = unpacked_array<ChunkFrame>(bytes);
  const auto fits = [&](const ChunkFrame& frame) {
    return frame.first < count && frame.count < count - frame.first &&
           frame.begin == out.offsets[frame.first] &&
           frame.begin + frame.size == out.offsets[frame.first + frame.count];
  };
  if (!std::ranges::is_sorted(out.offsets) || !std::ranges::all_of(out.frames, fits)) return std::nullopt;
  return out;
}

Result<UnpackedFrame> unpack_frame(const ChunkFrames& all, uint64_t number, const Record& packed) {
  const ChunkFrame& frame = all.frames[number];
  UnpackedFrame out;
  HEADRACE_ASSIGN(out.bytes, unpack(Packed::zstd, packed.bytes(), frame.size));
  for (uint64_t i = frame.first; i < frame.first + frame.count; ++i)
    out.records.push_back({all.offsets[i] - frame.begin, uint64_t{all.offsets[i + 1]} - all.offsets[i]});
  return out;
}

Result<UnpackedFrame> unpack_whole(uint64_t samples, const Record& packed) {
  const auto size = zstd_unpacked_size(packed.bytes());
  if (!size) return corrupt("zstd: expected frames that state their size");
  UnpackedFrame out;
  HEADRACE_ASSIGN(out.bytes, unpack(Packed::zstd, packed.bytes(), *size));
  HEADRACE_ASSIGN(out.records, read_offset_table(out.bytes->bytes(), samples, out.bytes->size()));
  return out;
}

std::unique_ptr<Opening<FileIndex>> index_chunk(SourceFile file, uint64_t samples,
                                                std::optional<Leaves> leaves) {
  return std::make_unique<IndexChunk>(std::move(file), samples, std::move(leaves));
}

}  // namespace headrace::litdata
