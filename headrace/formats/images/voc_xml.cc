#include <algorithm>
#include <cstring>
#include <set>

#include "headrace/codecs/image.h"
#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/images/voc.h"

namespace headrace {
namespace {

constexpr size_t kScanned = 64;  // XML files requested at once while classes are collected

// What an image without XML is.
enum class WithoutXml {
  dropped,  // left out
  empty,    // a sample without boxes
  whole,    // one box, the whole image; its class is the folder's
};

struct VocFiles {
  std::string image_root, xml_root;
  Names images, xmls;                // one of each per sample, relative to their roots; "": no XML
  Names class_masks, object_masks;   // the same, if masks are requested
  std::vector<std::string> classes;  // sorted, or as the user gave them
  int64_t first = 1;
  bool difficult = false, truncated = false, pose = false, has_masks = false;
  WithoutXml without_xml = WithoutXml::dropped;
  bool is_drop_given = false;
  bool folder_label = false;
  std::set<std::string, std::less<>> folders;  // of all images, if `folder_label`
  std::string split_path;                      // the list of images; empty if all are read
  size_t unpaired = 0, masks = 0, without_masks = 0;
  // Of all images, until the split is known: those without XML, masks, those without masks.
  Names lone, left_out_masks, maskless;
  size_t missing = 0;  // names in the split without image or XML
  std::vector<Listing::Problem> problems;

  std::string image(uint64_t i) const { return join_path(image_root, images[i]); }
  std::string xml(uint64_t i) const { return join_path(xml_root, xmls[i]); }
  bool has_xml(uint64_t i) const { return !xmls[i].empty(); }
  int64_t label_of(std::string_view name) const {  // -1 if it is none of the classes
    const auto place = std::ranges::find(classes, name);
    return place == classes.end() ? -1 : place - classes.begin();
  }
  uint64_t files_each() const { return has_masks ? 4 : 2; }
  std::string file(uint64_t ordinal) const {
    const uint64_t i = ordinal / files_each();
    switch (ordinal % files_each()) {
      case 0: return image(i);
      case 1: return xml(i);
      case 2: return join_path(image_root, class_masks[i]);
      default: return join_path(image_root, object_masks[i]);
    }
  }
};

std::string_view text_of(const BufferPtr& bytes) {
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

class VocBlock final : public Block {
 public:
  explicit VocBlock(std::vector<Tensor> fields) : fields_(std::move(fields)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row > 0) return invalid("voc_xml: no row " + std::to_string(row));
    fields = fields_;
    return {};
  }

 private:
  std::vector<Tensor> fields_;
};

// Boxes, labels and flags of a sample in one buffer.
Result<std::vector<Tensor>> annotation_tensors(const std::vector<VocObject>& objects, const VocFiles& files) {
  const size_t n = objects.size();
  const auto count = static_cast<int64_t>(n);
  const size_t labels_at = n * 4 * sizeof(float), difficult_at = labels_at + n * sizeof(int64_t);
  const size_t truncated_at = difficult_at + n;
  const MutableBufferPtr buffer = HeapBuffer::make(truncated_at + n);
  std::byte* out = buffer->mutable_data();
  for (size_t i = 0; i < n; ++i) {
    const int64_t label = files.label_of(objects[i].name);
    if (label < 0) return corrupt("class " + in_quotes(objects[i].name) + " is not one of the known classes");
    std::memcpy(out + i * 4 * sizeof(float), objects[i].box.data(), 4 * sizeof(float));
    std::memcpy(out + labels_at + i * sizeof label, &label, sizeof label);
    out[difficult_at + i] = static_cast<std::byte>(objects[i].difficult);
    out[truncated_at + i] = static_cast<std::byte>(objects[i].truncated);
  }
  std::vector<Tensor> tensors{{buffer, 0, DType::f32, {count, 4}, nullptr},
                              {buffer, labels_at, DType::i64, {count}, nullptr}};
  if (files.difficult) tensors.push_back({buffer, difficult_at, DType::boolean, {count}, nullptr});
  if (files.truncated) tensors.push_back({buffer, truncated_at, DType::boolean, {count}, nullptr});
  if (!files.pose) return tensors;
  std::string poses;
  std::vector<int64_t> lengths;
  for (const VocObject& object : objects) {
    // Checked one by one: a character that is split between two strings would look valid in the
    // concatenation.
    if (utf8_prefix(object.pose) < object.pose.size()) return corrupt("expected a <pose> in UTF-8");
    poses += object.pose;
    lengths.push_back(static_cast<int64_t>(object.pose.size()));
  }
  tensors.push_back(text_tensor(poses));
  tensors.push_back(make_tensor({DType::i64, {count}, reinterpret_cast<const std::byte*>(lengths.data())}));
  return tensors;
}

class OpenSample final : public Opening<BlockPtr> {
 public:
  OpenSample(uint64_t index, std::shared_ptr<const VocFiles> files)
      : index_(index), files_(std::move(files)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) {
      std::vector<Extent> extents;
      const uint64_t each = files_->files_each();
      for (uint64_t i = 0; i < each; ++i)
        if (i != 1 || files_->has_xml(index_)) extents.push_back({each * index_ + i, 0, kToEnd});
      return Step<BlockPtr>(std::move(extents));
    }
    const bool has_xml = files_->has_xml(index_);
    const std::string at = has_xml ? in_quotes(files_->xml(index_)) + ": " : "";
    auto objects = has_xml ? parse_voc(text_of(bytes[1]), files_->first) : objects_without_xml(bytes[0]);
    if (!objects.ok()) return objects.status().before(at);
    auto tensors = annotation_tensors(*objects, *files_);
    if (!tensors.ok()) return tensors.status().before(at);
    const auto whole = [](const BufferPtr& file) {
      return Tensor{file, 0, DType::bytes, {static_cast<int64_t>(file->size())}, nullptr};
    };
    tensors->insert(tensors->begin(), whole(bytes[0]));
    for (size_t i = has_xml ? 2 : 1; i < bytes.size(); ++i) tensors->push_back(whole(bytes[i]));
    if (files_->folder_label)
      tensors->push_back(scalar(files_->label_of(voc_folder(files_->images[index_]))));
    return Step<BlockPtr>(std::make_shared<VocBlock>(*std::move(tensors)));
  }

