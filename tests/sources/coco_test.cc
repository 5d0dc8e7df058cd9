#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

SourceCase coco_case() {
  SourceCase out;
  out.files = {
      {"d/x.json", R"({"images":[{"id":4,"file_name":"i","height":2,"width":2}],"categories":[{"id":1,
"name":"n"}],"annotations":[{"image_id":4,"category_id":1,"bbox":[0,0,2,1],"area":2,"id":1,"segmentation":
{"size":[2,2],"counts":[0,1,1,1,1]}}]})"},
      {"d/i", "image"}};
  Value options;
  options.set("masks", true);
  // The JSON alone is opened; the image is one of its source's files.
  out.open = [open = by_registered_format("coco", options)](std::vector<SourceFile> files) {
    return open({files[0]});
  };
  const float box[] = {0, 0, 2, 1}, area = 2;
  const int64_t id = 4, label = 0;
  const auto bytes = [](const auto& value) {
    return std::string_view(reinterpret_cast<const char*>(&value), sizeof value);
  };
  out.samples = {field_text(DType::bytes, {5}, "image") + field_text(DType::i64, {}, bytes(id)) +
                 field_text(DType::f32, {1, 4}, bytes(box)) + field_text(DType::i64, {1}, bytes(label)) +
                 field_text(DType::f32, {1}, bytes(area)) +
                 field_text(DType::boolean, {1}, std::string(1, '\0')) +
                 field_text(DType::u8, {1, 2, 2}, std::string("\1\1\0\0", 4))};
  out.cut = Cut::is_not_seen;
  return out;
}
INSTANTIATE_TEST_SUITE_P(Coco, SourceConformance, ::testing::Values(coco_case));

}  // namespace
}  // namespace headrace::trial
