// COCO annotations: see README.md.
#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/coco/annotation_names.h"
#include "headrace/formats/coco/annotation_reader.h"
#include "headrace/formats/coco/samples.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/jsonl/json_line.h"
#include "headrace/formats/records/record_files.h"
#include "headrace/formats/split_names.h"

namespace headrace {
namespace {

class CocoSource final : public Source {
 public:
  CocoSource(std::shared_ptr<const Coco> coco, Value description)
      : coco_(std::move(coco)), schema_(coco_->schema()), description_(std::move(description)) {
    if (!coco_->options.each_caption) return;
    first_.push_back(0);
    for (const uint32_t image : coco_->images)
      first_.push_back(first_.back() + coco_->table.of_image(image).size());
  }

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return first_.empty() ? coco_->images.size() : first_.back(); }
  Place place(uint64_t index) const override {
    if (first_.empty()) return {coco_->images[index], 0};
    const auto behind = std::ranges::upper_bound(first_, index);
    const auto at = static_cast<size_t>(behind - first_.begin() - 1);
    return {coco_->images[at], index - first_[at]};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return open_coco_image(coco_, block);
  }
  uint64_t num_files() const override {
    return 1 + coco_->table.num_images() + coco_->table.segment_files.size();
  }
  std::string file(uint64_t ordinal) const override { return coco_->file(ordinal); }
  SamplePlace where(uint64_t index) const override {
    const uint64_t image = place(index).block;
    return {coco_->file(1 + image),
            ", image " + std::to_string(coco_->table.image_ids[image]) + " of " + coco_->json.path};
  }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    const std::vector<uint64_t> samples{size()};
    const CocoOptions& options = coco_->options;
    const std::string text = "coco " + schema_.stable_text() + (options.has_corners ? "" : " xywh") +
                             (options.labels_are_ids ? " ids" : "") + joined(options.classes);
    return files_fingerprint(text, {coco_->json}, samples);
  }

  Value metadata() const override {
    Value out{Value::Object()};
    const CocoTable& table = coco_->table;
    Value::List names, ids;
    for (size_t i = 0; i < table.category_ids.size(); ++i) {
      names.emplace_back(table.category_names[i]);
      ids.emplace_back(table.category_ids[i]);
    }
    // The ids of the user's classes are those of another file.
    if (const auto& given = coco_->options.classes; !given.empty())
      names.assign(given.begin(), given.end()), ids.clear();
    if (!names.empty()) out.set(coco_->options.labels_are_ids ? "categories" : "classes", std::move(names));
    if (!ids.empty()) out.set("category_ids", std::move(ids));
    set_keypoints(table.category_keypoints, "keypoints", out);
    set_keypoints(table.category_skeletons, "skeleton", out);
    out.set("images", coco_->image_folder);
    out.set("annotations", table.ids.size());
    if (table.annotations_without_image > 0) {
      out.set("annotations_without_image", table.annotations_without_image);
      add_note(out, "annotations whose image_id is not that of an image in the file are left out: " +
                        std::to_string(table.annotations_without_image));
    }
    if (const size_t others = table.other_members.size(); others > 0) {
      std::string names;
      for (size_t i = 0; i < others; ++i)
        names += (i == 0 ? "" : ", ") + in_quotes(std::string(table.other_members[i]).substr(0, 100));
      add_note(out, "members of annotations that are not read: " + names);
    }
    return out;
  }

 private:
  static std::string joined(const std::vector<std::string>& classes) {
    std::string out;
    for (const std::string& name : classes) out += '\0' + name;
    return out;
  }

  // A list if one category has it, else by category.
  void set_keypoints(const TextColumn& of_categories, const char* key, Value& out) const {
    if (!coco_->has(CocoTable::has_keypoints)) return;
    Value by_name;
    for (size_t i = 0; i < of_categories.size(); ++i) {
      if (of_categories[i].empty()) continue;
      if (auto value = Value::parse(of_categories[i]); value.ok())
        by_name.set(coco_->table.category_names[i], *std::move(value));
    }
    if (!by_name.object()) return;
    const bool is_one = by_name.object()->size() == 1;
    out.set(key, is_one ? Value(by_name.object()->front().second) : std::move(by_name));
  }