 private:
  Result<std::vector<VocObject>> objects_without_xml(const BufferPtr& image) const {
    std::vector<VocObject> out;
    if (files_->without_xml != WithoutXml::whole) return out;
    HEADRACE_ASSIGN(const ImageHeader header, read_image_header(image->bytes()));
    VocObject object;
    object.name = voc_folder(files_->images[index_]);
    object.box = {0, 0, static_cast<float>(header.width), static_cast<float>(header.height)};
    out.push_back(std::move(object));
    return out;
  }

  uint64_t index_;
  std::shared_ptr<const VocFiles> files_;
};

class VocSource final : public Source {
 public:
  VocSource(std::shared_ptr<const VocFiles> files, Value description)
      : files_(std::move(files)), description_(std::move(description)) {
    std::vector<std::string> names{"image", "boxes", "labels"};
    std::vector<TensorSpec> specs{{DType::bytes, {kAny}}, {DType::f32, {kAny, 4}}, {DType::i64, {kAny}}};
    const auto add = [&](const char* name, const TensorSpec& spec) {
      names.emplace_back(name), specs.push_back(spec);
    };
    if (files_->difficult) add("difficult", {DType::boolean, {kAny}});
    if (files_->truncated) add("truncated", {DType::boolean, {kAny}});
    if (files_->pose) {
      add("pose/values", {DType::str, {kAny}});
      add("pose/lengths", {DType::i64, {kAny}});
    }
    if (files_->has_masks) {
      add("class_mask", {DType::bytes, {kAny}});
      add("object_mask", {DType::bytes, {kAny}});
    }
    if (files_->folder_label) add("label", {DType::i64, {}});
    schema_ = schema_of(std::move(names), std::move(specs));
  }

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return files_->images.size(); }
  Place place(uint64_t index) const override { return {index, 0}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<OpenSample>(block, files_);
  }
  uint64_t num_files() const override { return files_->files_each() * size(); }
  std::string file(uint64_t ordinal) const override { return files_->file(ordinal); }
  SamplePlace where(uint64_t index) const override { return {files_->image(index)}; }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::string text = "voc " + std::to_string(size()) + ' ' + std::to_string(files_->first) + ' ' +
                       hash_text(files_->images.text()) + hash_text(files_->xmls.text());
    if (schema_.size() > 3) text += ' ' + schema_.stable_text();
    if (files_->without_xml == WithoutXml::whole) text += " whole";
    for (const std::string& name : files_->classes) text += '\0' + name;
    return hash_text(text);
  }

  Value metadata() const override {
    Value out;
    out.set("classes", Value::List(files_->classes.begin(), files_->classes.end()));
    out.set("images_without_annotation", static_cast<uint64_t>(files_->unpaired));
    if (files_->masks > 0 && !files_->has_masks)
      out.set("masks_left_out", static_cast<uint64_t>(files_->masks));
    if (files_->missing > 0) out.set("missing_of_split", static_cast<uint64_t>(files_->missing));
    if (files_->without_masks > 0)
      out.set("images_without_masks", static_cast<uint64_t>(files_->without_masks));
    if (!files_->problems.empty()) out.set("problems", problems_value(files_->problems));
    const bool has_split = !files_->split_path.empty();
    const size_t dropped = has_split ? files_->missing : files_->unpaired;
    if (dropped > 0 && files_->without_xml == WithoutXml::dropped && !files_->is_drop_given)
      add_note(out,
               std::string(has_split ? "names of the split without an image that has an XML file"
                                     : "images without an XML file of the same name") +
                   " are left out: " + std::to_string(dropped) +
                   "; missing=\"empty\" reads images without boxes, \"whole\" with one box of their folder's "
                   "class, \"drop\" silences this note");
    else if (has_split && dropped > 0)
      add_note(out, "names of the split without an image are left out: " + std::to_string(dropped));
    if (files_->without_masks > 0)
      add_note(out, "images without masks in SegmentationClass and SegmentationObject are left out: " +
                        std::to_string(files_->without_masks) + "; masks=False reads them");
    return out;
  }

 private:
  std::shared_ptr<const VocFiles> files_;
  Value description_;
  Schema schema_;
};

