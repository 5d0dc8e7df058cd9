// Captions of Flickr8k and Flickr30k: see README.md.
#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/captions/lines.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/format.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/io/sorted_names.h"

namespace headrace {
namespace {

struct CaptionSet {
  std::string path, root;  // of the list, of the images
  Captions captions;
  std::vector<uint32_t> images;  // those of the split, in their order
  bool each_caption = false;
  uint64_t missing = 0;  // names in the split that have no caption

  std::string file(uint64_t image) const { return join_path(root, captions.images[image]); }
};

class CaptionBlock final : public Block {
 public:
  CaptionBlock(Tensor image, std::vector<std::vector<Tensor>> rows)
      : image_(std::move(image)), rows_(std::move(rows)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= rows_.size()) return invalid("no caption " + std::to_string(row)).in_format("captions");
    fields.assign(1, image_);
    fields.insert(fields.end(), rows_[row].begin(), rows_[row].end());
    return {};
  }

 private:
  Tensor image_;
  std::vector<std::vector<Tensor>> rows_;
};

class OpenCaptioned final : public Opening<BlockPtr> {
 public:
  OpenCaptioned(std::shared_ptr<const CaptionSet> set, uint64_t image)
      : set_(std::move(set)), image_(image) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) {
      if (!is_below(set_->captions.images[image_]))
        return corrupt(
            {.expected = "a name below the images' folder", .got = in_quotes(set_->captions.images[image_])});
      return Step<BlockPtr>(std::vector<Extent>{{image_, 0, kToEnd}});
    }
    Tensor image{bytes[0], 0, DType::bytes, {static_cast<int64_t>(bytes[0]->size())}, nullptr};
    std::vector<std::vector<Tensor>> rows;
    std::string all;
    std::vector<int64_t> lengths;
    for (uint64_t i = set_->captions.first[image_]; i < set_->captions.first[image_ + 1]; ++i) {
      const std::string_view text = set_->captions.texts[i];
      if (set_->each_caption) rows.push_back({text_tensor(text)});
      all += text;
      lengths.push_back(static_cast<int64_t>(text.size()));
    }
    if (!set_->each_caption) {
      const View view{DType::i64,
                      {static_cast<int64_t>(lengths.size())},
                      reinterpret_cast<const std::byte*>(lengths.data())};
      rows.push_back({text_tensor(all), make_tensor(view)});
    }
    return Step<BlockPtr>(std::make_shared<CaptionBlock>(std::move(image), std::move(rows)));
  }

 private:
  std::shared_ptr<const CaptionSet> set_;
  uint64_t image_;
};

class CaptionSource final : public Source {
 public:
  CaptionSource(std::shared_ptr<const CaptionSet> set, Value description)
      : set_(std::move(set)), description_(std::move(description)) {
    if (!set_->each_caption) {
      schema_ = schema_of({"image", "captions/values", "captions/lengths"},
                          {{DType::bytes, {kAny}}, {DType::str, {kAny}}, {DType::i64, {kAny}}});
      return;
    }
    schema_ = Schema::of({"image", "caption"}, {{DType::bytes, {kAny}}, {DType::str, {kAny}}});
    first_.push_back(0);
    for (const uint32_t image : set_->images)
      first_.push_back(first_.back() + set_->captions.first[image + 1] - set_->captions.first[image]);
  }

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return first_.empty() ? set_->images.size() : first_.back(); }
  Place place(uint64_t index) const override {
    if (first_.empty()) return {set_->images[index], 0};
    const auto at = static_cast<size_t>(std::ranges::upper_bound(first_, index) - first_.begin() - 1);
    return {set_->images[at], index - first_[at]};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<OpenCaptioned>(set_, block);
  }
  uint64_t num_files() const override { return set_->captions.images.size(); }
  std::string file(uint64_t ordinal) const override { return set_->file(ordinal); }
  SamplePlace where(uint64_t index) const override {
    return {set_->file(place(index).block), " of " + set_->path};
  }
  Value describe() const override { return description_; }
  std::string fingerprint() const override {
    std::string text = "captions " + schema_.stable_text() + ' ' + std::to_string(size());
    for (const uint32_t image : set_->images) text += '\0' + std::string(set_->captions.images[image]);
    return hash_text(text + hash_text(set_->captions.texts.text()));
  }
  Value metadata() const override {
    Value out{Value::Object()};
    out.set("images", set_->root);
    if (set_->missing > 0) out.set("missing_of_split", set_->missing);
    return out;
  }

 private:
  std::shared_ptr<const CaptionSet> set_;
  Value description_;
  Schema schema_;
  std::vector<uint64_t> first_;  // captions of earlier images, if a sample is a caption
};

// Reads the captions, and the list of a split.
class OpenCaptions final : public Opening<SourcePtr> {
 public:
  OpenCaptions(CaptionSet set, bool has_split, Value description)
      : set_(std::move(set)), has_split_(has_split), description_(std::move(description)) {}

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) {
      std::vector<Extent> extents{Extent{}};
      if (has_split_) extents.push_back({1, 0, kToEnd});
      return Step<SourcePtr>(std::move(extents));
    }
    const auto text = [&](size_t i) {
      return std::string_view(reinterpret_cast<const char*>(bytes[i]->data()), bytes[i]->size());
    };
    HEADRACE_ASSIGN(set_.captions, parse_captions(text(0)));
    std::set<std::string, std::less<>> wanted;
    if (has_split_) wanted = parse_names(text(1));
    for (size_t i = 0; i < set_.captions.images.size(); ++i)
      if (!has_split_ || wanted.contains(set_.captions.images[i]))
        set_.images.push_back(static_cast<uint32_t>(i));
    if (set_.images.empty())
      return invalid(has_split_ ? "expected a split with names that have captions, got " +
                                      std::to_string(wanted.size()) + " other names"
                                : "expected at least one caption, got none");
    if (has_split_) set_.missing = wanted.size() - set_.images.size();
    return Step<SourcePtr>(std::make_shared<CaptionSource>(
        std::make_shared<const CaptionSet>(std::move(set_)), std::move(description_)));
  }

 private:
  CaptionSet set_;
  bool has_split_;
  Value description_;
};

