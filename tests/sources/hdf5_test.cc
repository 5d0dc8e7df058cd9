#if HEADRACE_TEST_HAS_HDF5
#include <hdf5.h>

#include "tests/sources/hdf5_vlen.h"
#include "tests/sources/small_files.h"
#include "tests/sources/witness.h"

namespace headrace::trial {
namespace {

SourceCase vlen_case() {
  SourceCase out;
  out.files = {{"data/vlen.h5", small_file("vlen.h5")}};
  // Small pages: many dependent reads for a file and a row.
  out.open = [](std::vector<SourceFile> files) {
    return open_hdf5(files[0], {.datasets = {"image", "class", "thumb"}, .page = 512});
  };
  for (int row = 0; row < kRows; ++row) {
    std::string thumb;
    for (int i = 0; i < 6; ++i) thumb += number_bytes(static_cast<float>(6 * row + i));
    out.samples.push_back(text_field(DType::bytes, image_of(row)) + class_field(row) +
                          field_text(DType::f32, {2, 3}, thumb));
  }
  if (!H5_VERSION_GE(1, 14, 4))
    out.not_hostile = "libhdf5 before 1.14.4 promises nothing about damaged files";
  return out;
}
INSTANTIATE_TEST_SUITE_P(Hdf5Vlen, SourceConformance, testing::Values(vlen_case));

Status open_dataset(const std::string& name) {
  SourceCase source_case = vlen_case();
  source_case.open = [&](std::vector<SourceFile> files) { return open_hdf5(files[0], {.datasets = {name}}); };
  MemoryStore store = stored(source_case);
  return open_source_case(source_case, store).status();
}

TEST(Hdf5Vlen, ALinkOutOfTheFileIsRefused) {
  EXPECT_EQ(open_dataset("elsewhere").code(), Code::unavailable);
  EXPECT_EQ(open_dataset("elsewhere/secret").code(), Code::unavailable);
  EXPECT_EQ(open_dataset("nowhere").code(), Code::invalid);
}

TEST(Hdf5Vlen, OneLargePageOpensASmallFileInOneRead) {
  const std::string bytes = small_file("vlen.h5");
  const auto opening = open_hdf5({"vlen.h5", bytes.size()}, {.datasets = {"image"}});
  ASSERT_TRUE(opening.ok());
  const auto step = (*opening)->advance({});
  ASSERT_TRUE(step.ok()) << step.status().text();
  const auto& extents = std::get<std::vector<Extent>>(*step);
  ASSERT_EQ(extents.size(), 1u);
  EXPECT_EQ(extents[0].offset, 0u);
  EXPECT_EQ(extents[0].length, bytes.size());
}

// h5py's file and pyarrow's hold the same twenty images with the same labels.
TEST(Hdf5Vlen, ReadsWhatH5pyWrote) {
  const std::string folder = witness_folder();
  if (folder.empty()) GTEST_SKIP() << "HEADRACE_DATA is not set";
  const auto samples = read_witness(folder + "/hdf5/images_vlen.h5", [](SourceFile file) {
    return open_hdf5(std::move(file), {.datasets = {"jpeg", "label"}, .page = 4096});
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
#endif
