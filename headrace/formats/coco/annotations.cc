#include "headrace/formats/coco/annotations.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace headrace {
namespace {

template <class T> void put(const std::vector<T>& values, std::string& out) {
  const uint64_t bytes = values.size() * sizeof(T);
  out.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  if (bytes > 0) out.append(reinterpret_cast<const char*>(values.data()), bytes);
}

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}

  template <class T> bool take(std::vector<T>& out) {
    std::string_view bytes;
    if (!take_bytes(bytes) || bytes.size() % sizeof(T) != 0) return false;
    out.resize(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return true;
  }
  bool take_bytes(std::string_view& out) {
    uint64_t size = 0;
    if (left_.size() < sizeof size) return false;
    std::memcpy(&size, left_.data(), sizeof size);
    left_.remove_prefix(sizeof size);
    if (size > left_.size()) return false;
    out = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }
  bool is_at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
};

}  // namespace

int64_t CocoTable::label_of(int64_t category) const {
  const auto at = std::ranges::lower_bound(category_ids, category);
  return at == category_ids.end() || *at != category ? -1 : at - category_ids.begin();
}

void CocoTable::add(const CocoAnnotation& annotation) {
  ids.push_back(annotation.id), images.push_back(annotation.image);
  categories.push_back(annotation.category);
  boxes.push_back(annotation.box);
  areas.push_back(annotation.area);
  flags.push_back(annotation.flags);
  outlines.push_back(annotation.outline);
}

void CocoTable::fill_keypoints() {
  keypoint_ends.resize(ids.size(), keypoints.size());
  num_keypoints.resize(ids.size(), 0);
}

Status CocoTable::finish() {
  if (ids.size() >= std::numeric_limits<uint32_t>::max() ||
      image_ids.size() >= std::numeric_limits<uint32_t>::max())
    return {Code::exhausted, "expected fewer than 2^32 images and annotations"};
  if ((has & has_keypoints) != 0) {
    for (const uint64_t names : category_num_keypoints) most_keypoints = std::max(most_keypoints, names);
    for (size_t i = 0; i < ids.size(); ++i)
      most_keypoints = std::max<uint64_t>(most_keypoints, keypoints_of(i).size() / 3);
  }
  std::vector<uint32_t> by_id(image_ids.size());
  for (size_t i = 0; i < by_id.size(); ++i) by_id[i] = static_cast<uint32_t>(i);
  const auto id_of = [&](uint32_t image) { return image_ids[image]; };
  std::ranges::sort(by_id, {}, id_of);
  const auto twice = std::ranges::adjacent_find(by_id, {}, id_of);
  if (twice != by_id.end())
    return corrupt(
        {.expected = "each image once", .got = "image " + std::to_string(image_ids[*twice]) + " twice"});
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> places(images.size(), kNone);
  first.assign(image_ids.size() + 1, 0);
  annotations_without_image = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    const auto at = std::ranges::lower_bound(by_id, images[i], {}, id_of);
    if (at == by_id.end() || image_ids[*at] != images[i]) {
      ++annotations_without_image;
      continue;
    }
    places[i] = *at;
    ++first[*at + 1];
  }
  for (size_t i = 0; i + 1 < first.size(); ++i) first[i + 1] += first[i];
  members.resize(first.back());
  std::vector<uint64_t> next(first.begin(), first.end() - 1);
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != kNone) members[next[places[i]]++] = static_cast<uint32_t>(i);
  return {};
}

// Whether annotations have as many as the table has, in threes.
bool CocoTable::has_fitting_keypoints() const {
  const auto are_many = [](uint64_t names) { return names > kMostKeypoints; };
  if (std::ranges::any_of(category_num_keypoints, are_many)) return false;
  if ((has & has_keypoints) == 0) return keypoints.empty() && keypoint_ends.empty() && num_keypoints.empty();
  if (keypoint_ends.size() != ids.size() || num_keypoints.size() != ids.size()) return false;
  uint64_t before = 0;
  for (const uint64_t end : keypoint_ends) {
    if (end < before || end > keypoints.size() || (end - before) % 3 != 0 ||
        end - before > 3 * kMostKeypoints)
      return false;
    before = end;
  }
  return before == keypoints.size();
}

