// The contents of a JSON file of COCO: its images, and its annotations in flat arrays; of outlines only the
// positions. Immutable once finished; any thread.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/formats/file_index.h"
#include "headrace/io/name_list.h"

namespace headrace {

// Concatenated strings.
class TextColumn {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  void add(std::string_view text) {
    bytes_.append(text);
    ends_.push_back(bytes_.size());
  }

 private:
  friend struct CocoTable;
  std::string bytes_;
  std::vector<uint64_t> ends_;
};

// What an annotation has, and what is wrong with it.
enum CocoFlag : uint8_t {
  kCocoCrowd = 1,
  kCocoBox = 2,
  kCocoCategory = 4,
  kCocoBadBox = 8,
  kCocoBadText = 16,
  kCocoMissing = 32,  // of panoptic segments: they lack a required member
  kCocoBadKeypoints = 64,
};

// An annotation as it is in the file, or a segment of a panoptic one.
struct CocoAnnotation {
  int64_t id = -1, image = 0, category = 0;
  std::array<double, 4> box{};  // x, y, width, height
  float area = 0;
  uint8_t flags = 0;
  RecordExtent outline;  // the value of "segmentation" in the file; of length 0 if there is none
  std::string caption;
  std::vector<float> keypoints;  // x, y, visibility of each
  int64_t num_keypoints = -1;    // of those that are labelled; -1 if the file does not tell
};

inline constexpr size_t kMostKeypoints = 4096;  // of an annotation

struct CocoTable {
  enum Has : uint8_t {
    has_box = 1,
    has_category = 2,
    has_outline = 4,
    has_caption = 8,
    has_segments = 16,
    has_keypoints = 32
  };

  // One per image, in the order of the file. Height and width are 0 if the file does not have them.
  std::vector<int64_t> image_ids, heights, widths;
  TextColumn file_names, segment_files;  // the latter for panoptic sets: a PNG per image, "" if none

  // One per annotation, in the order of the file.
  std::vector<int64_t> ids, images, categories;
  std::vector<std::array<double, 4>> boxes;
  std::vector<float> areas;
  std::vector<uint8_t> flags;
  std::vector<RecordExtent> outlines;
  TextColumn captions;  // of sets of captions, else empty
  // Of sets with keypoints, else empty: those of annotation i end at keypoint_ends[i] in `keypoints`.
  std::vector<float> keypoints;
  std::vector<uint64_t> keypoint_ends;
  std::vector<int64_t> num_keypoints;

  // Sorted by id.
  std::vector<int64_t> category_ids;
  TextColumn category_names;
  TextColumn category_keypoints, category_skeletons;  // JSON as in the file, "" if there is none
  std::vector<uint64_t> category_num_keypoints;       // names of keypoints; 0 if there are none

  TextColumn other_members;  // names of members of annotations that are not read, the first of them

  uint8_t has = 0;  // Has flags of what any annotation has
  uint64_t annotations_without_image = 0;

  // The annotations of image i are members[first[i]] … members[first[i + 1]], in the order of the file. Not
  // packed.
  std::vector<uint64_t> first;
  std::vector<uint32_t> members;
  uint64_t most_keypoints = 0;  // of an annotation, or named by a category; not packed

  size_t num_images() const { return image_ids.size(); }
  std::span<const uint32_t> of_image(uint64_t image) const {
    return std::span(members).subspan(first[image], first[image + 1] - first[image]);
  }
  // The index of a category in the order of ids; -1 if there is none with this id.
  int64_t label_of(int64_t category) const;
  std::span<const float> keypoints_of(size_t annotation) const {
    const uint64_t begin = annotation == 0 ? 0 : keypoint_ends[annotation - 1];
    return std::span(keypoints).subspan(begin, keypoint_ends[annotation] - begin);
  }
  // Keypoints of the annotations before the next one that is added.
  void fill_keypoints();

  void add(const CocoAnnotation& annotation);
  // Assigns annotations to images; an error if two images have the same id, or there are too many.
  Status finish();

  std::string pack() const;
  // Everything except what finish() makes. Nothing if the bytes were not made by pack().
  static std::optional<CocoTable> unpack(std::string_view bytes);

 private:
  bool has_fitting_keypoints() const;
};

}  // namespace headrace
