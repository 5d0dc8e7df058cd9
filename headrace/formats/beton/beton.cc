// FFCV's .beton: see README.md.
#include <algorithm>

#include "headrace/formats/beton/put_mapped.h"
#include "headrace/formats/format.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

using beton::BetonHeader;
using beton::BetonLayout;
using beton::BetonTable;
using beton::find_fields;
using beton::Whereabouts;

// The fields of a sample whose bytes begin at `at` in the buffer.
Status read_whole(const BetonTable& table, uint64_t sample, const BufferPtr& bytes, size_t at,
                  std::vector<Tensor>& fields) {
  Whereabouts where;
  HEADRACE_TRY(find_fields(table, sample, where));
  if (!where.stand_together) return internal_error("beton: expected a sample whose fields are adjacent");
  fields.resize(where.fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    const RecordExtent& extent = where.fields[i];
    const size_t offset = extent.length == 0 ? at : at + (extent.offset - where.all.offset);
    HEADRACE_ASSIGN(fields[i], table.read(sample, i, {bytes, offset, extent.length}));
  }
  return {};
}

class BetonSample final : public Block {
 public:
  explicit BetonSample(std::vector<Tensor> fields) : fields_(std::move(fields)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row != 0)
      return invalid({.expected = "row 0 of a sample", .got = std::to_string(row)}).in_format("beton");
    fields = fields_;
    return {};
  }

 private:
  std::vector<Tensor> fields_;
};

class BetonSamples final : public Block {
 public:
  BetonSamples(std::shared_ptr<const BetonTable> table, std::vector<uint64_t> samples, std::vector<size_t> at,
               BufferPtr bytes)
      : table_(std::move(table)),
        samples_(std::move(samples)),
        at_(std::move(at)),
        bytes_(std::move(bytes)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= samples_.size())
      return invalid(
                 {.expected = "a row below " + std::to_string(samples_.size()), .got = std::to_string(row)})
          .in_format("beton");
    return read_whole(*table_, samples_[row], bytes_, at_[row], fields);
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    return put_each(*this, rows, to);
  }

 private:
  std::shared_ptr<const BetonTable> table_;
  std::vector<uint64_t> samples_;
  std::vector<size_t> at_;
  BufferPtr bytes_;
};

class OpenBetonSample final : public Opening<BlockPtr> {
 public:
  OpenBetonSample(std::shared_ptr<const BetonTable> table, uint64_t sample)
      : table_(std::move(table)), sample_(sample) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    Whereabouts where;
    HEADRACE_TRY(find_fields(*table_, sample_, where));
    if (bytes.empty()) {
      std::vector<Extent> extents;
      const auto add = [&](const RecordExtent& one) { extents.push_back({0, one.offset, one.length, true}); };
      if (where.stand_together)
        add(where.all);
      else
        std::ranges::for_each(where.fields, add);
      return Step<BlockPtr>(std::move(extents));
    }
    std::vector<Tensor> fields(where.fields.size());
    if (where.stand_together) {
      HEADRACE_TRY(read_whole(*table_, sample_, bytes[0], 0, fields));
    } else {
      for (size_t i = 0; i < fields.size(); ++i) {
        HEADRACE_ASSIGN(fields[i], table_->read(sample_, i, {bytes[i], 0, bytes[i]->size()}));
      }
    }
    return Step<BlockPtr>(std::make_shared<BetonSample>(std::move(fields)));
  }

 private:
  std::shared_ptr<const BetonTable> table_;
  uint64_t sample_;
};

class BetonSource final : public Source {
 public:
  BetonSource(BetonTable table, Value description)
      : table_(std::make_shared<const BetonTable>(std::move(table))),
        schema_(table_->schema()),
        description_(std::move(description)),
        may_be_put_(beton::may_be_put(*table_)) {}

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return table_->num_samples; }
  Place place(uint64_t index) const override { return {index, 0}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<OpenBetonSample>(table_, block);
  }
  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    Whereabouts where;
    for (size_t i = 0; i < indices.size(); ++i) {
      const bool is_one = find_fields(*table_, indices[i], where).ok() && where.stand_together;
      out[i] = is_one ? Extent{0, where.all.offset, where.all.length} : Extent{};
    }
    return true;
  }
  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    return may_be_put_ ? beton::put_mapped(*table_, indices, mapped, to) : 0;
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    return std::make_shared<BetonSamples>(table_, std::move(indices), std::move(at), std::move(bytes));
  }
  uint64_t num_files() const override { return 1; }
  std::string file(uint64_t) const override { return table_->file.path; }
  SamplePlace where(uint64_t index) const override {
    Whereabouts where;
    const bool is_one = find_fields(*table_, index, where).ok() && where.stand_together;
    if (!is_one) return {table_->file.path, "", index};
    return {table_->file.path, " at byte " + std::to_string(where.all.offset), index, where.all.offset};
  }
  Value describe() const override { return description_; }
  std::string fingerprint() const override {
    return files_fingerprint("beton " + schema_.stable_text(), {table_->file},
                             std::vector{table_->num_samples});
  }

 private:
  std::shared_ptr<const BetonTable> table_;
  Schema schema_;
  Value description_;
  bool may_be_put_;
};