// Reads the list of a split, and every XML file once to collect the classes, unless the user named them:
// those of all splits, so that labels mean the same in each.
class OpenVoc final : public Opening<SourcePtr> {
 public:
  OpenVoc(std::shared_ptr<VocFiles> files, Value description)
      : files_(std::move(files)), description_(std::move(description)), all_(files_->xmls) {}

  // Files: 0 is the list, 1 + i an XML file.
  FilePaths paths() const {
    return [files = files_, all = all_](uint64_t ordinal) {
      return ordinal == 0 ? files->split_path : join_path(files->xml_root, all[ordinal - 1]);
    };
  }

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty() && !files_->split_path.empty()) return Step<SourcePtr>(std::vector<Extent>{Extent{}});
    if (!bytes.empty() && !is_split_ && !files_->split_path.empty()) {
      is_split_ = true;
      HEADRACE_TRY(take_split(text_of(bytes[0])).in_file(files_->split_path));
      bytes = {};
    }
    // A damaged file is a damaged sample, reported when it is read; it does not keep the others from being
    // read.
    for (const BufferPtr& xml : bytes)
      if (const auto objects = parse_voc(text_of(xml)); objects.ok())
        for (const VocObject& object : *objects) found_.insert(object.name);
    const uint64_t size = files_->classes.empty() ? all_.size() : 0;
    std::vector<Extent> extents;
    for (; next_ < size && extents.size() < kScanned; ++next_)
      if (!all_[next_].empty()) extents.push_back({1 + next_, 0, kToEnd});
    if (!extents.empty()) return Step<SourcePtr>(std::move(extents));
    if (files_->classes.empty()) {
      found_.insert(files_->folders.begin(), files_->folders.end());
      files_->classes.assign(found_.begin(), found_.end());
    }
    HEADRACE_TRY(check_folders());
    return Step<SourcePtr>(std::make_shared<VocSource>(files_, description_));
  }

 private:
  // Folders that give a label are classes.
  Status check_folders() const {
    const VocFiles& files = *files_;
    const std::set<std::string_view> classes(files.classes.begin(), files.classes.end());
    for (size_t i = 0; i < files.images.size(); ++i) {
      const bool is_label =
          files.folder_label || (files.without_xml == WithoutXml::whole && !files.has_xml(i));
      const std::string_view folder = voc_folder(files.images[i]);
      if (!is_label || classes.contains(folder)) continue;
      return invalid({.expected = "images in folders that are called as classes",
                      .got = in_quotes(files.image(i)) + ", whose folder " + in_quotes(folder) +
                             " is none of the " + std::to_string(classes.size()) +
                             " classes of the XML files",
                      .fix = std::string("name all classes in classes=") +
                             (files.folder_label ? "" : ", or set missing=\"empty\"")})
          .before(std::string(files.folder_label ? "folder_label=True" : "missing=\"whole\"") + ": ");
    }
    return {};
  }

  Status take_split(std::string_view text) {
    HEADRACE_ASSIGN(const ImageSet wanted, ImageSet::parse(text));
    const size_t size = wanted.size();
    VocFiles& files = *files_;
    const VocFiles all = files;
    const auto count_in = [&](const Names& names) {
      size_t count = 0;
      for (size_t i = 0; i < names.size(); ++i) count += wanted.has(names[i]);
      return count;
    };
    files.unpaired = count_in(all.lone), files.masks = count_in(all.left_out_masks);
    files.without_masks = count_in(all.maskless);
    files.images = {}, files.xmls = {}, files.class_masks = {}, files.object_masks = {};
    for (size_t i = 0; i < all.images.size(); ++i) {
      if (!wanted.has(all.images[i])) continue;
      files.images.add(all.images[i]), files.xmls.add(all.xmls[i]);
      if (!files.has_masks) continue;
      files.class_masks.add(all.class_masks[i]), files.object_masks.add(all.object_masks[i]);
    }
    if (files.images.empty())
      return invalid(
          {.expected = "names of images with an XML file", .got = std::to_string(size) + " other names"});
    files.missing = size - std::min(size, files.images.size() + files.without_masks);
    return {};
  }

  std::shared_ptr<VocFiles> files_;
  Value description_;
  Names all_;  // XML files of all splits
  bool is_split_ = false;
  uint64_t next_ = 0;
  std::set<std::string> found_;
};