// The names used in archives of the data sets.
constexpr std::string_view kLists[] = {"captions.txt", "results.csv", "results_20130124.token",
                                       "Flickr8k.token.txt"};
constexpr std::string_view kFolders[] = {
    "Flicker8k_Dataset", "Flickr8k_Dataset", "Flickr_8k_Dataset", "Images", "images",
    "flickr30k_images",  "flickr30k-images"};

// The list in a folder that has exactly one, next to nothing but its images; else "".
std::string_view list_in(const Listing& listing) {
  std::string_view list;
  for (const std::string_view name : kLists)
    if (holds(listing.files, name)) {
      if (!list.empty()) return {};
      list = name;
    }
  bool has_images = false;
  for (size_t i = 0; i < listing.files.size() && !list.empty(); ++i) {
    const std::string_view name = listing.files[i];
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos || !names_an_image(name)) continue;
    has_images = true;
    if (std::ranges::find(kFolders, name.substr(0, slash)) == std::end(kFolders)) list = {};
  }
  return has_images ? list : std::string_view();
}

// Takes precedence over a folder of classes, which it resembles.
int recognise(const Probe& probe) {
  if (probe.listing) return list_in(*probe.listing).empty() ? 0 : 70;
  return caption_form(probe.text()) == CaptionForm::none ? 0 : 85;
}

// Next to the list, or next to its folder.
std::vector<std::string> folders(const std::string& path, const GivenOptions&) {
  std::vector<std::string> out;
  const std::string folder = parent_of(path);
  for (const std::string& root : {folder, parent_of(folder)})
    for (const std::string_view name : kFolders) {
      const std::string images = join_path(root, name);
      out.push_back(join_path(images, name));  // archives that were unpacked into a folder of the same name
      out.push_back(images);
    }
  return out;
}

// The list of a folder, read as if it had been given.
class OpenFolder final : public Opening<OtherData> {
 public:
  explicit OpenFolder(OtherData list) : list_(std::move(list)) {}
  Result<Step<OtherData>> advance(std::span<const BufferPtr>) override {
    return Step<OtherData>(std::move(list_));
  }

 private:
  OtherData list_;
};

Result<SourceOpening> open(const OpenRequest& request) {
  const std::string& path = request.path().path;
  if (request.path().listing) {
    const std::string_view list = list_in(*request.path().listing);
    if (list.empty())
      return invalid(
          "expected a list of captions, such as captions.txt, or a folder with one next to its images");
    SourceOpening out;
    out.other = std::make_unique<OpenFolder>(OtherData{
        {join_path(path, list)}, "captions", request.options, [](SourcePtr source) { return source; }});
    return out;
  }
  CaptionSet set;
  set.path = path;
  HEADRACE_ASSIGN(const std::string each, request.text("each", "image"));
  if (each != "image" && each != "caption")
    return invalid({.expected = "\"image\" or \"caption\"", .got = "\"" + each + "\""}).in_option("each");
  set.each_caption = each == "caption";
  HEADRACE_ASSIGN(set.root,
                  request.text("images", request.folders.empty() ? parent_of(path) : request.folders[0]));
  HEADRACE_ASSIGN(std::string split, request.text("split"));
  const bool has_split = !split.empty();
  if (has_split) split = join_path(parent_of(path), split);
  return SourceOpening{
      std::make_unique<OpenCaptions>(std::move(set), has_split, describe_opening("captions", request)),
      [path, split](uint64_t ordinal) { return ordinal == 0 ? path : split; }};
}

const FormatRegistration registered({
    .name = "captions",
    .doc = "Images with captions, in the formats of Flickr8k and Flickr30k.",
    .fields = "`image` (encoded, bytes) and `captions`, `{\"values\": str, \"lengths\": int64 (n,)}`: the "
              "concatenated strings, and the length of each in bytes of UTF-8.",
    .path = "Lines of `x.jpg#0`, a tab and a caption; or a table with the header `image_name| "
            "comment_number| comment` or `image,caption`.",
    .options =
        {{"images", "str | None",
          "Folder of the images; when not given, the folder next to the list that has the name used in the "
          "archives, else the folder of the list."},
         {"split", "str | None",
          "A file of image names, one per line; its path is relative to the folder of the list. All images "
          "when not given."},
         {"each", "Literal[\"image\", \"caption\"]",
          "What a sample is: an \"image\", or a \"caption\" with its image and the field `caption` (str).",
          "image"},
         encoding_option()},
    .raises = {{"CorruptSample", "a line has another format. The message has file and line."},
               {"ValueError", "no image of the split has a caption."}},
    .example = "hr.read_captions(\"Flickr8k.token.txt\", split=\"Flickr_8k.trainImages.txt\")",
    .recognise = recognise,
    .folders = folders,
    .open = open,
});

}  // namespace
}  // namespace headrace