  std::shared_ptr<const Coco> coco_;
  Schema schema_;
  Value description_;
  std::vector<uint64_t> first_;  // captions of earlier images, if a sample is a caption
};

constexpr const char* kSections[] = {"images", "annotations", "categories"};

// By the keys in the head: "images" and "annotations" contain objects.
int recognise_file(std::string_view text) {
  JsonReader reader(text);
  JsonSpan key, value;
  if (!reader.begins_with('{') || !reader.begin_object()) return 0;
  int sections = 0, others = 0;
  for (bool is_first = true; reader.next_key(key, is_first); is_first = false) {
    const bool is_section = std::ranges::find(kSections, key.text) != std::end(kSections);
    if (is_section && !reader.begins_with('[')) return 0;
    sections += is_section;
    others += key.text == "info" || key.text == "licenses";
    if (!reader.value(value)) break;
    const bool holds_objects = (value.leaves & ~bit_of(JsonType::object)) == 0;
    if (is_section && !holds_objects) return 0;
  }
  if (!reader.ok() && !reader.is_cut()) return 0;
  return sections + others > 1 ? 85 : sections > 0 ? 60 : 0;
}

// The annotation files in a folder, by the names that COCO uses.
std::vector<std::string> annotation_files(const Listing& listing) {
  std::vector<std::string> out;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view path = listing.files[i];
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (!name.ends_with(".json") || path.size() - name.size() > std::string_view("annotations/").size())
      continue;
    const bool is_one =
        name.ends_with("_annotations.coco.json") ||
        std::ranges::any_of(kCocoKinds, [&](std::string_view kind) {
          return name.starts_with(kind) && (name[kind.size()] == '_' || name == std::string(kind) + ".json");
        });
    if (is_one) out.emplace_back(path);
  }
  return out;
}

int recognise(const Probe& probe) {
  if (probe.listing) return annotation_files(*probe.listing).empty() ? 0 : 85;
  return recognise_file(probe.text());
}

std::string folder_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// "val2017" of ".../instances_val2017.json", "val" of ".../val.json".
std::string split_of(const std::string& path) {
  std::string name = folder_name(path);
  name.resize(name.rfind('.') == std::string::npos ? name.size() : name.rfind('.'));
  const size_t mark = name.rfind('_');
  if (mark == std::string::npos) return split_name(name, false) ? name : "";
  return name.substr(mark + 1);
}

// The folder of the data set: that of the JSON, or the one above "annotations".
std::string root_of(const std::string& path) {
  const std::string folder = parent_of(path);
  return folder_name(folder).starts_with("annotations") ? parent_of(folder) : folder;
}

// Where COCO itself, and data sets modelled after it, store images.
std::vector<std::string> folders(const std::string& path, const GivenOptions&) {
  const std::string root = root_of(path), split = split_of(path);
  std::vector<std::string> out;
  if (!split.empty()) {
    out.push_back(join_path(root, split));
    out.push_back(join_path(root, "images/" + split));
    if (folder_name(path).starts_with("lvis"))  // its images are COCO's
      for (const char* above : {"", "images/"}) out.push_back(join_path(root, above + split + "2017"));
  }
  out.push_back(join_path(root, "images"));
  out.push_back(join_path(root, "data"));
  return out;
}

// The folder that names such as `name` are relative to: the first that exists; its parent if the name begins
// with the folder's name.
std::string image_folder(const OpenRequest& request, std::string_view name) {
  const std::string first(name.substr(0, std::min(name.find('/'), name.size())));
  for (const std::string& folder : request.folders) {
    if (name.find('/') == std::string_view::npos) return folder;
    if (folder_name(folder) == first) return parent_of(folder);
  }
  const std::string& path = request.path().path;
  return request.folders.empty() ? parent_of(path) : request.folders[0];
}

Result<CocoMasks> masks_of(const OpenRequest& request) {
  const Value* given = request.options.find("masks");
  if (!given || given->is_null()) return CocoMasks::none;
  if (given->boolean()) return *given->boolean() ? CocoMasks::planes : CocoMasks::none;
  if (given->text() && *given->text() == "map") return CocoMasks::map;
  return invalid({.expected = "a bool or \"map\"", .got = given->dump()}).in_option("masks");
}