int recognise_voc(const Probe& probe) {
  if (!probe.listing) return 0;
  const VocPairs found = pair_voc(probe.listing->files, probe.listing->files, false);
  const auto of_voc = [&](const VocPair& pair) {
    return probe.listing->files[pair.image].find("JPEGImages/") != std::string_view::npos;
  };
  const bool most = !found.pairs.empty() && found.pairs.size() >= found.unpaired;
  return most || std::ranges::any_of(found.pairs, of_voc) ? 80 : 0;
}

Result<std::vector<std::string>> places(const std::string& path, const Value& options) {
  std::vector<std::string> out;
  for (const char* name : {"images", "annotations"}) {
    const Value* given = options.find(name);
    if (given && !given->is_null() && !given->text())
      return invalid({.expected = "a str", .got = given->dump()}).in_option(name);
    out.push_back(given && given->text() ? join_path(path, *given->text()) : path);
  }
  if (out[0] == out[1] && out[0] == path) out.clear();
  return out;
}

// Reports what was found where: most often one of the two options is missing, or is the wrong folder.
Status no_pairs(const std::string& root, const Probe& images, const Probe& xmls, const VocPairs& found) {
  std::string text = "expected images with an XML file of the same name; " + in_quotes(images.path) +
                     " contains " + std::to_string(found.images) + " images, " + in_quotes(xmls.path) +
                     " contains " + std::to_string(found.xmls) + " XML files";
  const bool both = found.images > 0 && found.xmls > 0;
  if (both && (images.path == root || xmls.path == root))
    text += "; set both images= and annotations= to their folders";
  return invalid(std::move(text));
}

