#include <algorithm>
#include <cstring>
#include <set>

#include "headrace/formats/images/image_files.h"
#include "headrace/formats/images/voc.h"

namespace headrace {
namespace {

constexpr size_t kScanned = 64;  // XML files asked for at once while classes are collected

struct VocFiles {
  std::string image_root, xml_root;
  Names images, xmls;                // one each a sample, relative to their roots
  std::vector<std::string> classes;  // sorted, or as the user gave them
  int64_t first = 1;
  bool difficult = false;
  size_t unpaired = 0, masks = 0;
  std::vector<Listing::Problem> problems;

  std::string image(uint64_t i) const { return join_path(image_root, images[i]); }
  std::string xml(uint64_t i) const { return join_path(xml_root, xmls[i]); }
};

std::string_view text_of(const BufferPtr& bytes) {
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

class VocBlock final : public Block {
 public:
  explicit VocBlock(std::vector<Tensor> fields) : fields_(std::move(fields)) {}
  Status get(uint64_t, std::vector<Tensor>& fields) const override {
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
  const MutableBufferPtr buffer = HeapBuffer::make(difficult_at + n);
  std::byte* out = buffer->mutable_data();
  for (size_t i = 0; i < n; ++i) {
    const auto place = std::find(files.classes.begin(), files.classes.end(), objects[i].name);
    if (place == files.classes.end())
      return corrupt("class '" + objects[i].name + "' is none of the known ones");
    const int64_t label = place - files.classes.begin();
    std::memcpy(out + i * 4 * sizeof(float), objects[i].box.data(), 4 * sizeof(float));
    std::memcpy(out + labels_at + i * sizeof label, &label, sizeof label);
    out[difficult_at + i] = static_cast<std::byte>(objects[i].difficult);
  }
  std::vector<Tensor> tensors{{buffer, 0, DType::f32, {count, 4}, nullptr},
                              {buffer, labels_at, DType::i64, {count}, nullptr}};
  if (files.difficult) tensors.push_back({buffer, difficult_at, DType::boolean, {count}, nullptr});
  return tensors;
}

class OpenSample final : public Opening<BlockPtr> {
 public:
  OpenSample(uint64_t index, std::shared_ptr<const VocFiles> files)
      : index_(index), files_(std::move(files)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty())
      return Step<BlockPtr>(std::vector<Extent>{{2 * index_, 0, kToEnd}, {2 * index_ + 1, 0, kToEnd}});
    const std::string at = "'" + files_->xml(index_) + "': ";
    auto objects = parse_voc(text_of(bytes[1]), files_->first);
    if (!objects.ok()) return objects.status().before(at);
    auto tensors = annotation_tensors(*objects, *files_);
    if (!tensors.ok()) return tensors.status().before(at);
    tensors->insert(tensors->begin(),
                    Tensor{bytes[0], 0, DType::bytes, {static_cast<int64_t>(bytes[0]->size())}, nullptr});
    return Step<BlockPtr>(std::make_shared<VocBlock>(*std::move(tensors)));
  }

 private:
  uint64_t index_;
  std::shared_ptr<const VocFiles> files_;
};

class VocSource final : public Source {
 public:
  VocSource(std::shared_ptr<const VocFiles> files, Value description)
      : files_(std::move(files)), description_(std::move(description)) {
    std::vector<std::string> names{"image", "boxes", "labels"};
    std::vector<TensorSpec> specs{{DType::bytes, {kAny}}, {DType::f32, {kAny, 4}}, {DType::i64, {kAny}}};
    if (files_->difficult) names.push_back("difficult"), specs.push_back({DType::boolean, {kAny}});
    schema_ = Schema::of(std::move(names), std::move(specs));
  }

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return files_->images.size(); }
  Place place(uint64_t index) const override { return {index, 0}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<OpenSample>(block, files_);
  }
  uint64_t num_files() const override { return 2 * size(); }
  std::string file(uint64_t ordinal) const override {
    return ordinal % 2 == 0 ? files_->image(ordinal / 2) : files_->xml(ordinal / 2);
  }
  std::string where(uint64_t index) const override { return files_->image(index); }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::string text = "voc " + std::to_string(size()) + ' ' + std::to_string(files_->first) + ' ' +
                       hash_text(files_->images.text()) + hash_text(files_->xmls.text());
    for (const std::string& name : files_->classes) text += '\0' + name;
    return hash_text(text);
  }

  Value metadata() const override {
    Value out;
    out.set("classes", Value::List(files_->classes.begin(), files_->classes.end()));
    out.set("images_without_annotation", static_cast<uint64_t>(files_->unpaired));
    if (files_->masks > 0) out.set("masks_left_out", static_cast<uint64_t>(files_->masks));
    if (!files_->problems.empty()) out.set("problems", problems_value(files_->problems));
    return out;
  }

