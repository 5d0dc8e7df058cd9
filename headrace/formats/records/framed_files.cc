#include "headrace/formats/records/framed_files.h"

#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/put_each.h"

namespace headrace {
namespace {

// Memory for unpacked frames that are read together does not count against the budget, although strings of a
// batch refer to it, so it is kept small.
constexpr uint64_t kMostUnpacked = 16 << 10;  // bytes

// Shared by source and blocks: blocks may outlive their source.
struct Framed {
  FramedFormat format;
  std::vector<FramedFile> files;
  std::vector<uint64_t> first_record = {0}, first_frame = {0};  // of each file; the total at the end

  struct Spot {
    size_t file = 0;
    uint64_t i = 0;  // in the file
  };
  // Of record or frame `i`, counted over all files.
  static Spot spot_of(const std::vector<uint64_t>& first, uint64_t i) {
    const auto file = static_cast<size_t>(std::ranges::upper_bound(first, i) - first.begin() - 1);
    return {file, i - first[file]};
  }

  uint64_t frame_of(const Spot& record) const {
    const std::vector<uint64_t>& first = files[record.file].first;
    if (first.empty()) return record.i;
    return static_cast<uint64_t>(std::ranges::upper_bound(first, record.i) - first.begin() - 1);
  }
  uint64_t before(size_t file, uint64_t frame) const {
    return files[file].first.empty() ? frame : files[file].first[frame];
  }
  uint64_t records_of(size_t file, uint64_t frame) const {
    return before(file, frame + 1) - before(file, frame);
  }

  // A packed frame takes memory of its own, which its block reports, unless it is small.
  bool goes_together(const Spot& record, uint64_t frame) const {
    const FramedFile& file = files[record.file];
    return (!file.is_packed || file.most_unpacked <= kMostUnpacked) && records_of(record.file, frame) == 1;
  }

  Status unpack(size_t file, uint64_t frame, const Record& bytes, MadeBytes& memory,
                UnpackedFrame& out) const {
    HEADRACE_TRY(format.unpack(file, frame, bytes, memory, out));
    const uint64_t wanted = records_of(file, frame);
    if (out.records.size() == wanted) return {};
    return corrupt({.expected = std::to_string(wanted) + " records, as when it was opened",
                    .got = std::to_string(out.records.size())});
  }

  Status read(const Record& record, std::vector<Tensor>& fields) const {
    if (format.read) return format.read(record, fields);
    fields.resize(1);
    set_text(fields[0], record.buffer, record.offset, DType::bytes, record.length);
    return {};
  }
};

Status no_frame_row(const Framed& framed, uint64_t count, uint64_t row) {
  return invalid({.expected = "a row below " + std::to_string(count), .got = std::to_string(row)})
      .in_format(framed.format.name);
}

class UnpackedRows final : public Block {
 public:
  UnpackedRows(std::shared_ptr<const Framed> framed, UnpackedFrame frame)
      : framed_(std::move(framed)), frame_(std::move(frame)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= frame_.records.size()) return no_frame_row(*framed_, frame_.records.size(), row);
    const RecordExtent& record = frame_.records[row];
    return framed_->read({frame_.bytes, record.offset, record.length}, fields);
  }
  size_t held_bytes() const override {
    return frame_.bytes->size() + frame_.records.size() * sizeof(RecordExtent);
  }

 private:
  std::shared_ptr<const Framed> framed_;
  UnpackedFrame frame_;
};

// Frames of one record each, from any places, in one buffer.
class FramesTogether final : public Block {
 public:
  struct Place {
    size_t file = 0;
    uint64_t frame = 0;
    size_t at = 0;  // in the buffer
  };
  FramesTogether(std::shared_ptr<const Framed> framed, std::vector<Place> places, BufferPtr bytes)
      : framed_(std::move(framed)), places_(std::move(places)), bytes_(std::move(bytes)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    MadeBytes memory(0);
    UnpackedFrame unpacked;
    HEADRACE_ASSIGN(const Record record, record_of(row, memory, unpacked));
    return framed_->read(record, fields);
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    MadeBytes memory(unpacked_size());
    UnpackedFrame unpacked;
    if (framed_->format.read || !to[0].texts)
      return put_each(rows, to, [&](uint64_t row, std::vector<Tensor>& fields) -> Status {
        HEADRACE_ASSIGN(const Record record, record_of(row, memory, unpacked));
        return framed_->read(record, fields);
      });
    for (size_t n = 0; n < rows.size(); ++n) {
      const Result<Record> record = record_of(rows[n], memory, unpacked);
      if (!record.ok()) return n;
      to[0].texts->set(n, record->buffer, record->bytes());
    }
    return rows.size();
  }

 private:
  // An estimate for all frames: values, and what else is packed with them.
  size_t unpacked_size() const {
    constexpr uint64_t kBeside = 32;
    size_t out = 0;
    for (const Place& place : places_)
      out += std::min(framed_->files[place.file].most_unpacked, kMostUnpacked) + kBeside;
    return out;
  }
  // The record of a row, unpacked if necessary.
  Result<Record> record_of(uint64_t row, MadeBytes& memory, UnpackedFrame& unpacked) const {
    if (row >= places_.size()) return no_frame_row(*framed_, places_.size(), row);
    const Place& place = places_[row];
    const FramedFile& file = framed_->files[place.file];
    const Record frame{bytes_, place.at, file.frames[place.frame].length};
    if (!file.is_packed) return frame;
    HEADRACE_TRY(framed_->unpack(place.file, place.frame, frame, memory, unpacked));
    return Record{unpacked.bytes, unpacked.records[0].offset, unpacked.records[0].length};
  }