// The part of a listed path from "ImageSets/" on; "" if the file is no list of images.
std::string_view in_image_sets(std::string_view name) {
  constexpr std::string_view sets = "ImageSets/";
  const size_t at = name.find(sets);
  if (at == std::string_view::npos || (at > 0 && name[at - 1] != '/') || !name.ends_with(".txt")) return {};
  return name.substr(at);
}

// Names of lists, such as "Main/train", without those of single classes ("cat_train").
std::set<std::string, std::less<>> split_lists(const Listing& listing) {
  std::set<std::string, std::less<>> out;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view list = in_image_sets(listing.files[i]);
    const bool is_of_class = voc_stem(list).find('_') != std::string_view::npos && voc_folder(list) == "Main";
    if (list.empty() || is_of_class) continue;
    const size_t begin = list.find('/') + 1;
    out.emplace(list.substr(begin, list.size() - begin - std::string_view(".txt").size()));
  }
  return out;
}

// VOC2007 and VOC2012 in one VOCdevkit.
Status check_one_set(const Listing& listing) {
  std::set<std::string_view> sets;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = listing.files[i], list = in_image_sets(name);
    if (!list.empty() && list.size() < name.size())
      sets.insert(name.substr(0, name.size() - list.size() - 1));
  }
  if (sets.size() < 2) return {};
  std::string names;
  for (const std::string_view set : sets) names += (names.empty() ? "" : ", ") + in_quotes(set);
  return invalid("contains several data sets; open one of them: " + names +
                 "; concatenate() joins two, and split=\"all\" reads all images here");
}

// "train" is ImageSets/Main/train.txt, or that of Segmentation if masks are requested; "Layout/train" is
// ImageSets/Layout/train.txt; a name that ends in .txt is a path below the folder, or an absolute one.
Result<std::string> path_of_split(const Probe& root, const std::string& split, bool has_masks) {
  if (split.ends_with(".txt")) return split.starts_with('/') ? split : join_path(root.path, split);
  const std::string folder = split.find('/') != std::string::npos ? ""
                             : has_masks                          ? "Segmentation/"
                                                                  : "Main/";
  const std::string wanted = "ImageSets/" + folder + split + ".txt";
  std::vector<std::string> found;
  for (size_t i = 0; root.listing && i < root.listing->files.size(); ++i)
    if (in_image_sets(root.listing->files[i]) == wanted) found.emplace_back(root.listing->files[i]);
  if (found.size() == 1) return join_path(root.path, found[0]);
  if (found.size() > 1) HEADRACE_TRY(check_one_set(*root.listing));
  if (found.size() > 1)
    return invalid({.expected = "one list for split " + in_quotes(split),
                    .got = in_quotes(found[0]) + " and " + in_quotes(found[1])});
  std::string names;
  if (root.listing)
    for (const std::string& name : split_lists(*root.listing))
      names += (names.empty() ? "" : ", ") + in_quotes(name);
  return invalid("has no split " + in_quotes(split) + " (no " + wanted + ")" +
                 (names.empty() ? "" : "; there are " + names));
}

// As the option takes them: "train" of Main, "Layout/train".
std::vector<std::string> split_names_of(const Listing& listing) {
  constexpr std::string_view main = "Main/";
  std::vector<std::string> out;
  for (const std::string& name : split_lists(listing))
    out.push_back(name.starts_with(main) ? name.substr(main.size()) : name);
  return out;
}

