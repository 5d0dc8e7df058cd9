#include "headrace/formats/coco/samples.h"

#include <algorithm>
#include <cstring>

#include "headrace/core/text/text.h"
#include "headrace/formats/coco/object_masks.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/images/image_files.h"

namespace headrace {
namespace {

constexpr uint64_t kMostKeypointBytes = uint64_t{256} << 20;  // of an image
constexpr uint64_t kMostBetweenOutlines = 4096;  // unneeded bytes of the JSON that one read may include

class CocoBlock final : public Block {
 public:
  CocoBlock(std::vector<Tensor> fields, std::vector<Tensor> captions, size_t held)
      : fields_(std::move(fields)), captions_(std::move(captions)), held_(held) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row > 0 && row >= captions_.size())
      return invalid("no caption " + std::to_string(row)).in_format("coco");
    fields = fields_;
    if (!captions_.empty()) fields.push_back(captions_[row]);
    return {};
  }
  size_t held_bytes() const override { return held_; }

 private:
  std::vector<Tensor> fields_, captions_;
  size_t held_;
};

// Arrays stored one after the other in a buffer, each at a multiple of eight.
class Columns {
 public:
  void add(DType dtype, Shape shape) {
    specs_.push_back({dtype, shape});
    at_.push_back(size_);
    size_ += (shape.size_bytes(dtype) + 7) / 8 * 8;
  }
  void allocate() { buffer_ = HeapBuffer::make(size_); }
  template <class T> T* column(size_t i) { return reinterpret_cast<T*>(buffer_->mutable_data() + at_[i]); }
  void append_to(std::vector<Tensor>& out) const {
    for (size_t i = 0; i < specs_.size(); ++i)
      out.push_back({buffer_, at_[i], specs_[i].dtype, specs_[i].shape, nullptr});
  }
  size_t size() const { return size_; }

 private:
  std::vector<TensorSpec> specs_;
  std::vector<size_t> at_;
  size_t size_ = 0;
  MutableBufferPtr buffer_;
};