  std::shared_ptr<const Framed> framed_;
  std::vector<Place> places_;
  BufferPtr bytes_;
};

class OpenFrame final : public Opening<BlockPtr> {
 public:
  OpenFrame(std::shared_ptr<const Framed> framed, const Framed::Spot& spot)
      : framed_(std::move(framed)), spot_(spot) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    const FramedFile& file = framed_->files[spot_.file];
    const RecordExtent& extent = file.frames[spot_.i];
    if (!file.refused.empty()) return corrupt(file.refused).in_format(framed_->format.name);
    const bool mappable = !file.is_packed || framed_->format.copies_frames;
    if (bytes.empty())
      return Step<BlockPtr>(std::vector<Extent>{{spot_.file, extent.offset, extent.length, mappable}});
    if (!file.is_packed)
      return Step<BlockPtr>(std::make_shared<FramesTogether>(
          framed_, std::vector<FramesTogether::Place>{{spot_.file, spot_.i, 0}}, bytes[0]));
    MadeBytes memory(0);
    UnpackedFrame unpacked;
    HEADRACE_TRY(framed_->unpack(spot_.file, spot_.i, {bytes[0], 0, extent.length}, memory, unpacked));
    return Step<BlockPtr>(std::make_shared<UnpackedRows>(framed_, std::move(unpacked)));
  }

 private:
  std::shared_ptr<const Framed> framed_;
  Framed::Spot spot_;
};

class FramedFilesSource final : public Source {
 public:
  FramedFilesSource(std::shared_ptr<const Framed> framed, Value description)
      : framed_(std::move(framed)), description_(std::move(description)) {}

  const Schema& schema() const override { return framed_->format.schema; }
  uint64_t size() const override { return framed_->first_record.back(); }

  Place place(uint64_t index) const override {
    const Framed::Spot spot = Framed::spot_of(framed_->first_record, index);
    const uint64_t frame = framed_->frame_of(spot);
    return {framed_->first_frame[spot.file] + frame, spot.i - framed_->before(spot.file, frame)};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<OpenFrame>(framed_, Framed::spot_of(framed_->first_frame, block));
  }

  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      const Framed::Spot spot = Framed::spot_of(framed_->first_record, indices[i]);
      const uint64_t frame = framed_->frame_of(spot);
      const RecordExtent& extent = framed_->files[spot.file].frames[frame];
      out[i] = {spot.file, extent.offset, framed_->goes_together(spot, frame) ? extent.length : kToEnd};
    }
    return true;
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    std::vector<FramesTogether::Place> places(indices.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      const Framed::Spot spot = Framed::spot_of(framed_->first_record, indices[i]);
      places[i] = {spot.file, framed_->frame_of(spot), at[i]};
    }
    return std::make_shared<FramesTogether>(framed_, std::move(places), std::move(bytes));
  }

  uint64_t num_files() const override { return framed_->files.size(); }
  std::string file(uint64_t ordinal) const override { return framed_->files[ordinal].file.path; }
  const SourceFile* known_file(uint64_t ordinal) const override { return &framed_->files[ordinal].file; }
  SamplePlace where(uint64_t index) const override {
    const Framed::Spot spot = Framed::spot_of(framed_->first_record, index);
    const uint64_t frame = framed_->frame_of(spot);
    const FramedFile& file = framed_->files[spot.file];
    const uint64_t offset = file.frames[frame].offset;
    return {file.file.path,
            ", record " + std::to_string(spot.i) +
                (framed_->records_of(spot.file, frame) > 1 ? ", in the frame" : "") + " at byte " +
                std::to_string(offset),
            spot.i, offset};
  }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::vector<SourceFile> files;
    std::vector<uint64_t> records;
    for (size_t i = 0; i < framed_->files.size(); ++i) {
      files.push_back(framed_->files[i].file);
      records.push_back(framed_->first_record[i + 1] - framed_->first_record[i]);
    }
    const std::string& options = framed_->format.options;
    return files_fingerprint(
        framed_->format.name + " " + schema().stable_text() + (options.empty() ? "" : " " + options), files,
        records);
  }
  Value metadata() const override {
    Value out = framed_->format.metadata.is_null() ? Value(Value::Object()) : framed_->format.metadata;
    out.set("files", framed_->files.size());
    return out;
  }

 private:
  std::shared_ptr<const Framed> framed_;
  Value description_;
};

Status check_frames(const FramedFile& file) {
  if (!file.first.empty() && (file.first.size() != file.frames.size() + 1 || file.first[0] != 0 ||
                              !std::ranges::is_sorted(file.first)))
    return corrupt("expected frames with ascending record counts");
  for (const RecordExtent& frame : file.frames)
    if (frame.offset > file.file.size || frame.length > file.file.size - frame.offset)
      return corrupt("expected " + std::to_string(frame.length) + " bytes at byte " +
                     std::to_string(frame.offset) + ", but the file has " + std::to_string(file.file.size));
  return {};
}

}  // namespace

Result<SourcePtr> framed_files(FramedFormat format, const OpenRequest& request,
                               std::vector<FramedFile> files) {
  if (files.empty()) return internal_error("framed files: expected at least one file");
  auto framed = std::make_shared<Framed>();
  framed->format = std::move(format), framed->files = std::move(files);
  for (const FramedFile& file : framed->files) {
    HEADRACE_TRY(check_frames(file).in_file(file.file.path));
    const uint64_t records = file.first.empty() ? file.frames.size() : file.first.back();
    framed->first_record.push_back(framed->first_record.back() + records);
    framed->first_frame.push_back(framed->first_frame.back() + file.frames.size());
  }
  Value description = describe_opening(framed->format.name, request);
  return SourcePtr(std::make_shared<FramedFilesSource>(std::move(framed), std::move(description)));
}

}  // namespace headrace