Result<SplitsOpening> splits(const OpenRequest& request) {
  if (!request.path().listing) return known_splits({});
  HEADRACE_TRY(check_one_set(*request.path().listing));
  return known_splits(split_names_of(*request.path().listing));
}

// What a user would not want who has not named the format: all splits as one.
Status check_one_split(const OpenRequest& request, bool has_masks) {
  HEADRACE_TRY(check_one_set(*request.path().listing));
  std::string names;
  size_t count = 0;
  for (const std::string& name : split_names_of(*request.path().listing))
    if (has_masks || name.find('/') == std::string::npos)
      names += (count++ == 0 ? "" : ", ") + Value(name).dump();
  if (count < 2) return {};
  return invalid("contains the splits " + names +
                 "; set split= to one of these names, or to \"all\" for all images");
}

// Stores the pairs, and their masks if these are requested.
void take_pairs(const VocPairs& found, const Listing& images, const Listing& xmls, VocFiles& out) {
  constexpr size_t kNoXml = ~size_t{0};
  std::vector<VocPair> all = found.pairs;
  if (out.without_xml != WithoutXml::dropped)
    for (const size_t image : found.lone) all.push_back({image, kNoXml});
  std::ranges::sort(all, {}, &VocPair::image);
  for (const VocPair& pair : all) {
    const std::string_view image = images.files[pair.image];
    if (out.folder_label) out.folders.emplace(voc_folder(image));
    if (out.has_masks) {
      const auto masks = masks_of_voc(images.files, image);
      if (!masks) {
        ++out.without_masks;
        if (!out.split_path.empty()) out.maskless.add(image);
        continue;
      }
      out.class_masks.add(masks->of_classes), out.object_masks.add(masks->of_objects);
    }
    out.images.add(image), out.xmls.add(pair.xml == kNoXml ? std::string_view() : xmls.files[pair.xml]);
  }
  out.images.shrink(), out.xmls.shrink();
  out.unpaired = found.unpaired, out.masks = found.masks;
  if (!out.split_path.empty()) {
    for (const size_t image : found.lone) out.lone.add(images.files[image]);
    for (const size_t mask : found.mask_images) out.left_out_masks.add(images.files[mask]);
  }
  out.problems = images.problems;
}

Result<SourceOpening> open_voc(const OpenRequest& request) {
  const bool two_roots = request.probes.size() > 1;
  const Probe& images = request.probes[two_roots ? 1 : 0];
  const Probe& xmls = request.probes[two_roots ? 2 : 0];
  if (!images.listing || !xmls.listing) return invalid({.expected = "folders", .got = "a file"});
  auto files = std::make_shared<VocFiles>();
  files->image_root = images.path, files->xml_root = xmls.path;
  HEADRACE_ASSIGN(files->classes, request.strings("classes"));
  HEADRACE_ASSIGN(files->first, request.integer("first", 1));
  HEADRACE_ASSIGN(files->difficult, request.flag("difficult", false));
  HEADRACE_ASSIGN(files->truncated, request.flag("truncated", false));
  HEADRACE_ASSIGN(files->pose, request.flag("pose", false));
  HEADRACE_ASSIGN(files->has_masks, request.flag("masks", false));
  HEADRACE_ASSIGN(files->folder_label, request.flag("folder_label", false));
  HEADRACE_ASSIGN(const std::string missing, request.text("missing"));
  files->is_drop_given = missing == "drop";
  if (missing == "empty") files->without_xml = WithoutXml::empty;
  if (missing == "whole") files->without_xml = WithoutXml::whole;
  if (!missing.empty() && !files->is_drop_given && files->without_xml == WithoutXml::dropped)
    return invalid("missing must be \"drop\", \"empty\" or \"whole\", got " + in_quotes(missing));
  HEADRACE_ASSIGN(std::string split, request.text("split"));
  if (request.recognised && split.empty() && request.path().listing)
    HEADRACE_TRY(check_one_split(request, files->has_masks));
  if (split == "all") split.clear();
  if (files->first != 0 && files->first != 1)
    return invalid({.expected = "0 or 1", .got = std::to_string(files->first)}).in_option("first");
  if (!split.empty()) {
    HEADRACE_ASSIGN(files->split_path, path_of_split(request.path(), split, files->has_masks));
  }
  const VocPairs found = pair_voc(images.listing->files, xmls.listing->files, two_roots);
  if (found.pairs.empty()) return no_pairs(request.path().path, images, xmls, found);
  take_pairs(found, *images.listing, *xmls.listing, *files);
  if (files->images.empty())
    return invalid(
               {.expected = "images with masks in SegmentationClass and SegmentationObject", .got = "none"})
        .in_option("masks");
  auto steps = std::make_unique<OpenVoc>(files, describe_opening("voc_xml", request));
  FilePaths paths = steps->paths();
  return SourceOpening{std::move(steps), std::move(paths)};
}