class OpenCocoImage final : public Opening<BlockPtr> {
 public:
  OpenCocoImage(std::shared_ptr<const Coco> coco, uint64_t image) : coco_(std::move(coco)), image_(image) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    auto step = bytes.empty() ? ask() : make(bytes);
    if (!step.ok()) return step.status().in_file(coco_->json.path);
    return step;
  }

 private:
  const CocoTable& table() const { return coco_->table; }
  std::span<const uint32_t> members() const { return table().of_image(image_); }
  std::string name() const { return "image " + std::to_string(table().image_ids[image_]); }
  std::string name_of(uint32_t member) const {
    return (coco_->has(CocoTable::has_segments) ? "segment " : "annotation ") +
           std::to_string(table().ids[member]) + " of " + name();
  }

  Result<Step<BlockPtr>> ask() {
    const std::string_view file = table().file_names[image_];
    if (!is_below(file))
      return corrupt({.expected = "a file_name below the images' folder", .got = in_quotes(file)})
          .with({.format = "coco"})
          .before(name() + ": ");
    std::vector<Extent> extents{{1 + image_, 0, kToEnd}};
    if (coco_->has(CocoTable::has_segments)) {
      const std::string_view segments = table().segment_files[image_];
      if (!is_below(segments))
        return corrupt({.expected = "the file_name of its segments", .got = in_quotes(segments)})
            .with({.format = "coco"})
            .before(name() + ": ");
      extents.push_back({1 + table().num_images() + image_, 0, kToEnd});
    } else if (coco_->options.masks != CocoMasks::none) {
      ask_outlines(extents);
    }
    return Step<BlockPtr>(std::move(extents));
  }

  // In the order of the file; those that are close together in one read.
  void ask_outlines(std::vector<Extent>& extents) {
    for (const uint32_t member : members()) {
      const RecordExtent& outline = table().outlines[member];
      if (outline.length == 0) {
        places_.push_back({});
        continue;
      }
      Extent* last = extents.size() > 1 ? &extents.back() : nullptr;
      const bool follows = last && outline.offset >= last->offset + last->length &&
                           outline.offset - (last->offset + last->length) <= kMostBetweenOutlines;
      if (!follows) {
        extents.push_back({0, outline.offset, 0});
        last = &extents.back();
      }
      places_.push_back({extents.size() - 1, outline.offset - last->offset});
      last->length = outline.offset + outline.length - last->offset;
    }
  }

  Result<Step<BlockPtr>> make(std::span<const BufferPtr> bytes) {
    std::vector<Tensor> fields;
    const auto file = [&](const BufferPtr& one) {
      fields.push_back({one, 0, DType::bytes, {static_cast<int64_t>(one->size())}, nullptr});
    };
    file(bytes[0]);
    fields.push_back(scalar(table().image_ids[image_]));
    size_t held = 0;
    HEADRACE_TRY(add_objects(fields, held));
    if (coco_->has(CocoTable::has_segments)) file(bytes[1]);
    if (coco_->options.masks != CocoMasks::none) HEADRACE_TRY(add_masks(bytes, fields, held));
    std::vector<Tensor> captions;
    if (coco_->has(CocoTable::has_caption)) HEADRACE_TRY(add_captions(fields, captions));
    return Step<BlockPtr>(std::make_shared<CocoBlock>(std::move(fields), std::move(captions), held));
  }

  Status check(uint32_t member) const {
    const uint8_t flags = table().flags[member];
    if (coco_->has(CocoTable::has_box) && (flags & kCocoBox) == 0)
      return corrupt({.expected = "a bbox of four numbers below 1e9",
                      .got = std::string((flags & kCocoBadBox) != 0 ? "something else" : "none")});
    if (coco_->has_labels() && (flags & kCocoCategory) == 0)
      return corrupt({.expected = "an integer category_id", .got = "none"});
    if ((flags & kCocoBadKeypoints) != 0)
      return corrupt({.expected = "keypoints as numbers x, y, visibility of each, at most " +
                                  std::to_string(kMostKeypoints),
                      .got = "something else"});
    if (coco_->has(CocoTable::has_keypoints)) HEADRACE_TRY(check_keypoints(member));
    if (coco_->has(CocoTable::has_segments) && (flags & kCocoMissing) != 0)
      return corrupt({.expected = "an integer id", .got = "none"});
    return {};
  }

  // As many as its category names, or none.
  Status check_keypoints(uint32_t member) const {
    const size_t count = table().keypoints_of(member).size() / 3;
    const int64_t label = table().label_of(table().categories[member]);
    const uint64_t named = label < 0 ? 0 : table().category_num_keypoints[static_cast<size_t>(label)];
    if (count == 0 || named == 0 || count == named) return {};
    return corrupt({.expected = std::to_string(named) + " keypoints, as its category names",
                    .got = std::to_string(count)});
  }

  // Where there are fewer than in other annotations, the rest is 0: not labelled.
  void put_keypoints(uint32_t member, float* out) const {
    const std::span<const float> keypoints = table().keypoints_of(member);
    std::fill_n(std::ranges::copy(keypoints, out).out, 3 * table().most_keypoints - keypoints.size(), 0.0f);
  }

  Status add_objects(std::vector<Tensor>& fields, size_t& held) const {
    const auto n = static_cast<int64_t>(members().size());
    if (coco_->has(CocoTable::has_keypoints) &&
        members().size() >
            kMostKeypointBytes / (3 * sizeof(float) * std::max<uint64_t>(table().most_keypoints, 1)))
      return Status(Code::exhausted, name() + ": its keypoints take more than 256 MiB");
    Columns columns;
    const Schema schema = coco_->schema();
    size_t boxes = 0, labels = 0, areas = 0, crowds = 0, keypoints = 0, labelled = 0, ids = 0, count = 0;
    const auto add = [&](const char* field, DType dtype, Shape shape, size_t& place) {
      if (schema.find(field) < 0) return false;
      columns.add(dtype, shape);
      place = count++;
      return true;
    };
    const bool has_boxes = add("boxes", DType::f32, {n, 4}, boxes);
    const bool has_labels = add("labels", DType::i64, {n}, labels);
    const bool has_areas = add("area", DType::f32, {n}, areas);
    const bool has_crowds = add("iscrowd", DType::boolean, {n}, crowds);
    const bool has_keypoints =
        add("keypoints", DType::f32, {n, static_cast<int64_t>(table().most_keypoints), 3}, keypoints);
    if (has_keypoints) add("num_keypoints", DType::i64, {n}, labelled);
    const bool has_ids = add("segment_ids", DType::i64, {n}, ids);
    columns.allocate();
    for (size_t i = 0; i < members().size(); ++i) {
      const uint32_t member = members()[i];
      if (Status status = check(member); !status.ok())
        return std::move(status).before(name_of(member) + ": ");
      if (has_boxes) put_box(table().boxes[member], columns.column<float>(boxes) + 4 * i);
      if (has_labels) HEADRACE_TRY(put_label(member, columns.column<int64_t>(labels)[i]));
      if (has_areas) columns.column<float>(areas)[i] = table().areas[member];
      if (has_crowds) columns.column<bool>(crowds)[i] = (table().flags[member] & kCocoCrowd) != 0;
      if (has_keypoints) {
        put_keypoints(member, columns.column<float>(keypoints) + 3 * table().most_keypoints * i);
        columns.column<int64_t>(labelled)[i] = table().num_keypoints[member];
      }
      if (has_ids) columns.column<int64_t>(ids)[i] = table().ids[member];
    }
    columns.append_to(fields);
    held += columns.size();
    return {};
  }

  void put_box(const std::array<double, 4>& box, float* out) const {
    const bool corners = coco_->options.has_corners;
    out[0] = static_cast<float>(box[0]), out[1] = static_cast<float>(box[1]);
    out[2] = static_cast<float>(corners ? box[0] + box[2] : box[2]);
    out[3] = static_cast<float>(corners ? box[1] + box[3] : box[3]);
  }

  Status put_label(uint32_t member, int64_t& out) const {
    const int64_t category = table().categories[member];
    out = coco_->options.labels_are_ids ? category : coco_->label_of(category);
    if (out >= 0 || coco_->options.labels_are_ids) return {};
    return corrupt({.expected = "one of the file's categories", .got = std::to_string(category)})
        .before(name_of(member) + ": ");
  }

  Status add_masks(std::span<const BufferPtr> bytes, std::vector<Tensor>& fields, size_t& held) const {
    const bool is_map = coco_->options.masks == CocoMasks::map;
    const bool is_panoptic = coco_->has(CocoTable::has_segments);
    uint64_t given = 0;
    for (const BufferPtr& one : bytes) given += one->size();
    std::vector<int64_t> ids;
    for (const uint32_t member : members()) ids.push_back(table().ids[member]);
    auto masks = is_panoptic ? ObjectMasks::of_segments(bytes[1]->bytes(), ids, is_map)
                             : ObjectMasks::make(table().heights[image_], table().widths[image_], ids.size(),
                                                 is_map, given);
    if (!masks.ok()) return masks.status().before((is_panoptic ? "segments of " : "") + name() + ": ");
    for (size_t i = 0; i < places_.size(); ++i) {
      const uint64_t length = table().outlines[members()[i]].length;
      if (length == 0) continue;
      const BufferPtr& buffer = bytes[places_[i].extent];
      const std::string_view text{reinterpret_cast<const char*>(buffer->data()) + places_[i].offset, length};
      HEADRACE_TRY(masks->paint(i, text).before(name_of(members()[i]) + ": "));
    }
    held += masks->tensor().size_bytes();
    fields.push_back(masks->tensor());
    return {};
  }

  Status add_captions(std::vector<Tensor>& fields, std::vector<Tensor>& captions) const {
    std::string all;
    std::vector<int64_t> lengths;
    for (const uint32_t member : members()) {
      if ((table().flags[member] & kCocoBadText) != 0)
        return corrupt({.expected = "a caption that is a UTF-8 string", .got = "something else"})
            .before(name_of(member) + ": ");
      const std::string_view caption = table().captions[member];
      if (coco_->options.each_caption) {
        captions.push_back(text_tensor(caption));
      } else {
        all += caption;
        lengths.push_back(static_cast<int64_t>(caption.size()));
      }
    }
    if (coco_->options.each_caption) return {};
    fields.push_back(text_tensor(all));
    const View view{DType::i64,
                    {static_cast<int64_t>(lengths.size())},
                    reinterpret_cast<const std::byte*>(lengths.data())};
    fields.push_back(make_tensor(view));
    return {};
  }

  struct Place {
    size_t extent = 0;
    uint64_t offset = 0;
  };
  std::shared_ptr<const Coco> coco_;
  uint64_t image_;
  std::vector<Place> places_;  // of outlines, in the requested extents
};

}  // namespace

