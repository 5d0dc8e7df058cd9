#include "headrace/formats/records/record_files.h"

#include <algorithm>
#include <numeric>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/core/consecutive.h"
#include "headrace/core/text/text.h"

namespace headrace {
namespace {

// As of everything that is read in one piece.
constexpr uint64_t kMostInflated = uint64_t{2} << 30;

struct Places {
  std::vector<SourceFile> files;
  std::vector<FileIndex> indexes;
  std::vector<uint64_t> first = {0};  // records in earlier files; the total at its end
  std::vector<std::unique_ptr<const InflatePoints>> inflated = {};  // null for a plain file
};

// Shared by source and blocks: blocks may outlive their source.
struct Records {
  RecordFormat format;
  std::shared_ptr<const Places> places;
};

struct Spot {
  size_t file = 0;
  uint64_t record = 0;  // in the file
};

Spot spot_of(const Places& places, uint64_t index) {
  const auto after = std::upper_bound(places.first.begin(), places.first.end(), index);
  const auto file = static_cast<size_t>(after - places.first.begin() - 1);
  return {file, index - places.first[file]};
}

// Finds records, fast if the next one is usually in the same file.
class Spots {
 public:
  explicit Spots(const Places& places) : places_(places) {}
  Spot of(uint64_t index) {
    if (index - begin_ >= size_) {
      file_ = spot_of(places_, index).file;
      begin_ = places_.first[file_], size_ = places_.first[file_ + 1] - begin_;
    }
    return {file_, index - begin_};
  }

 private:
  const Places& places_;
  size_t file_ = 0;
  uint64_t begin_ = 0, size_ = 0;  // records of the file
};

// In a file that is compressed as a whole, a run consists of the records that begin between two points.
// Elsewhere every record is a block.
uint64_t run_begin(const Places& places, const Spot& spot) {
  const InflatePoints* all = places.inflated[spot.file].get();
  if (!all) return spot.record;
  const std::vector<RecordExtent>& extents = places.indexes[spot.file].records;
  const uint64_t begin = all->points[all->before(extents[spot.record].offset)].unpacked;
  const auto is_before = [&](const RecordExtent& record) { return record.offset < begin; };
  return static_cast<uint64_t>(std::ranges::partition_point(extents, is_before) - extents.begin());
}

// One past the last record of the run that begins at `spot`.
uint64_t run_end(const Places& places, const Spot& spot) {
  const InflatePoints* all = places.inflated[spot.file].get();
  if (!all) return spot.record + 1;
  const std::vector<RecordExtent>& extents = places.indexes[spot.file].records;
  const size_t point = all->before(extents[spot.record].offset);
  if (point + 1 == all->points.size()) return extents.size();
  const uint64_t end = all->points[point + 1].unpacked;
  const auto is_before = [&](const RecordExtent& record) { return record.offset < end; };
  return static_cast<uint64_t>(std::ranges::partition_point(extents, is_before) - extents.begin());
}

Status no_row(const Records& records, uint64_t count, uint64_t row) {
  return invalid({.expected = "a row below " + std::to_string(count), .got = std::to_string(row)})
      .in_format(records.format.name);
}

// Puts rows of a block whose records are `all`. REQUIRES: the format has `put`.
size_t put_rows(const RecordFormat& format, const BufferPtr& bytes, uint64_t base,
                std::span<const RecordExtent> all, std::span<const uint64_t> rows,
                std::span<const FieldPlace> to) {
  if (std::ranges::any_of(rows, [&](uint64_t row) { return row >= all.size(); })) return 0;
  if (num_consecutive(rows) == rows.size())
    return format.put({bytes, base, all.subspan(rows[0], rows.size())}, to);
  std::vector<RecordExtent> some;
  some.reserve(rows.size());
  for (const uint64_t row : rows) some.push_back(all[row]);
  return format.put({bytes, base, some}, to);
}

class Run final : public Block {
 public:
  // `base`: the position of `bytes` in the file, or in its inflated contents.
  Run(BufferPtr bytes, uint64_t base, size_t held, std::shared_ptr<const Records> records,
      std::span<const RecordExtent> run)
      : bytes_(std::move(bytes)), base_(base), held_(held), records_(std::move(records)), run_(run) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= run_.size()) return no_row(*records_, run_.size(), row);
    const RecordExtent& record = run_[row];
    return records_->format.read({bytes_, record.offset - base_, record.length}, fields);
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    if (!records_->format.put) return put_each(*this, rows, to);
    return put_rows(records_->format, bytes_, base_, run_, rows, to);
  }
  size_t held_bytes() const override { return held_; }

