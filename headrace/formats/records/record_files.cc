#include "headrace/formats/records/record_files.h"

#include <algorithm>

namespace headrace {
namespace {

// What source and blocks share: blocks may outlive their source.
struct Records {
  RecordFormat format;
  std::vector<SourceFile> files;
  std::vector<FileIndex> indexes;
  std::vector<uint64_t> first;  // number of records in the files before; the number of all at its end
};

struct Spot {
  size_t file = 0;
  uint64_t record = 0;  // in the file
};

Spot spot_of(const Records& records, uint64_t index) {
  const auto after = std::upper_bound(records.first.begin(), records.first.end(), index);
  const auto file = static_cast<size_t>(after - records.first.begin() - 1);
  return {file, index - records.first[file]};
}

// The first record of the run that record `i` is in.
uint64_t run_begin(const std::vector<RecordExtent>& records, uint64_t i) {
  if (records[i].length >= kRunBytes) return i;
  const uint64_t page = records[i].offset / kRunBytes * kRunBytes;
  // The records of a page are few and side by side in memory: steps that double, then halves.
  uint64_t low = i, step = 1;
  while (low > 0 && records[low - 1].offset >= page) {
    const uint64_t next = low - std::min(low, step);
    if (records[next].offset < page) break;
    low = next, step *= 2;
  }
  const auto begin = records.begin();
  const auto from = begin + static_cast<ptrdiff_t>(low - std::min(low, step));
  return static_cast<uint64_t>(std::partition_point(from, begin + static_cast<ptrdiff_t>(low),
                                                    [&](const RecordExtent& r) { return r.offset < page; }) -
                               begin);
}

// Behind the last record of the run that begins at `i`.
uint64_t run_end(const std::vector<RecordExtent>& records, uint64_t i) {
  if (records[i].length >= kRunBytes) return i + 1;
  const uint64_t page_end = (records[i].offset / kRunBytes + 1) * kRunBytes;
  uint64_t end = i + 1;
  while (end < records.size() && records[end].offset < page_end && records[end].length < kRunBytes) ++end;
  return end;
}

class Run final : public Block {
 public:
  Run(BufferPtr bytes, std::shared_ptr<const Records> records, std::span<const RecordExtent> run)
      : bytes_(std::move(bytes)), records_(std::move(records)), run_(run) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= run_.size())
      return invalid(records_->format.name + ": wants a row below " + std::to_string(run_.size()) + ", got " +
                     std::to_string(row));
    const RecordExtent& record = run_[row];
    return records_->format.read({bytes_, record.offset - run_[0].offset, record.length}, fields);
  }

 private:
  BufferPtr bytes_;
  std::shared_ptr<const Records> records_;
  std::span<const RecordExtent> run_;  // of records_
};

class OpenRun final : public Opening<BlockPtr> {
 public:
  OpenRun(std::shared_ptr<const Records> records, uint64_t file, std::span<const RecordExtent> run)
      : records_(std::move(records)), file_(file), run_(run) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    const uint64_t begin = run_.front().offset, end = run_.back().offset + run_.back().length;
    if (bytes.empty()) return Step<BlockPtr>(std::vector<Extent>{{file_, begin, end - begin}});
    return Step<BlockPtr>(std::make_shared<Run>(bytes[0], std::move(records_), run_));
  }

 private:
  std::shared_ptr<const Records> records_;
  uint64_t file_;
  std::span<const RecordExtent> run_;
};

// The folder that all files lie in, with its slash: what a fingerprint leaves out.
size_t common_folder(const std::vector<SourceFile>& files) {
  size_t length = files[0].path.rfind('/') + 1;  // 0 when there is no slash
  for (const SourceFile& file : files) {
    const std::string& first = files[0].path;
    while (length > 0 && file.path.compare(0, length, first, 0, length) != 0) {
      const size_t slash = length < 2 ? std::string::npos : first.rfind('/', length - 2);
      length = slash == std::string::npos ? 0 : slash + 1;
    }
  }
  return length;
}

class RecordFilesSource final : public Source {
 public:
  RecordFilesSource(std::shared_ptr<const Records> records, Value description, Value left_out)
      : records_(std::move(records)), description_(std::move(description)), left_out_(std::move(left_out)) {}

  const Schema& schema() const override { return records_->format.schema; }
  uint64_t size() const override { return records_->first.back(); }

  Place place(uint64_t index) const override {
    const Spot spot = spot_of(*records_, index);
    const uint64_t begin = run_begin(records_->indexes[spot.file].records, spot.record);
    return {records_->first[spot.file] + begin, spot.record - begin};
  }

  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const Spot spot = spot_of(*records_, block);
    const std::vector<RecordExtent>& all = records_->indexes[spot.file].records;
    const uint64_t end = run_end(all, spot.record);
    return std::make_unique<OpenRun>(records_, spot.file,
                                     std::span(all).subspan(spot.record, end - spot.record));
  }

  uint64_t num_files() const override { return records_->files.size(); }
  std::string file(uint64_t ordinal) const override { return records_->files[ordinal].path; }
  std::string where(uint64_t index) const override {
    const Spot spot = spot_of(*records_, index);
    const RecordExtent& record = records_->indexes[spot.file].records[spot.record];
    return records_->files[spot.file].path + ", record " + std::to_string(spot.record) + " at byte " +
           std::to_string(record.offset);
  }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::string text = records_->format.name + " " + std::to_string(size());
    const size_t folder = common_folder(records_->files);
    for (size_t i = 0; i < records_->files.size(); ++i) {
      const SourceFile& file = records_->files[i];
      text += '\n' + file.path.substr(folder) + ' ' + std::to_string(file.size) + ' ' +
              std::to_string(records_->indexes[i].records.size());
    }
    return hash_text(text);
  }

  Value metadata() const override {
    Value out{Value::Object()};
    out.set("files", records_->files.size());
    if (!left_out_.is_null()) out.set("left_out", left_out_);
    return out;
  }

 private:
  std::shared_ptr<const Records> records_;
  Value description_, left_out_;
};

}  // namespace

Result<SourcePtr> record_files(RecordFormat format, const OpenRequest& request,
                               std::vector<FileIndex> indexes) {
  const Probe& path = request.path();
  if (path.files.empty() || indexes.size() != path.files.size())
    return internal_error("record files: wants an index for each file");
  Value description = describe_opening(format.name, request);
  auto records = std::make_shared<Records>(Records{std::move(format), path.files, std::move(indexes), {0}});
  for (size_t i = 0; i < records->files.size(); ++i) {
    if (!is_in_order(records->indexes[i], records->files[i].size))
      return corrupt("'" + records->files[i].path +
                     "': wants records in the order of the file and inside it");
    records->first.push_back(records->first.back() + records->indexes[i].records.size());
  }
  return SourcePtr(
      std::make_shared<RecordFilesSource>(std::move(records), std::move(description), path.left_out));
}

}  // namespace headrace