 private:
  std::shared_ptr<const VocFiles> files_;
  Value description_;
  Schema schema_;
};

// Reads every XML file once to learn the classes, unless the user named them.
class OpenVoc final : public Opening<SourcePtr> {
 public:
  OpenVoc(std::shared_ptr<VocFiles> files, Value description)
      : files_(std::move(files)), description_(std::move(description)) {}

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    // A damaged file is a damaged sample, said when it is read; it does not keep the others from being read.
    for (const BufferPtr& xml : bytes)
      if (const auto objects = parse_voc(text_of(xml)); objects.ok())
        for (const VocObject& object : *objects) found_.insert(object.name);
    const uint64_t size = files_->classes.empty() ? files_->xmls.size() : 0;
    std::vector<Extent> extents;
    for (; next_ < size && extents.size() < kScanned; ++next_) extents.push_back({next_, 0, kToEnd});
    if (!extents.empty()) return Step<SourcePtr>(std::move(extents));
    if (files_->classes.empty()) files_->classes.assign(found_.begin(), found_.end());
    return Step<SourcePtr>(std::make_shared<VocSource>(files_, description_));
  }

 private:
  std::shared_ptr<VocFiles> files_;
  Value description_;
  uint64_t next_ = 0;
  std::set<std::string> found_;
};

int recognise(const Probe& probe) {
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
      return invalid(std::string(name) + " wants a str, got " + given->dump());
    out.push_back(given && given->text() ? join_path(path, *given->text()) : path);
  }
  if (out[0] == out[1] && out[0] == path) out.clear();
  return out;
}

// What was looked at, and where: most often one of the two options is missing, or names the wrong folder.
Status no_pairs(const std::string& root, const Probe& images, const Probe& xmls, const VocPairs& found) {
  std::string text = "wants images with an XML file of the same name; '" + images.path + "' holds " +
                     std::to_string(found.images) + " images, '" + xmls.path + "' " +
                     std::to_string(found.xmls) + " XML files";
  const bool both = found.images > 0 && found.xmls > 0;
  if (both && (images.path == root || xmls.path == root))
    text += "; name the folders in which they lie, both of them, with images= and annotations=";
  return invalid(std::move(text));
}

Result<SourceOpening> open(const OpenRequest& request) {
  const bool two_roots = request.probes.size() > 1;
  const Probe& images = request.probes[two_roots ? 1 : 0];
  const Probe& xmls = request.probes[two_roots ? 2 : 0];
  if (!images.listing || !xmls.listing) return invalid("wants folders, got a file");
  auto files = std::make_shared<VocFiles>();
  files->image_root = images.path, files->xml_root = xmls.path;
  HEADRACE_ASSIGN(files->classes, request.texts("classes"));
  HEADRACE_ASSIGN(files->first, request.integer("first", 1));
  HEADRACE_ASSIGN(files->difficult, request.flag("difficult", false));
  if (files->first != 0 && files->first != 1)
    return invalid("first wants 0 or 1, got " + std::to_string(files->first));
  const VocPairs found = pair_voc(images.listing->files, xmls.listing->files, two_roots);
  for (const VocPair& pair : found.pairs) {
    files->images.add(images.listing->files[pair.image]);
    files->xmls.add(xmls.listing->files[pair.xml]);
  }
  files->images.shrink(), files->xmls.shrink();
  files->unpaired = found.unpaired, files->masks = found.masks;
  files->problems = images.listing->problems;
  if (found.pairs.empty()) return no_pairs(request.path().path, images, xmls, found);
  return SourceOpening{std::make_unique<OpenVoc>(files, describe_opening("voc_xml", request)),
                       [files](uint64_t ordinal) { return files->xml(ordinal); }};
}

const FormatRegistration registered({
    .name = "voc_xml",
    .doc = "Images with PASCAL VOC or ImageNet boxes, an XML file each.",
    .options = {{"images", "str | None",
                 "Folder of the images below the path; the path itself when not given.", Value()},
                {"annotations", "str | None", "Folder of the XML files, likewise.", Value()},
                {"classes", "Sequence[str] | None",
                 "Class names in the order of their labels; all, sorted, when not given, which reads every "
                 "XML file once.",
                 Value()},
                {"first", "int", "Number of the first pixel in the files: 1 as VOC says, or 0.", 1},
                {"difficult", "bool", "Also give the field `difficult`.", false}},
    .recognise = recognise,
    .places = places,
    .open = open,
});

}  // namespace
}  // namespace headrace