// An option with two possible values.
Result<bool> is_second(const OpenRequest& request, const char* option, const char* first,
                       const char* second) {
  HEADRACE_ASSIGN(const std::string given, request.text(option, first));
  if (given == first) return false;
  if (given == second) return true;
  return invalid(
             {.expected = std::string("\"") + first + "\" or \"" + second + "\"", .got = "\"" + given + "\""})
      .in_option(option);
}

Result<CocoOptions> options_of(const OpenRequest& request) {
  CocoOptions out;
  HEADRACE_ASSIGN(const bool sizes, is_second(request, "boxes", "xyxy", "xywh"));
  out.has_corners = !sizes;
  HEADRACE_ASSIGN(out.labels_are_ids, is_second(request, "labels", "index", "category_id"));
  HEADRACE_ASSIGN(out.masks, masks_of(request));
  HEADRACE_ASSIGN(out.each_caption, is_second(request, "each", "image", "caption"));
  HEADRACE_ASSIGN(out.classes, request.strings("classes"));
  if (out.labels_are_ids && !out.classes.empty())
    return invalid(
        {.expected = "either classes=, which numbers the labels, or labels=\"category_id\"", .got = "both"});
  return out;
}

Status check(const Coco& coco) {
  if (coco.table.num_images() == 0) return invalid({.expected = "at least one image", .got = "none"});
  if (coco.options.each_caption && !coco.has(CocoTable::has_caption))
    return invalid("each=\"caption\": expected annotations with captions, got none");
  if (coco.options.masks != CocoMasks::none && !coco.has(CocoTable::has_outline | CocoTable::has_segments))
    return invalid({.expected = "annotations with a segmentation", .got = "none"}).in_option("masks");
  return {};
}

// The labels of the file's categories, if the user named the classes. A category of an annotation must be one
// of them.
Status number_by_classes(Coco& coco) {
  const std::vector<std::string>& classes = coco.options.classes;
  if (classes.empty()) return {};
  const CocoTable& table = coco.table;
  for (size_t i = 0; i < table.category_ids.size(); ++i) {
    const auto at = std::ranges::find(classes, table.category_names[i]);
    coco.labels.push_back(at == classes.end() ? -1 : at - classes.begin());
  }
  for (const uint32_t member : table.members) {
    const int64_t category = table.label_of(table.categories[member]);
    if (category < 0 || coco.labels[static_cast<size_t>(category)] >= 0) continue;
    return invalid(
               {.expected = "all categories that annotations have",
                .got = "a list without " + in_quotes(table.category_names[static_cast<size_t>(category)])})
        .in_option("classes");
  }
  return {};
}

Result<SourcePtr> finish(const OpenRequest& request, const CocoOptions& options,
                         std::vector<FileIndex> indexes) {
  auto coco = std::make_shared<Coco>();
  auto table = CocoTable::unpack(indexes[0].extra);
  if (!table) return internal_error("expected the extra data of an index of COCO's JSON, got something else");
  coco->table = *std::move(table);
  HEADRACE_TRY(coco->table.finish());
  coco->json = request.path().files[0];
  coco->options = options;
  HEADRACE_TRY(check(*coco));
  HEADRACE_TRY(number_by_classes(*coco));
  HEADRACE_ASSIGN(const bool drop_empty, is_second(request, "empty", "keep", "drop"));
  for (size_t i = 0; i < coco->table.num_images(); ++i)
    if (!drop_empty || !coco->table.of_image(i).empty()) coco->images.push_back(static_cast<uint32_t>(i));
  const std::string& path = request.path().path;
  HEADRACE_ASSIGN(coco->image_folder,
                  request.text("images", image_folder(request, coco->table.file_names[0])));
  HEADRACE_ASSIGN(coco->segment_folder, request.text("segments", path.substr(0, path.rfind('.'))));
  return SourcePtr(std::make_shared<CocoSource>(std::move(coco), describe_opening("coco", request)));
}

