// A sample of COCO: which bytes it needs, and its fields from these bytes. Immutable; any thread.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/formats/coco/annotations.h"
#include "headrace/formats/source.h"

namespace headrace {

enum class CocoMasks { none, planes, map };

struct CocoOptions {
  bool has_corners = true;      // boxes are x_min, y_min, x_max, y_max; else x, y, width, height
  bool labels_are_ids = false;  // labels are category ids; else indexes into the categories
  CocoMasks masks = CocoMasks::none;
  bool each_caption = false;              // a sample is a caption; else an image
  std::vector<std::string> classes = {};  // in the order of their labels; empty: the file's categories
};

// Shared by the source and its blocks. Files: 0 is the JSON, 1 + i is image i, then the segments of each
// image.
struct Coco {
  SourceFile json;
  CocoTable table;
  CocoOptions options;
  std::vector<int64_t> labels;  // of the categories, by index, where the user named the classes; -1: none
  std::string image_folder, segment_folder;
  std::vector<uint32_t> images;  // samples are those of these images, in this order

  bool has(uint8_t what) const { return (table.has & what) != 0; }
  bool has_labels() const {
    return has(CocoTable::has_category) && (options.labels_are_ids || !table.category_ids.empty());
  }
  // -1 if the file has no such category.
  int64_t label_of(int64_t category) const {
    const int64_t at = table.label_of(category);
    return at < 0 || options.classes.empty() ? at : labels[static_cast<size_t>(at)];
  }
  std::string file(uint64_t ordinal) const;
  Schema schema() const;
};

// The block of one image: one row, or one per caption.
std::unique_ptr<Opening<BlockPtr>> open_coco_image(std::shared_ptr<const Coco> coco, uint64_t image);

}  // namespace headrace
