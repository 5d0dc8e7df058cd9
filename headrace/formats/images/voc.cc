#include "headrace/formats/images/voc.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <pugixml.hpp>

#include "headrace/codecs/codec.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/io/sorted_names.h"

namespace headrace {
namespace {

constexpr size_t kLargestXml = size_t{16} << 20;  // the tree takes about twenty times as much

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

Result<double> coordinate(const pugi::xml_node& box, const char* name) {
  const std::string_view text = trim(box.child_value(name));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      std::abs(value) > 1e9)
    return corrupt({.expected = "a number in <" + std::string(name) + ">",
                    .got = "'" + std::string(text.substr(0, 100)) + "'"});
  return value;
}

Result<VocObject> parse_object(const pugi::xml_node& node, double first) {
  VocObject out;
  out.name = trim(node.child_value("name"));
  if (out.name.empty()) return corrupt("expected a <name>");
  const pugi::xml_node box = node.child("bndbox");
  if (!box) return corrupt("expected a <bndbox>");
  HEADRACE_ASSIGN(const double x_min, coordinate(box, "xmin"));
  HEADRACE_ASSIGN(const double y_min, coordinate(box, "ymin"));
  HEADRACE_ASSIGN(const double x_max, coordinate(box, "xmax"));
  HEADRACE_ASSIGN(const double y_max, coordinate(box, "ymax"));
  const auto low = [&](double v) { return static_cast<float>(std::max(v - first, 0.0)); };
  const auto high = [&](double v) { return static_cast<float>(std::max(v - first + 1, 0.0)); };
  out.box = {low(x_min), low(y_min), high(x_max), high(y_max)};
  out.difficult = trim(node.child_value("difficult")) == "1";
  out.truncated = trim(node.child_value("truncated")) == "1";
  out.pose = trim(node.child_value("pose"));
  return out;
}

std::string_view folder_part(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::vector<std::string_view> parts(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    out.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return out;
}

bool named_after_annotations(std::string_view part) {
  const std::string lower = lower_case(part);
  for (const char* word : {"annotation", "xml", "label", "bbox"})
    if (lower.find(word) != std::string::npos) return true;
  return false;
}

// SegmentationClass/x.png has the name of x.xml, like JPEGImages/x.jpg, but it is not a photograph.
bool named_after_masks(std::string_view part) {
  const std::string lower = lower_case(part);
  return lower.starts_with("segmentationclass") || lower.starts_with("segmentationobject") ||
         lower == "masks";
}

bool lies_in_masks(std::string_view path) {
  return std::ranges::any_of(parts(folder_part(path)), named_after_masks);
}

// Whether the folders differ in at most one part, which on the XML's side is named after annotations.
bool side_by_side(std::string_view image_folder, std::string_view xml_folder) {
  std::vector<std::string_view> a = parts(image_folder), b = parts(xml_folder);
  size_t front = 0;
  while (front < std::min(a.size(), b.size()) && a[front] == b[front]) ++front;
  size_t back = 0;
  while (back < std::min(a.size(), b.size()) - front && a[a.size() - 1 - back] == b[b.size() - 1 - back])
    ++back;
  const size_t left = a.size() - front - back, right = b.size() - front - back;
  return left <= 1 && right == 1 && named_after_annotations(b[front]);
}

int closeness(std::string_view image, std::string_view xml, bool two_roots) {
  if (folder_part(image) == folder_part(xml)) return 2;
  if (two_roots) return folder_part(xml).empty() ? 1 : 0;
  return side_by_side(folder_part(image), folder_part(xml)) ? 1 : 0;
}

bool names_xml(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.size() > 4 && name[0] != '.' && (name.ends_with(".xml") || name.ends_with(".XML"));
}

}  // namespace

Result<std::vector<VocObject>> parse_voc(std::string_view xml, int64_t first) {
  if (xml.size() > kLargestXml)
    return Status(Code::exhausted,
                  {.expected = "at most 16 MiB of XML", .got = std::to_string(xml.size()) + " bytes"});
  // Document types are never parsed: pugixml knows no entities except the five of XML, so nothing expands.
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_minimal | pugi::parse_escapes);
  if (!parsed)
    return corrupt("not XML at byte " + std::to_string(parsed.offset) + ": " + parsed.description());
  const pugi::xml_node root = document.child("annotation");
  if (!root) return corrupt("expected an <annotation>");
  std::vector<VocObject> out;
  for (const pugi::xml_node& node : root.children("object")) {
    auto object = parse_object(node, static_cast<double>(first));
    if (!object.ok()) return object.status().before("object " + std::to_string(out.size() + 1) + ": ");
    out.push_back(*std::move(object));
  }
  return out;
}

