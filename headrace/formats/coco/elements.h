// Images, annotations and categories of COCO's JSON: parsed one by one, and collected in a table. One caller.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "headrace/formats/coco/annotations.h"
#include "headrace/formats/jsonl/json_line.h"

namespace headrace {

class CocoElements {
 public:
  // Parse the next object. False if the reader failed, or the text may continue: then nothing has changed.
  bool read_image(JsonReader& reader);
  // `begin`, the start of the reader's text, is at byte `offset` of the file.
  bool read_annotation(JsonReader& reader, const char* begin, uint64_t offset);
  bool read_category(JsonReader& reader);
  // Adds the object parsed last to the table. An error if it has no id.
  Status keep();

  Status finish();  // once, after all objects
  const CocoTable& table() const { return table_; }

 private:
  enum class Kind { image, annotation, category };
  struct Image {
    int64_t id = 0, height = 0, width = 0;
    std::string file_name;
  };
  struct Category {
    int64_t id = 0;
    std::string name;
    std::string keypoints, skeleton;  // JSON
    uint64_t num_keypoints = 0;
  };

  Status keep_image();
  Status keep_annotation();

  CocoTable table_;
  Kind kind_ = Kind::image;
  const char* lacks_ = nullptr;  // a required member that the object lacks
  Image image_;
  CocoAnnotation annotation_;
  std::vector<CocoAnnotation> segments_;
  bool has_segments_ = false;
  std::string segment_file_;
  uint8_t has_ = 0;
  Category category_;
  std::vector<Category> categories_;
  std::map<int64_t, std::string> segment_files_;  // by image
  std::set<std::string> other_members_;           // of annotations
};

}  // namespace headrace
