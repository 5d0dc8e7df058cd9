// PASCAL VOC annotations: the objects of one XML file, and which XML file belongs to which image. Pure; any
// thread.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/io/name_list.h"

namespace headrace {

struct VocObject {
  std::string name;
  std::array<float, 4> box;  // x_min, y_min, x_max, y_max; from 0, the maxima exclusive
  bool difficult = false, truncated = false;
  std::string pose;
};

// The objects of an <annotation>, none or more. `first` is the number of the first pixel in the file: 1 as in
// VOC, or 0. Boxes are not repaired, except that negative coordinates become 0.
Result<std::vector<VocObject>> parse_voc(std::string_view xml, int64_t first = 1);

struct VocPair {
  size_t image, xml;  // indexes into the two lists
};
// An XML file belongs to the image of the same name without ending, if it is next to it, or if their folders
// differ in one part that is named after annotations (JPEGImages/x.jpg, Annotations/x.xml). With `two_roots`
// the names are relative to different folders: then their folders must be equal, or all XML files must be at
// the root.
struct VocPairs {
  std::vector<VocPair> pairs;       // in the order of images
  std::vector<size_t> lone;         // images without XML
  size_t images = 0, unpaired = 0;  // number of images, and of those without XML or with several
  size_t masks = 0;                 // images in folders such as SegmentationClass, not counted among images
  std::vector<size_t> mask_images;  // these
  size_t xmls = 0;
};
VocPairs pair_voc(const Names& image_names, const Names& xml_names, bool two_roots);

// The masks that VOC stores next to JPEGImages: existing names, or nothing.
struct VocMasks {
  std::string of_classes, of_objects;
};
std::optional<VocMasks> masks_of_voc(const Names& names, std::string_view image);

// ImageSets: the first word of each line; lines that end in -1 ("not in this set") are left out. Names may
// have folders ("n01440764/n01440764_10026", as ILSVRC has them) and an image's ending.
class ImageSet {
 public:
  static Result<ImageSet> parse(std::string_view text);
  bool has(std::string_view image) const;  // a path
  size_t size() const { return folders_.size(); }

 private:
  std::multimap<std::string, std::string, std::less<>> folders_;  // by name without ending; "" for any
};
std::string_view voc_stem(std::string_view path);    // the name without folder and ending
std::string_view voc_folder(std::string_view path);  // the name of its folder; "" if there is none

}  // namespace headrace
