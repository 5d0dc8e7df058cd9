#include "headrace/formats/coco/elements.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headrace/core/text/utf8.h"

namespace headrace {
namespace {

constexpr double kMostCoordinate = 1e9;
constexpr size_t kMostOtherMembers = 16;
constexpr size_t kMostAboutKeypoints = size_t{1} << 20;  // bytes of JSON about those of a category

bool is_key(const JsonSpan& key, std::string_view name) {
  return key.has_escapes ? unescaped_json(key) == name : key.text == name;
}

template <class T> bool parsed(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}
bool is_whole(const JsonSpan& value, int64_t& out) {
  return value.type == JsonType::integer && parsed(value.text, out);
}
bool is_number(const JsonSpan& value, double& out) {
  const bool is_one = value.type == JsonType::integer || value.type == JsonType::real;
  return is_one && parsed(value.text, out) && std::abs(out) <= kMostCoordinate;
}

// Exactly four numbers.
bool is_box(const JsonSpan& value, std::array<double, 4>& out) {
  if (value.type != JsonType::list || value.count != 4) return false;
  JsonReader reader(value.text);
  JsonSpan item;
  size_t count = 0;
  if (!reader.begin_list()) return false;
  for (; reader.next_item(count == 0); ++count)
    if (count == 4 || !reader.value(item) || !is_number(item, out[count])) return false;
  return reader.ok() && count == 4;
}

// Numbers in threes.
bool are_keypoints(const JsonSpan& value, std::vector<float>& out) {
  out.clear();
  if (value.type != JsonType::list || value.count % 3 != 0 || value.count > 3 * kMostKeypoints) return false;
  JsonReader reader(value.text);
  JsonSpan item;
  double number = 0;
  if (!reader.begin_list()) return false;
  while (reader.next_item(out.empty())) {
    if (!reader.value(item) || !is_number(item, number)) return false;
    out.push_back(static_cast<float>(number));
  }
  return reader.ok() && out.size() == value.count;
}

bool is_nothing(const JsonSpan& value) {
  return value.type == JsonType::null || (value.type == JsonType::list && value.count == 0 &&
                                          value.text.find_first_of("{[", 1) == value.text.npos);
}

// A member that annotations and segments share; false for other members.
bool take_shared(const JsonSpan& key, const JsonSpan& value, CocoAnnotation& out) {
  if (is_key(key, "bbox")) {
    if (is_nothing(value)) return true;
    const bool is_right = is_box(value, out.box);
    out.flags = static_cast<uint8_t>(out.flags | (is_right ? kCocoBox : kCocoBadBox));
  } else if (is_key(key, "category_id")) {
    if (is_whole(value, out.category)) out.flags = static_cast<uint8_t>(out.flags | kCocoCategory);
  } else if (is_key(key, "area")) {
    double area = 0;
    if (is_number(value, area)) out.area = static_cast<float>(area);
  } else if (is_key(key, "iscrowd")) {
    int64_t crowd = 0;
    if ((is_whole(value, crowd) && crowd != 0) || (value.type == JsonType::boolean && value.text == "true"))
      out.flags = static_cast<uint8_t>(out.flags | kCocoCrowd);
  } else {
    return false;
  }
  return true;
}

// All of "segments_info"; false if the reader failed.
bool read_segments(JsonReader& reader, std::vector<CocoAnnotation>& out) {
  if (!reader.begin_list()) return false;
  for (bool is_first = true; reader.next_item(is_first); is_first = false) {
    CocoAnnotation segment;
    segment.flags = kCocoMissing;
    if (!reader.begin_object()) return false;
    JsonSpan key, value;
    for (bool is_first_key = true; reader.next_key(key, is_first_key); is_first_key = false) {
      if (!reader.value(value)) return false;
      if (!is_key(key, "id"))
        take_shared(key, value, segment);
      else if (is_whole(value, segment.id))
        segment.flags = static_cast<uint8_t>(segment.flags & ~kCocoMissing);
    }
    if (!reader.ok()) return false;
    out.push_back(std::move(segment));
  }
  return reader.ok();
}

uint8_t has_of(const CocoAnnotation& annotation) {
  unsigned out = 0;
  if ((annotation.flags & (kCocoBox | kCocoBadBox)) != 0) out |= CocoTable::has_box;
  if ((annotation.flags & kCocoCategory) != 0) out |= CocoTable::has_category;
  if (annotation.outline.length > 0) out |= CocoTable::has_outline;
  return static_cast<uint8_t>(out);
}

// "val2017/1.jpg": LVIS says by the address alone in which folder of COCO an image lies.
std::string end_of_url(const std::string& url) {
  const size_t name = url.rfind('/');
  const size_t folder = name == std::string::npos || name == 0 ? name : url.rfind('/', name - 1);
  return folder == std::string::npos ? std::string() : url.substr(folder + 1);
}

}  // namespace

bool CocoElements::read_image(JsonReader& reader) {
  kind_ = Kind::image, image_ = {}, lacks_ = "an image with an integer 'id'";
  if (!reader.begin_object()) return false;
  JsonSpan key, value;
  std::string in_url;
  for (bool is_first = true; reader.next_key(key, is_first); is_first = false) {
    if (!reader.value(value)) return false;
    if (is_key(key, "id")) {
      if (is_whole(value, image_.id)) lacks_ = nullptr;
    } else if (is_key(key, "file_name")) {
      if (value.type == JsonType::text) image_.file_name = unescaped_json(value);
    } else if (is_key(key, "coco_url")) {
      if (value.type == JsonType::text) in_url = end_of_url(unescaped_json(value));
    } else if (is_key(key, "height")) {
      if (!is_whole(value, image_.height)) image_.height = 0;
    } else if (is_key(key, "width")) {
      if (!is_whole(value, image_.width)) image_.width = 0;
    }
  }
  if (image_.file_name.empty()) image_.file_name = std::move(in_url);
  return reader.ok();
}

bool CocoElements::read_annotation(JsonReader& reader, const char* begin, uint64_t offset) {
  kind_ = Kind::annotation, lacks_ = "an annotation with an integer 'image_id'";
  annotation_ = {}, segments_.clear(), segment_file_.clear(), has_segments_ = false;
  has_ = 0;
  if (!reader.begin_object()) return false;
  JsonSpan key, value;
  for (bool is_first = true; reader.next_key(key, is_first); is_first = false) {
    if (is_key(key, "segments_info") && reader.begins_with('[')) {
      if (!read_segments(reader, segments_)) return false;
      has_segments_ = true;
      continue;
    }
    if (!reader.value(value)) return false;
    if (take_shared(key, value, annotation_)) continue;
    if (is_key(key, "image_id")) {
      if (is_whole(value, annotation_.image)) lacks_ = nullptr;
    } else if (is_key(key, "id")) {
      if (!is_whole(value, annotation_.id)) annotation_.id = -1;
    } else if (is_key(key, "segmentation")) {
      if (!is_nothing(value))
        annotation_.outline = {offset + static_cast<uint64_t>(value.text.data() - begin), value.text.size()};
    } else if (is_key(key, "caption")) {
      if (value.type == JsonType::text) annotation_.caption = unescaped_json(value);
      const bool is_text =
          value.type == JsonType::text && utf8_prefix(annotation_.caption) == annotation_.caption.size();
      if (!is_text) annotation_.flags = static_cast<uint8_t>(annotation_.flags | kCocoBadText);
      has_ |= CocoTable::has_caption;
    } else if (is_key(key, "file_name")) {
      if (value.type == JsonType::text) segment_file_ = unescaped_json(value);
    } else if (is_key(key, "keypoints")) {
      if (is_nothing(value)) continue;
      has_ |= CocoTable::has_keypoints;
      if (are_keypoints(value, annotation_.keypoints)) continue;
      annotation_.keypoints.clear();
      annotation_.flags = static_cast<uint8_t>(annotation_.flags | kCocoBadKeypoints);
    } else if (is_key(key, "num_keypoints")) {
      if (!is_whole(value, annotation_.num_keypoints)) annotation_.num_keypoints = -1;
    } else if (other_members_.size() < kMostOtherMembers && !is_key(key, "segments_info")) {
      if (std::string name = unescaped_json(key); utf8_prefix(name) == name.size())
        other_members_.insert(std::move(name));
    }
  }
  return reader.ok();
}

bool CocoElements::read_category(JsonReader& reader) {
  kind_ = Kind::category, category_ = {}, lacks_ = "a category with an integer 'id'";
  if (!reader.begin_object()) return false;
  JsonSpan key, value;
  for (bool is_first = true; reader.next_key(key, is_first); is_first = false) {
    if (!reader.value(value)) return false;
    if (is_key(key, "id")) {
      if (is_whole(value, category_.id)) lacks_ = nullptr;
    } else if (is_key(key, "name")) {
      if (value.type == JsonType::text) category_.name = unescaped_json(value);
    } else if (value.type == JsonType::list && value.text.size() <= kMostAboutKeypoints) {
      if (is_key(key, "skeleton")) category_.skeleton = value.text;
      if (!is_key(key, "keypoints") || value.count > kMostKeypoints) continue;
      category_.keypoints = value.text, category_.num_keypoints = value.count;
    }
  }
  return reader.ok();
}

Status CocoElements::keep() {
  if (lacks_) return corrupt({.expected = std::string(lacks_), .got = "none"});
  switch (kind_) {
    case Kind::image: return keep_image();
    case Kind::annotation: return keep_annotation();
    case Kind::category: categories_.push_back(std::move(category_)); break;
  }
  return {};
}

Status CocoElements::keep_image() {
  table_.image_ids.push_back(image_.id);
  table_.heights.push_back(image_.height), table_.widths.push_back(image_.width);
  table_.file_names.add(image_.file_name);
  return {};
}

Status CocoElements::keep_annotation() {
  if (has_segments_) {
    table_.has |= CocoTable::has_segments;
    if (!segment_files_.emplace(annotation_.image, segment_file_).second)
      return corrupt({.expected = "one list of segments per image",
                      .got = "a second one for image " + std::to_string(annotation_.image)});
    for (CocoAnnotation& segment : segments_) {
      segment.image = annotation_.image;
      table_.has |= has_of(segment);
      table_.add(segment);
    }
    return {};
  }
  table_.has |= static_cast<uint8_t>(has_ | has_of(annotation_));
  // One per annotation, starting with the first annotation that has a caption.
  if ((table_.has & CocoTable::has_caption) != 0) {
    while (table_.captions.size() < table_.ids.size()) table_.captions.add("");
    table_.captions.add(annotation_.caption);
  }
  if ((table_.has & CocoTable::has_keypoints) != 0) {
    table_.fill_keypoints();
    const std::vector<float>& keypoints = annotation_.keypoints;
    int64_t labelled = 0;
    for (size_t i = 2; i < keypoints.size(); i += 3) labelled += keypoints[i] > 0;
    table_.keypoints.insert(table_.keypoints.end(), keypoints.begin(), keypoints.end());
    table_.keypoint_ends.push_back(table_.keypoints.size());
    table_.num_keypoints.push_back(annotation_.num_keypoints < 0 ? labelled : annotation_.num_keypoints);
  }
  table_.add(annotation_);
  return {};
}

Status CocoElements::finish() {
  if ((table_.has & CocoTable::has_caption) != 0)
    while (table_.captions.size() < table_.ids.size()) table_.captions.add("");
  if ((table_.has & CocoTable::has_keypoints) != 0) table_.fill_keypoints();
  for (const std::string& name : other_members_) table_.other_members.add(name);
  std::ranges::stable_sort(categories_, {}, &Category::id);
  for (const Category& category : categories_) {
    if (!table_.category_ids.empty() && table_.category_ids.back() == category.id)
      return corrupt(
          {.expected = "each category once", .got = "category " + std::to_string(category.id) + " twice"});
    table_.category_ids.push_back(category.id);
    table_.category_names.add(category.name);
    table_.category_keypoints.add(category.keypoints), table_.category_skeletons.add(category.skeleton);
    table_.category_num_keypoints.push_back(category.num_keypoints);
  }
  if ((table_.has & CocoTable::has_segments) == 0) return {};
  for (const int64_t id : table_.image_ids) {
    const auto file = segment_files_.find(id);
    table_.segment_files.add(file == segment_files_.end() ? std::string_view() : file->second);
  }
  return {};
}

}  // namespace headrace
