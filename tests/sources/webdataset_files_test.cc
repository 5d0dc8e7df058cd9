#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/webdataset/testing.h"
#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

SourceCase webdataset_files() {
  const std::string photo(5000, 'x'), deep = std::string(120, 'd') + "/3";
  SourceCase out;
  out.files = {{"data/0.tar", tar_member("1.jpg", photo) + tar_member("1.cls", "17\n") +
                                  tar_member("2.cls", "-1") + tar_member("2.jpg", "") + tar_end()},
               {"data/1.tar", pax(pax_record("path", deep + ".jpg")) + tar_member("3.jpg", "small") +
                                  tar_member("LICENSE", "none") + pax(pax_record("path", deep + ".cls")) +
                                  tar_member("3.cls", "3") + tar_end()}};
  const auto sample = [](const std::string& key, const std::string& image, int64_t label) {
    return field_text(DType::str, {static_cast<int64_t>(key.size())}, key) +
           field_text(DType::bytes, {static_cast<int64_t>(image.size())}, image) +
           field_text(DType::i64, {}, {reinterpret_cast<const char*>(&label), sizeof label});
  };
  out.samples = {sample("1", photo, 17), sample("2", "", -1), sample(deep, "small", 3)};
  out.open = by_registered_format("webdataset");
  return out;
}
INSTANTIATE_TEST_SUITE_P(WebdatasetFiles, SourceConformance, ::testing::Values(webdataset_files));

SourceCase gzip_webdataset_files() {
  SourceCase out = webdataset_files();
  for (auto& [path, bytes] : out.files) bytes = deflated(bytes, Wrap::gzip);
  return out;
}
INSTANTIATE_TEST_SUITE_P(GzipWebdatasetFiles, SourceConformance, ::testing::Values(gzip_webdataset_files));

}  // namespace
}  // namespace headrace::trial
