#include "cli/look/encoded_again.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "cli/input/input.h"
#include "headrace/core/text/text.h"

namespace headrace::cli {
namespace {

// "objects/bbox_2" consists of the words "objects" and "bbox".
template <class Take> void for_each_word(std::string_view name, const Take& take) {
  for (size_t at = 0; at < name.size();) {
    size_t end = at;
    while (end < name.size() && std::isalpha(static_cast<unsigned char>(name[end]))) ++end;
    if (end > at) take(lower_case(name.substr(at, end - at)));
    at = std::max(end, at + 1);
  }
}

bool is_of_size(std::string_view word) {
  constexpr std::string_view words[] = {
      "area",     "areas",     "bbox",     "bboxes",     "box",          "boxes",
      "contour",  "contours",  "corner",   "corners",    "depth",        "flow",
      "h",        "height",    "heights",  "hw",         "instance",     "joints",
      "keypoint", "keypoints", "landmark", "landmarks",  "mask",         "masks",
      "point",    "points",    "polygon",  "polygons",   "polyline",     "rle",
      "seg",      "segments",  "semantic", "w",          "segmentation", "segmentations",
      "wh",       "width",     "widths",   "xmax",       "xmin",         "xywh",
      "xyxy",     "ymax",      "ymin",     "bottom",     "center",       "cols",
      "crop",     "cx",        "cy",       "homography", "intrinsics",   "left",
      "matrix",   "obb",       "poly",     "polys",      "pose",         "pupil",
      "quad",     "quads",     "rect",     "rects",      "resolution",   "right",
      "roi",      "rois",      "rows",     "shape",      "size",         "top",
      "vertex",   "vertices",  "xs",       "ys"};
  return std::ranges::find(words, word) != std::end(words);
}

// The other coordinate: one letter alone may be anything, as "y" is often the label.
std::string_view partner_of(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> pairs[] = {
      {"x", "y"}, {"y", "x"}, {"u", "v"}, {"v", "u"}};
  for (const auto& [one, other] : pairs)
    if (word == one) return other;
  return {};
}

}  // namespace

std::vector<std::string> sized_fields(const Schema& schema, int image) {
  std::set<std::string, std::less<>> words;
  for (size_t i = 0; i < schema.size(); ++i)
    if (static_cast<int>(i) != image)
      for_each_word(schema.names[i], [&](std::string word) { words.insert(std::move(word)); });
  std::vector<std::string> out;
  for (size_t i = 0; i < schema.size(); ++i) {
    bool is_one = false, is_count = false;  // "num_keypoints" stays as it is
    for_each_word(schema.names[i], [&](const std::string& word) {
      const std::string_view partner = partner_of(word);
      is_one = is_one || is_of_size(word) || (!partner.empty() && words.contains(partner));
      is_count = is_count || word == "num" || word == "count";
    });
    if (is_one && !is_count && static_cast<int>(i) != image) out.push_back(schema.names[i]);
  }
  return out;
}

Dataset encoded_again(const Dataset& data, const Schema& schema, int image, uint64_t max_side,
                      uint64_t quality) {
  return data.map(
      [&](const Fields& sample) {
        Outputs out;
        for (size_t i = 0; i < schema.size(); ++i) {
          Symbol field = sample[schema.names[i]];
          if (static_cast<int>(i) == image) {
            field = field.apply("decode_image", {{"match", "exact"}, {"exif_orientation", true}});
            if (max_side > 0) field = field.apply("shrink", {{"max_side", max_side}});
            const auto as_given = quality > 0 ? static_cast<int64_t>(quality) : kQuality;
            field = field.apply("encode_image", {{"quality", as_given}, {"subsampling", "4:2:0"}});
          }
          out.emplace_back(schema.names[i], field);
        }
        return out;
      },
      kNoLine);
}

}  // namespace headrace::cli
