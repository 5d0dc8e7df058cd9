#include "tests/sources/image_folder.h"

#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

SourceCase folder_case() {
  SourceCase out;
  out.files = {{"train/cat/1.jpg", "meow"}, {"train/cat/2.jpg", ""}, {"train/dog/1.jpg", "woof!"}};
  out.open = [](std::vector<SourceFile> files) {
    const std::string root = files[0].path.substr(0, files[0].path.find("/cat/"));
    std::vector<std::string> names;
    for (const SourceFile& file : files) names.push_back(file.path.substr(root.size() + 1));
    return open_image_folder(root, std::move(names));
  };
  const auto label = [](int64_t value) {
    return field_text(DType::i64, {}, std::string(reinterpret_cast<const char*>(&value), 8));
  };
  out.samples = {field_text(DType::bytes, {4}, "meow") + label(0),
                 field_text(DType::bytes, {0}, "") + label(0),
                 field_text(DType::bytes, {5}, "woof!") + label(1)};
  out.cut = Cut::is_not_seen;
  out.not_hostile = "any bytes are a file";
  return out;
}
INSTANTIATE_TEST_SUITE_P(ImageFolder, SourceConformance, ::testing::Values(folder_case));

}  // namespace
}  // namespace headrace::trial