 private:
  BufferPtr bytes_;
  uint64_t base_;
  size_t held_;
  std::shared_ptr<const Records> records_;
  std::span<const RecordExtent> run_;  // of records_
};

// A record that is a block of its own, decoded into fields as soon as it is read: its checksum costs half as
// much while its bytes are in the cache as after a batch of others.
class Alone final : public Block {
 public:
  explicit Alone(std::vector<Tensor> fields) : fields_(std::move(fields)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row != 0) return invalid({.expected = "row 0 of a record", .got = std::to_string(row)});
    fields = fields_;
    return {};
  }

 private:
  std::vector<Tensor> fields_;
};

// Small records from any places, read together.
class Together final : public Block {
 public:
  // `places`: the positions of the records in `bytes`.
  Together(std::shared_ptr<const Records> records, std::vector<RecordExtent> places, BufferPtr bytes)
      : records_(std::move(records)), places_(std::move(places)), bytes_(std::move(bytes)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= places_.size()) return no_row(*records_, places_.size(), row);
    return records_->format.read({bytes_, places_[row].offset, places_[row].length}, fields);
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    if (!records_->format.put) return put_each(*this, rows, to);
    return put_rows(records_->format, bytes_, 0, places_, rows, to);
  }

 private:
  std::shared_ptr<const Records> records_;
  std::vector<RecordExtent> places_;
  BufferPtr bytes_;
};

class OpenRun final : public Opening<BlockPtr> {
 public:
  OpenRun(std::shared_ptr<const Records> records, size_t file, std::span<const RecordExtent> run)
      : records_(std::move(records)), file_(file), run_(run) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    const uint64_t begin = run_.front().offset, end = run_.back().offset + run_.back().length;
    if (places().inflated[file_]) return inflate(*places().inflated[file_], begin, end, bytes);
    if (bytes.empty()) return Step<BlockPtr>(std::vector<Extent>{{file_, begin, end - begin, true}});
    std::vector<Tensor> fields;
    HEADRACE_TRY(records_->format.read({bytes[0], 0, end - begin}, fields));
    return Step<BlockPtr>(std::make_shared<Alone>(std::move(fields)));
  }

 private:
  Result<Step<BlockPtr>> inflate(const InflatePoints& all, uint64_t begin, uint64_t end,
                                 std::span<const BufferPtr> bytes) {
    const InflatePoint& point = all.points[all.before(begin)];
    const uint64_t first = point.packed - (point.bits > 0 ? 1 : 0);
    if (bytes.empty())
      return Step<BlockPtr>(std::vector<Extent>{{file_, first, all.packed_end(end) - first}});
    const size_t size = end - point.unpacked;
    if (size > kMostInflated)
      return Status(Code::exhausted,
                    {.expected = "compressed data with at most " + std::to_string(kMostInflated) +
                                 " bytes between two places where reading can begin",
                     .got = std::to_string(size)});
    const MutableBufferPtr out = HeapBuffer::make(size);
    HEADRACE_TRY(inflate_from(point, bytes[0]->bytes(), {out->mutable_data(), size}));
    return Step<BlockPtr>(std::make_shared<Run>(out, point.unpacked, size, std::move(records_), run_));
  }

  const Places& places() const { return *records_->places; }

  std::shared_ptr<const Records> records_;
  size_t file_;
  std::span<const RecordExtent> run_;
};

class RecordFilesSource final : public Source {
 public:
  RecordFilesSource(std::shared_ptr<const Records> records, Value description, Value left_out)
      : records_(std::move(records)), description_(std::move(description)), left_out_(std::move(left_out)) {}

  const Schema& schema() const override { return records_->format.schema; }
  uint64_t size() const override { return places().first.back(); }