const FormatRegistration registered_voc_xml({
    .name = "voc_xml",
    .doc = "Images with PASCAL VOC or ImageNet boxes, one XML file per image.",
    .fields = "`image` (encoded, bytes), `boxes`, float32 (n, 4), and `labels`, int64 (n,).",
    .details =
        {"Boxes are x_min, y_min, x_max, y_max in pixels from 0, with the maxima excluded; "
         "`metadata[\"classes\"]` has the class names. Images without an XML file are left out, with a "
         "warning, unless `missing` is given."},
    .path = "The folder that contains the images and the XML files.",
    .options =
        {{"images", "str | None", "Folder of the images below the path; the path itself when not given."},
         {"annotations", "str | None",
          "Folder of the XML files below the path; the path itself when not given."},
         {"classes", "Sequence[str] | None",
          "Class names in the order of their labels; all, sorted, when not given, which reads every "
          "XML file once."},
         {"first", "int", "Coordinate of the first pixel in the files: 1 as in VOC, or 0.", 1},
         {"difficult", "bool", "Add the field `difficult`, bool (n,).", false},
         {"truncated", "bool", "Add the field `truncated`, bool (n,).", false},
         {"pose", "bool",
          "Add the field `pose`, `{\"values\": str, \"lengths\": int64 (n,)}`: the concatenated "
          "strings, and their lengths in bytes.",
          false},
         {"split", "str | None",
          "\"train\" for the images in ImageSets/Main/train.txt, or with masks in "
          "ImageSets/Segmentation/train.txt; \"Layout/train\" or \"CLS-LOC/train_loc\" for another list "
          "below ImageSets, or the path of any list below the folder, which ends in .txt. Lines are the "
          "name of an image, also with its folder, and ignored if they end in -1. All images when not "
          "given."},
         {"missing", "Literal[\"drop\", \"empty\", \"whole\"] | None",
          "What images without an XML file are: \"drop\" leaves them out, \"empty\" gives samples without "
          "boxes, \"whole\" one box, the whole image, of the class that its folder is named after, as in "
          "ILSVRC. They are left out with a warning when not given."},
         {"folder_label", "bool",
          "Add the field `label` (int64 scalar), the class that the image's folder is named after.", false},
         {"masks", "bool",
          "Add `class_mask` and `object_mask`, the PNG files of SegmentationClass and "
          "SegmentationObject (bytes), for `ops.decode_image(s.class_mask, color=\"index\")`. Images "
          "without masks are left out, with a warning.",
          false}},
    .example =
        "hr.read_voc_xml(\"VOC2012\", images=\"JPEGImages\", annotations=\"Annotations\", split=\"train\")",
    .recognise = recognise_voc,
    .places = places,
    .open = open_voc,
    .may_hold_splits = true,
    .splits = splits,
    .takes_all_splits = true,
});

}  // namespace
}  // namespace headrace