std::string CocoTable::pack() const {
  std::string out;
  const auto put_texts = [&](const TextColumn& column) {
    put(column.ends_, out);
    put(std::vector<char>(column.bytes_.begin(), column.bytes_.end()), out);
  };
  put(image_ids, out), put(heights, out), put(widths, out);
  put_texts(file_names), put_texts(segment_files);
  put(ids, out), put(images, out), put(categories, out), put(boxes, out), put(areas, out), put(flags, out);
  put(outlines, out), put_texts(captions);
  put(keypoints, out), put(keypoint_ends, out), put(num_keypoints, out);
  put(category_ids, out), put_texts(category_names);
  put_texts(category_keypoints), put_texts(category_skeletons), put(category_num_keypoints, out);
  put_texts(other_members);
  put(std::vector<uint8_t>{has}, out);
  return out;
}

std::optional<CocoTable> CocoTable::unpack(std::string_view bytes) {
  CocoTable out;
  Unpacker unpacker(bytes);
  const auto take_texts = [&](TextColumn& column) {
    std::string_view text;
    if (!unpacker.take(column.ends_) || !unpacker.take_bytes(text)) return false;
    column.bytes_ = text;
    return std::ranges::is_sorted(column.ends_) &&
           (column.ends_.empty() ? text.empty() : column.ends_.back() == text.size());
  };
  std::vector<uint8_t> has;
  const bool is_taken =
      unpacker.take(out.image_ids) && unpacker.take(out.heights) && unpacker.take(out.widths) &&
      take_texts(out.file_names) && take_texts(out.segment_files) && unpacker.take(out.ids) &&
      unpacker.take(out.images) && unpacker.take(out.categories) && unpacker.take(out.boxes) &&
      unpacker.take(out.areas) && unpacker.take(out.flags) && unpacker.take(out.outlines) &&
      take_texts(out.captions) && unpacker.take(out.keypoints) && unpacker.take(out.keypoint_ends) &&
      unpacker.take(out.num_keypoints) && unpacker.take(out.category_ids) && take_texts(out.category_names) &&
      take_texts(out.category_keypoints) && take_texts(out.category_skeletons) &&
      unpacker.take(out.category_num_keypoints) && take_texts(out.other_members) && unpacker.take(has) &&
      unpacker.is_at_end() && has.size() == 1;
  if (!is_taken) return std::nullopt;
  out.has = has[0];
  const auto none_or = [](size_t size, size_t wanted) { return size == 0 || size == wanted; };
  const size_t images = out.image_ids.size(), annotations = out.ids.size();
  const bool fits =
      out.heights.size() == images && out.widths.size() == images && out.file_names.size() == images &&
      none_or(out.segment_files.size(), images) && out.images.size() == annotations &&
      out.categories.size() == annotations && out.boxes.size() == annotations &&
      out.areas.size() == annotations && out.flags.size() == annotations &&
      out.outlines.size() == annotations && none_or(out.captions.size(), annotations) &&
      out.category_names.size() == out.category_ids.size() && std::ranges::is_sorted(out.category_ids) &&
      out.category_keypoints.size() == out.category_ids.size() &&
      out.category_skeletons.size() == out.category_ids.size() &&
      out.category_num_keypoints.size() == out.category_ids.size() && out.has_fitting_keypoints();
  if (!fits || ((out.has & has_caption) != 0 && out.captions.size() != annotations) ||
      ((out.has & has_segments) != 0 && out.segment_files.size() != images))
    return std::nullopt;
  return out;
}

}  // namespace headrace