  Place place(uint64_t index) const override {
    const Spot spot = spot_of(places(), index);
    const uint64_t begin = run_begin(places(), spot);
    return {places().first[spot.file] + begin, spot.record - begin};
  }

  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const Spot spot = spot_of(places(), block);
    const std::span<const RecordExtent> all = places().indexes[spot.file].records;
    const uint64_t end = run_end(places(), spot);
    return std::make_unique<OpenRun>(records_, spot.file, all.subspan(spot.record, end - spot.record));
  }

  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    Spots spots(places());
    for (size_t i = 0; i < indices.size(); ++i) {
      const Spot spot = spots.of(indices[i]);
      const RecordExtent& record = places().indexes[spot.file].records[spot.record];
      out[i] = {spot.file, record.offset, places().inflated[spot.file] ? kToEnd : record.length};
    }
    return true;
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    std::vector<RecordExtent> extents(indices.size());
    Spots spots(places());
    for (size_t i = 0; i < indices.size(); ++i) {
      const Spot spot = spots.of(indices[i]);
      extents[i] = {at[i], places().indexes[spot.file].records[spot.record].length};
    }
    return std::make_shared<Together>(records_, std::move(extents), std::move(bytes));
  }

  // Adjacent records are looked up as one. The processor stalls on the memory of each other record unless
  // several of them are prefetched.
  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    if (!records_->format.put_mapped) return 0;
    Spots spots(places());
    std::vector<Text> shown;
    shown.reserve(std::min(indices.size(), kMostRuns * kMostRecords));
    for (size_t n = 0; n < indices.size(); n += shown.size()) {
      shown.clear();
      show(indices.subspan(n), spots, mapped, shown);
      const size_t put = records_->format.put_mapped(shown, mapped, n, to);
      if (shown.empty() || put < shown.size()) return n + put;
    }
    return indices.size();
  }

  SourcePtr with_fields(std::span<const int> fields) const override {
    if (!records_->format.with_fields) return nullptr;
    auto part = std::make_shared<const Records>(records_->format.with_fields(fields), records_->places);
    return std::make_shared<RecordFilesSource>(std::move(part), description_, left_out_);
  }

  uint64_t num_files() const override { return places().files.size(); }
  std::string file(uint64_t ordinal) const override { return places().files[ordinal].path; }
  const SourceFile* known_file(uint64_t ordinal) const override { return &places().files[ordinal]; }
  SamplePlace where(uint64_t index) const override {
    const Spot spot = spot_of(places(), index);
    const RecordExtent& record = places().indexes[spot.file].records[spot.record];
    const std::string called = records_->format.called ? records_->format.called(spot.file, spot.record)
                                                       : "record " + std::to_string(spot.record);
    return {places().files[spot.file].path, ", " + called + " at byte " + std::to_string(record.offset),
            spot.record, record.offset};
  }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::vector<uint64_t> sizes;
    for (const FileIndex& index : places().indexes) sizes.push_back(index.records.size());
    // The fields depend on the options, for the same bytes.
    const std::string& options = records_->format.options;
    const std::string what =
        records_->format.name + " " + schema().stable_text() + (options.empty() ? "" : " " + options);
    return files_fingerprint(what, places().files, sizes);
  }

  Value metadata() const override {
    Value out{Value::Object()};
    out.set("files", places().files.size());
    if (!left_out_.is_null()) out.set("left_out", left_out_);
    const std::vector<std::string>& notes = records_->format.notes;
    if (!notes.empty()) out.set("notes", Value::List(notes.begin(), notes.end()));
    return out;
  }

 private:
  // Shows some of the next records; none if the first one has to be read.
  static constexpr size_t kMostRuns = 8, kMostRecords = 64;  // of each
  void show(std::span<const uint64_t> indices, Spots& spots, MappedBytes& mapped,
            std::vector<Text>& out) const {
    constexpr size_t kLine = 64, kMostFetched = 1024;  // bytes; the hardware prefetcher handles the rest
    for (size_t runs = 0; out.size() < indices.size() && runs < kMostRuns; ++runs) {
      const auto rest = indices.subspan(out.size());
      const Spot first = spots.of(rest[0]);
      const auto records = neighbours(rest, first);
      const uint64_t begin = records.front().offset;
      const Text bytes =
          mapped.at({first.file, begin, records.back().offset + records.back().length - begin});
      if (bytes.empty()) return;
      for (size_t at = 0; at < std::min(bytes.size(), kMostFetched); at += kLine)
        __builtin_prefetch(bytes.data() + at);
      for (const RecordExtent& record : records)
        out.push_back(bytes.subspan(record.offset - begin, record.length));
    }
  }
  // REQUIRES: extents() returned an extent for each.
  std::span<const RecordExtent> neighbours(std::span<const uint64_t> indices, const Spot& first) const {
    constexpr uint64_t kMostLooked = 64 << 10;  // bytes, as records may be padded to a kilobyte and more
    const auto rest = std::span(places().indexes[first.file].records).subspan(first.record);
    const size_t most = std::min({indices.size(), rest.size(), kMostRecords});
    const auto side_by_side = rest.first(num_consecutive(indices.first(most)));
    const auto is_near = [&](const RecordExtent& record) {
      return record.offset + record.length - rest[0].offset <= kMostLooked;
    };
    const auto count = std::ranges::find_if_not(side_by_side, is_near) - side_by_side.begin();
    return rest.first(std::max<size_t>(1, static_cast<size_t>(count)));
  }

  const Places& places() const { return *records_->places; }

  std::shared_ptr<const Records> records_;
  Value description_, left_out_;
};