std::string Coco::file(uint64_t ordinal) const {
  if (ordinal == 0) return json.path;
  const uint64_t i = ordinal - 1;
  return i < table.num_images() ? join_path(image_folder, table.file_names[i])
                                : join_path(segment_folder, table.segment_files[i - table.num_images()]);
}

Schema Coco::schema() const {
  std::vector<std::string> names{"image", "image_id"};
  std::vector<TensorSpec> specs{{DType::bytes, {kAny}}, {DType::i64, {}}};
  const auto add = [&](const char* name, DType dtype, Shape shape) {
    names.emplace_back(name);
    specs.push_back({dtype, shape});
  };
  if (has(CocoTable::has_box)) add("boxes", DType::f32, {kAny, 4});
  if (has_labels()) add("labels", DType::i64, {kAny});
  if (has(CocoTable::has_box)) add("area", DType::f32, {kAny});
  if (has(CocoTable::has_box | CocoTable::has_outline)) add("iscrowd", DType::boolean, {kAny});
  if (has(CocoTable::has_keypoints)) {
    add("keypoints", DType::f32, {kAny, static_cast<int64_t>(table.most_keypoints), 3});
    add("num_keypoints", DType::i64, {kAny});
  }
  if (has(CocoTable::has_segments)) {
    add("segment_ids", DType::i64, {kAny});
    add("segments", DType::bytes, {kAny});
  }
  if (options.masks == CocoMasks::planes) add("masks", DType::u8, {kAny, kAny, kAny});
  if (options.masks == CocoMasks::map) add("masks", DType::i32, {kAny, kAny});
  if (!has(CocoTable::has_caption)) return Schema::of(std::move(names), std::move(specs));
  if (options.each_caption) {
    add("caption", DType::str, {kAny});
    return Schema::of(std::move(names), std::move(specs));
  }
  add("captions/values", DType::str, {kAny});
  add("captions/lengths", DType::i64, {kAny});
  return schema_of(std::move(names), std::move(specs));
}

std::unique_ptr<Opening<BlockPtr>> open_coco_image(std::shared_ptr<const Coco> coco, uint64_t image) {
  return std::make_unique<OpenCocoImage>(std::move(coco), image);
}

}  // namespace headrace