// Reads header and fields, then the records of samples and the table of allocations.
class OpenBeton final : public Opening<SourcePtr> {
 public:
  OpenBeton(SourceFile file, Value description, bool auto_images)
      : file_(std::move(file)), description_(std::move(description)), auto_images_(auto_images) {}

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    switch (stage_) {
      case Stage::begin: return ask(Stage::header, {{0, 0, std::min(file_.size, beton::kBetonHeader)}});
      case Stage::header: {
        HEADRACE_ASSIGN(header_, BetonHeader::parse(bytes[0]->bytes(), file_.size));
        return ask(Stage::fields, {{0, beton::kBetonHeader, header_.num_fields * beton::kBetonField}});
      }
      case Stage::fields: return fields(bytes[0]->bytes());
      case Stage::tables: break;
    }
    HEADRACE_ASSIGN(BetonTable table, BetonTable::make(file_, std::move(layout_), header_, bytes[0],
                                                       bytes[1]->bytes(), auto_images_));
    return Step<SourcePtr>(std::make_shared<BetonSource>(std::move(table), std::move(description_)));
  }

 private:
  enum class Stage : uint8_t { begin, header, fields, tables };

  Result<Step<SourcePtr>> ask(Stage next, std::vector<Extent> extents) {
    stage_ = next;
    return Step<SourcePtr>(std::move(extents));
  }
  Result<Step<SourcePtr>> fields(std::span<const std::byte> bytes) {
    HEADRACE_ASSIGN(layout_, BetonLayout::parse(bytes));
    const uint64_t begin = header_.records();
    if (header_.num_samples > (header_.table - begin) / layout_.record)
      return corrupt("expected " + std::to_string(header_.num_samples) + " records of " +
                     std::to_string(layout_.record) + " bytes from byte " + std::to_string(begin) +
                     " on, but the table of allocations begins at byte " + std::to_string(header_.table));
    return ask(Stage::tables, {{0, begin, header_.num_samples * layout_.record},
                               {0, header_.table, file_.size - header_.table}});
  }

  SourceFile file_;
  Value description_;
  bool auto_images_;
  Stage stage_ = Stage::begin;
  BetonHeader header_;
  BetonLayout layout_;
};

int recognise(const Probe& probe) {
  if (!probe.head) return 0;
  const auto bytes = probe.head->bytes();
  const auto header = BetonHeader::parse(bytes, probe.info.size);
  if (!header.ok()) return 0;
  const bool has_field = bytes.size() >= beton::kBetonHeader + beton::kBetonField;
  return has_field && BetonLayout::parse(bytes.subspan(beton::kBetonHeader, beton::kBetonField)).ok() ? 90
                                                                                                      : 60;
}

Result<SourceOpening> open(const OpenRequest& request) {
  const Probe& path = request.path();
  if (path.listing) return invalid({.expected = "a file", .got = "a folder"});
  HEADRACE_ASSIGN(const std::string images, request.text("images", "auto"));
  if (images != "auto" && images != "encoded")
    return invalid("images must be \"auto\" or \"encoded\", got \"" + images + "\"");
  auto opening = std::make_unique<OpenBeton>(SourceFile{path.path, path.info.size, path.info.mtime_ns},
                                             describe_opening("beton", request), images == "auto");
  return SourceOpening{std::move(opening), [name = path.path](uint64_t) { return name; }};
}

const FormatRegistration registered({
    .name = "beton",
    .doc = "A .beton file of FFCV: images as files or as pixels, numbers, bytes, arrays and JSON.",
    .fields =
        "those of the file. Numbers are float64 and int64, JSON is str, arrays are as stored. Images stored "
        "as JPEG are bytes for `ops.decode_image`; if all are stored as pixels, they are uint8 (h, w, 3).",
    .path = "The file.",
    .options = {{"images", "Literal[\"auto\", \"encoded\"]",
                 "\"auto\" gives pixels if all images of a field are stored as pixels; \"encoded\" always "
                 "gives bytes: pixels then become BMP files, which `ops.decode_image` decodes to the same "
                 "pixels. This also happens with \"auto\" if a field has both kinds (\"proportion\").",
                 "auto"},
                encoding_option()},
    .raises =
        {{"CorruptSample",
          "a field is outside the file, or an image has no allocation. The message has file and sample."},
         {"NotImplementedError", "the file has fields of torch tensors, or of a user-defined class."}},
    .example = "hr.read_beton(\"imagenet_train.beton\")",
    .recognise = recognise,
    .open = open,
});

}  // namespace
}  // namespace headrace
