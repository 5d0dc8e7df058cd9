// LOC_val_solution.csv, in which Kaggle gives the classes of ImageNet's validation images: one line
// "ILSVRC2012_val_00048981,n03995372 85 1 499 272 …" per image, with a class and a box for each object. All
// objects of an image are of one class.
#include <algorithm>
#include <map>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/images/image_files.h"

namespace headrace {
namespace {

constexpr std::string_view kHeader = "ImageId,PredictionString";

struct Solution {
  std::vector<std::string_view> images, classes;  // of each line
};

Result<Solution> parse_solution(std::string_view text) {
  Solution out;
  uint64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (++number == 1 && line == kHeader) continue;
    if (line.empty()) continue;
    const size_t comma = line.find(',');
    const std::string_view name = line.substr(0, comma);
    const std::string_view objects = comma == std::string_view::npos ? "" : line.substr(comma + 1);
    const std::string_view first = objects.substr(0, objects.find(' '));
    if (first.empty() || !is_below(name))
      return corrupt({.expected = "an image and its class, \"name,n01440764 …\"",
                      .got = in_quotes(line.substr(0, 100))})
          .with({.record = number - 1})
          .before("line " + std::to_string(number) + ": ");
    out.images.push_back(name), out.classes.push_back(first);
  }
  return out;
}

int recognise_solution(const Probe& probe) {
  const size_t end = std::min(probe.text().find_first_of("\r\n"), probe.text().size());
  return probe.text().substr(0, end) == kHeader ? 90 : 0;
}

Result<SourceOpening> open_solution(const OpenRequest& request) {
  if (request.path().listing) return invalid({.expected = "a CSV file", .got = "a folder"});
  return parse_file(request.path().path, [request](const BufferPtr& bytes) -> Result<SourcePtr> {
    HEADRACE_ASSIGN(const Solution solution,
                    parse_solution({reinterpret_cast<const char*>(bytes->data()), bytes->size()}));
    ImageFiles out;
    HEADRACE_ASSIGN(
        out.root, request.text("root", join_path(parent_of(request.path().path), "ILSVRC/Data/CLS-LOC/val")));
    HEADRACE_ASSIGN(out.classes, request.strings("classes"));
    if (out.classes.empty()) {
      const std::set<std::string_view> all(solution.classes.begin(), solution.classes.end());
      out.classes.assign(all.begin(), all.end());
    }
    std::map<std::string_view, int64_t> number;
    for (size_t i = 0; i < out.classes.size(); ++i) number.emplace(out.classes[i], static_cast<int64_t>(i));
    uint64_t left_out = 0;
    for (size_t i = 0; i < solution.images.size(); ++i) {
      const auto label = number.find(solution.classes[i]);
      if (label == number.end()) {
        ++left_out;
        continue;
      }
      out.names.add(std::string(solution.images[i]) + ".JPEG");
      out.labels.push_back(label->second);
    }
    if (left_out > 0)
      out.notes.push_back(std::to_string(left_out) + " of " + std::to_string(solution.images.size()) +
                          " images are left out: their classes are not among the " +
                          std::to_string(out.classes.size()) + " of classes=");
    return image_files_source(std::move(out), "imagenet_solution", request);
  });
}

const FormatRegistration registered_solution({
    .name = "imagenet_solution",
    .doc = "ImageNet's validation images, with the labels of Kaggle's LOC_val_solution.csv.",
    .fields = "`image` (encoded, bytes) and `label` (int64 scalar).",
    .details = {"Classes are sorted by their WordNet ids, as the folders of the training images are, so that "
                "labels mean the same in both; `metadata[\"classes\"]` has the ids. `hr.read(root, "
                "split=\"val\")` of the whole data set reads this file."},
    .path = "The CSV file.",
    .options =
        {{"root", "str | None",
          "Folder of the images; `ILSVRC/Data/CLS-LOC/val` beside the file when not given."},
         {"classes", "Sequence[str] | None",
          "WordNet ids in the order of their labels; images of others are left out with a warning. All "
          "in the file, sorted, when not given."},
         key_option()},
    .raises = {{"CorruptSample", "a line is not an image and its class."}},
    .example = "hr.read_imagenet_solution(\"LOC_val_solution.csv\")",
    .recognise = recognise_solution,
    .open = open_solution,
});

}  // namespace
}  // namespace headrace
