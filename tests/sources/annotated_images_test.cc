// Images with captions, and with boxes in XML: the text is opened, the images are files of their own.
#include "tests/sources/small_files.h"

namespace headrace::trial {
namespace {

SourceCase captions_case() {
  SourceCase out;
  out.files = {{"c/captions.txt", "b.jpg#0\tA dog .\nb.jpg#1\tTwo\na.jpg#0\tOne\n"},
               {"c/a.jpg", "first"},
               {"c/b.jpg", "second"}};
  out.open = [open = by_registered_format("captions")](std::vector<SourceFile> files) {
    return open({files[0]});
  };
  const auto lengths = [](std::vector<int64_t> values) {
    std::string bytes;
    for (const int64_t value : values) bytes += number_bytes(value);
    return field_text(DType::i64, {static_cast<int64_t>(values.size())}, bytes);
  };
  out.samples = {text_field(DType::bytes, "second") + text_field(DType::str, "A dog .Two") + lengths({7, 3}),
                 text_field(DType::bytes, "first") + text_field(DType::str, "One") + lengths({3})};
  out.cut = Cut::is_not_seen;
  return out;
}
INSTANTIATE_TEST_SUITE_P(Captions, SourceConformance, ::testing::Values(captions_case));

std::string annotation(const std::string& name, int x_min) {
  return "<annotation><object><name>" + name + "</name><bndbox><xmin>" + std::to_string(x_min) +
         "</xmin><ymin>1</ymin><xmax>8</xmax><ymax>9</ymax></bndbox></object></annotation>";
}

SourceCase voc_case() {
  SourceCase out;
  out.files = {{"v/a.jpg", "first"},
               {"v/a.xml", annotation("dog", 3)},
               {"v/b.jpg", "second"},
               {"v/b.xml", annotation("cat", 1)}};
  out.open = by_registered_folder("voc_xml");
  const auto sample = [](const std::string& image, float x_min, int64_t label) {
    return text_field(DType::bytes, image) +
           field_text(DType::f32, {1, 4},
                      number_bytes(x_min) + number_bytes(0.f) + number_bytes(8.f) + number_bytes(9.f)) +
           field_text(DType::i64, {1}, number_bytes(label));
  };
  out.samples = {sample("first", 2, 1), sample("second", 0, 0)};
  out.cut = Cut::is_not_seen;
  return out;
}
INSTANTIATE_TEST_SUITE_P(Voc, SourceConformance, ::testing::Values(voc_case));

}  // namespace
}  // namespace headrace::trial
