#include "tests/sources/small_files.h"
#include "tests/sources/witness.h"

namespace headrace::trial {
namespace {

Value fields(const Value::List& names) {
  Value out{Value::Object()};
  out.set("fields", names);
  return out;
}

SourceCase case_of(const std::string& name) {
  SourceCase out;
  out.files = {{"data/" + name, small_file(name)}};
  out.open = by_registered_format("hdf5", fields({"image", "class", "thumb"}));
  for (int row = 0; row < kRows; ++row) {
    std::string thumb;
    for (int i = 0; i < 6; ++i) thumb += number_bytes(static_cast<float>(6 * row + i));
    out.samples.push_back(text_field(DType::bytes, image_of(row)) + class_field(row) +
                          field_text(DType::f32, {2, 3}, thumb));
  }
  return out;
}

SourceCase vlen_case() { return case_of("vlen.h5"); }
SourceCase old_case() { return case_of("vlen_old.h5"); }
INSTANTIATE_TEST_SUITE_P(Hdf5Vlen, SourceConformance, ::testing::Values(vlen_case));
INSTANTIATE_TEST_SUITE_P(Hdf5VlenOld, SourceConformance, ::testing::Values(old_case));

// h5py's file and pyarrow's hold the same twenty images with the same labels.
TEST(Hdf5Files, ReadsWhatH5pyWrote) {
  const std::string folder = witness_folder();
  if (folder.empty()) GTEST_SKIP() << "HEADRACE_DATA is not set";
  const auto samples = read_witness(folder + "/hdf5/images_vlen.h5", [](SourceFile file) {
    return by_registered_format("hdf5", fields({"jpeg", "label"}))({std::move(file)});
  });
  ASSERT_TRUE(samples.ok()) << samples.status().text();
  EXPECT_EQ(samples->size(), 20u);
  Value options{Value::Object()};
  options.set("columns", Value::List{"image/bytes", "label"});
  const auto same = read_witness(folder + "/parquet_arrow/hf_image.arrow", [&](SourceFile file) {
    return by_registered_format("arrow", options)({std::move(file)});
  });
  ASSERT_TRUE(same.ok()) << same.status().text();
  EXPECT_EQ(*samples, *same);
}

}  // namespace
}  // namespace headrace::trial