VocPairs pair_voc(const Names& image_names, const Names& xml_names, bool two_roots) {
  VocPairs out;
  std::vector<size_t> xmls;
  for (size_t i = 0; i < xml_names.size(); ++i)
    if (names_xml(xml_names[i])) xmls.push_back(i);
  const auto stem_of = [&](size_t i) { return voc_stem(xml_names[i]); };
  std::ranges::sort(xmls, {}, stem_of);
  out.xmls = xmls.size();
  for (size_t i = 0; i < image_names.size(); ++i) {
    const std::string_view image = image_names[i];
    if (!names_an_image(image)) continue;
    if (lies_in_masks(image)) {
      ++out.masks;
      out.mask_images.push_back(i);
      continue;
    }
    ++out.images;
    int best = 0;
    size_t found = 0, equals = 0;
    for (const size_t xml : std::ranges::equal_range(xmls, voc_stem(image), {}, stem_of)) {
      const int close = closeness(image, xml_names[xml], two_roots);
      if (close == 0 || close < best) continue;
      equals = close == best ? equals + 1 : 1;
      best = close, found = xml;
    }
    if (equals == 1)
      out.pairs.push_back({i, found});
    else
      ++out.unpaired;
    if (equals == 0) out.lone.push_back(i);
  }
  return out;
}

std::string_view voc_stem(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}

std::optional<VocMasks> masks_of_voc(const Names& names, std::string_view image) {
  constexpr std::string_view photographs = "JPEGImages/";
  const size_t at = image.rfind(photographs);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string before(image.substr(0, at)), name = std::string(voc_stem(image)) + ".png";
  VocMasks out{before + "SegmentationClass/" + name, before + "SegmentationObject/" + name};
  if (!holds(names, out.of_classes) || !holds(names, out.of_objects)) return std::nullopt;
  return out;
}

std::string_view voc_folder(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view folder = path.substr(0, slash);
  return folder.substr(folder.rfind('/') + 1);
}

Result<ImageSet> ImageSet::parse(std::string_view text) {
  ImageSet out;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view name = line.substr(0, line.find_first_of(" \t"));
    if (name.find('\0') != std::string_view::npos) return corrupt({.expected = "names", .got = "a NUL byte"});
    if (name.empty() || trim(line.substr(name.size())) == "-1") continue;
    const size_t slash = name.rfind('/');
    const std::string folder(slash == std::string_view::npos ? std::string_view() : name.substr(0, slash));
    const std::string_view base = name.substr(slash + 1);
    const std::string stem(has_image_ending(base) ? voc_stem(base) : base);
    const auto [first, last] = out.folders_.equal_range(stem);
    if (std::none_of(first, last, [&](const auto& one) { return one.second == folder; }))
      out.folders_.emplace(stem, folder);
  }
  return out;
}

bool ImageSet::has(std::string_view image) const {
  const auto [first, last] = folders_.equal_range(voc_stem(image));
  return std::any_of(first, last, [&](const auto& one) {
    const std::string& folder = one.second;
    if (folder.empty()) return true;
    const std::string_view path = image.substr(0, std::min(image.rfind('/'), image.size()));
    return path == folder || (path.ends_with(folder) && path[path.size() - folder.size() - 1] == '/');
  });
}

}  // namespace headrace