// Checks and counts the records of file `i`, whose index is there.
Status add_file(const RecordFormat& format, Places& places, size_t i) {
  FileIndex& index = places.indexes[i];
  uint64_t size = places.files[i].size;
  places.inflated.emplace_back();
  if (format.inflates && !index.extra.empty()) {
    auto points = unpack_points(index.extra);
    if (!points || points->packed_size != size)
      return internal_error("expected the points of the file's deflated data");
    index.extra.clear();
    size = points->unpacked_size;
    places.inflated.back() = std::make_unique<const InflatePoints>(*std::move(points));
  }
  if (!is_in_order(index, size)) return corrupt("expected records in the order of the file and inside it");
  places.first.push_back(places.first.back() + index.records.size());
  return {};
}

// The length of the longest folder that all paths share.
size_t common_folder(const std::vector<SourceFile>& files) {
  size_t length = files[0].path.rfind('/') + 1;  // 0 if there is no slash
  for (const SourceFile& file : files) {
    const std::string& first = files[0].path;
    while (length > 0 && file.path.compare(0, length, first, 0, length) != 0) {
      const size_t slash = length < 2 ? std::string::npos : first.rfind('/', length - 2);
      length = slash == std::string::npos ? 0 : slash + 1;
    }
  }
  return length;
}

}  // namespace

std::string files_fingerprint(std::string_view format, const std::vector<SourceFile>& files,
                              std::span<const uint64_t> records) {
  std::string text = std::string(format) + " " +
                     std::to_string(std::accumulate(records.begin(), records.end(), uint64_t{0}));
  const size_t folder = common_folder(files);
  for (size_t i = 0; i < files.size(); ++i)
    text += '\n' + files[i].path.substr(folder) + ' ' + std::to_string(files[i].size) + ' ' +
            std::to_string(records[i]);
  return hash_text(text);
}

Result<SourcePtr> record_files(RecordFormat format, const OpenRequest& request,
                               std::vector<FileIndex> indexes) {
  const Probe& path = request.path();
  if (path.files.empty() || indexes.size() != path.files.size())
    return internal_error("record files: expected an index for each file");
  Value description = describe_opening(format.name, request);
  auto places = std::make_shared<Places>();
  places->files = path.files, places->indexes = std::move(indexes);
  for (size_t i = 0; i < places->files.size(); ++i) {
    HEADRACE_TRY(add_file(format, *places, i).in_file(places->files[i].path));
  }
  auto records = std::make_shared<const Records>(std::move(format), std::move(places));
  return SourcePtr(
      std::make_shared<RecordFilesSource>(std::move(records), std::move(description), path.left_out));
}

}  // namespace headrace