Result<SourceOpening> open(const OpenRequest& request) {
  const Probe& path = request.path();
  if (path.listing) {
    std::string names;
    for (const std::string& name : annotation_files(*path.listing))
      names += (names.empty() ? "" : ", ") + in_quotes(join_path(path.path, name));
    return invalid({.expected = "an annotation file",
                    .got = "a folder" + (names.empty() ? "" : "; there are " + names)});
  }
  HEADRACE_ASSIGN(const CocoOptions options, options_of(request));
  RecordOpening out;
  out.kind = kCocoIndexKind;
  out.files = path.files;
  out.index = [file = path.files[0]](uint64_t) { return walk_coco(file); };
  out.finish = [request, options](std::vector<FileIndex> indexes) {
    return finish(request, options, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "coco",
    .doc = "COCO annotations (instances, stuff, captions or panoptic segments) and their images.",
    .fields = "`image` (encoded, bytes) and `image_id` (int64 scalar), and, if the file has them, `boxes` "
              "float32 (n, 4), `labels` int64 (n,), `area` float32 (n,) and `iscrowd` bool (n,); `keypoints` "
              "float32 (n, k, 3), x, y and visibility, and `num_keypoints` int64 (n,); `captions`, "
              "`{\"values\": str, \"lengths\": int64 (n,)}`; for panoptic sets `segment_ids` int64 (n,) and "
              "`segments`, the PNG (bytes).",
    .details =
        {"`metadata[\"classes\"]` has the class names, `\"keypoints\"` and `\"skeleton\"` those of the "
         "keypoints and the pairs that are joined, as in the file. An annotation without keypoints has "
         "zeros, which is not labelled. The JSON is parsed once, and the annotations "
         "are kept in memory."},
    .path = "The JSON file.",
    .options =
        {{"images", "str | None",
          "Folder that the file names are relative to. When not given, a folder next to the JSON: for "
          "`annotations/instances_val2017.json` `val2017/` or `images/val2017/`, or `images/`, `data/`, or "
          "the folder of the JSON."},
         {"boxes", "Literal[\"xyxy\", \"xywh\"]",
          "\"xyxy\" gives x_min, y_min, x_max, y_max in pixels, with the maxima excluded; \"xywh\" gives "
          "boxes as in the file.",
          "xyxy"},
         {"labels", "Literal[\"index\", \"category_id\"]",
          "\"index\" gives indices of categories sorted by id; \"category_id\" gives these ids.", "index"},
         {"classes", "Sequence[str] | None",
          "Class names in the order of their labels, such as the `metadata[\"classes\"]` of the training "
          "set: "
          "labels then mean the same in files whose categories differ. The file's categories, by id, when "
          "not given; splits of one folder are numbered by the categories of all of them."},
         {"masks", "bool | Literal[\"map\"]",
          "True adds `masks`, uint8 (n, h, w), 1 inside, decoded from polygons and runs as by pycocotools. "
          "\"map\" adds one plane for all objects, int32 (h, w): 0, or 1 + the index of the object, later "
          "objects over earlier ones; it follows its image through crops and resizes.",
          false},
         {"each", "Literal[\"image\", \"caption\"]",
          "What a sample is: an \"image\", or a \"caption\" with its image and the field `caption` (str).",
          "image"},
         {"empty", "Literal[\"keep\", \"drop\"]", "\"drop\" drops images without annotations.", "keep"},
         {"segments", "str | None",
          "Folder of the PNG files of panoptic segments; when not given, the folder next to the JSON with "
          "its name."}},
    .raises =
        {{"CorruptSample",
          "the file is not JSON, or an annotation is invalid. The message has file, image and annotation."},
         {"ValueError", "masks or captions are requested but there are none."},
         {"MemoryError",
          "the masks of an image take more than 2 GiB, or more than 256 MiB and a thousand times the bytes "
          "of the image."}},
    .example = "hr.read_coco(\"annotations/instances_val2017.json\", masks=True)",
    .recognise = recognise,
    .folders = folders,
    .open = open,
    .may_hold_splits = true,
});

}  // namespace
}  // namespace headrace
