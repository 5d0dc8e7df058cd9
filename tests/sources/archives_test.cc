// Files in archives are files to every format.
#include "headrace/formats/npy/testing.h"
#include "headrace/formats/tfrecord/testing.h"
#include "tests/sources/small_files.h"

namespace headrace::trial {
namespace {

SourceCase zip_case(bool is_deflated) {
  const std::vector<std::string> records = {"headrace", "", std::string(700, 'x'), "a record"};
  SourceCase out;
  out.files = {{"d/x.zip", zip_file({{"a/other", "?"}, {"a/rows", framed(records), is_deflated}})}};
  out.inside = "a/rows";
  for (const std::string& record : records) out.samples.push_back(text_field(DType::bytes, record));
  out.open = by_registered_format("tfrecord");
  out.is_checksummed = true;
  return out;
}
SourceCase stored_case() { return zip_case(false); }
SourceCase deflated_case() { return zip_case(true); }
INSTANTIATE_TEST_SUITE_P(ZipStored, SourceConformance, ::testing::Values(stored_case));
INSTANTIATE_TEST_SUITE_P(ZipDeflated, SourceConformance, ::testing::Values(deflated_case));

SourceCase squashfs_case() {
  SourceCase out;
  Value options{Value::Object()};
  options.set("columns", Value::List{"class", "image/bytes", "score"});
  out.files = {{"d/arrow.sqsh", small_file("arrow.sqsh")}};
  out.inside = "table_plain.arrow";
  for (int row = 0; row < kRows; ++row)
    out.samples.push_back(class_field(row) + text_field(DType::bytes, image_of(row)) +
                          field_text(DType::f32, {}, number_bytes(static_cast<float>(row) / 8 - 1)));
  out.open = by_registered_format("arrow", options);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Squashfs, SourceConformance, ::testing::Values(squashfs_case));

}  // namespace
}  // namespace headrace::trial
