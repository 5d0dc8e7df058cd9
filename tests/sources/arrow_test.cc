#if HEADRACE_TEST_HAS_ARROW_CODECS
#include <cstring>

#include "tests/sources/arrow_file.h"
#include "tests/sources/small_files.h"
#include "tests/sources/witness.h"

namespace headrace::trial {
namespace {

const std::vector<std::string> kColumns = {"class", "image/bytes", "boxes", "image/path", "score"};

SourceCase table_case(const std::string& name) {
  SourceCase out;
  out.files = {{"data/table.arrow", small_file(name)}};
  // A tail too short for the footer: three dependent reads to open the file.
  out.open = [](std::vector<SourceFile> files) {
    return open_arrow(files[0], {.columns = kColumns, .tail = 64});
  };
  for (int row = 0; row < kRows; ++row) {
    std::string boxes;
    for (int32_t i = row; i < row + row % 4; ++i) boxes += number_bytes(i);
    out.samples.push_back(class_field(row) + text_field(DType::bytes, image_of(row)) +
                          field_text(DType::i32, {row % 4}, boxes) +
                          text_field(DType::str, std::to_string(row) + ".jpg") +
                          field_text(DType::f32, {}, number_bytes(static_cast<float>(row) / 8 - 1)));
  }
  return out;
}

SourceCase plain_case() { return table_case("table_plain.arrow"); }
SourceCase lz4_case() { return table_case("table_lz4.arrow"); }
SourceCase zstd_case() { return table_case("table_zstd.arrow"); }
INSTANTIATE_TEST_SUITE_P(ArrowPlain, SourceConformance, testing::Values(plain_case));
INSTANTIATE_TEST_SUITE_P(ArrowLz4, SourceConformance, testing::Values(lz4_case));
INSTANTIATE_TEST_SUITE_P(ArrowZstd, SourceConformance, testing::Values(zstd_case));

Result<SourcePtr> open_columns(const std::string& bytes, std::vector<std::string> columns) {
  SourceCase source_case;
  source_case.files = {{"table.arrow", bytes}};
  source_case.open = [&](std::vector<SourceFile> files) {
    return open_arrow(files[0], {.columns = columns});
  };
  MemoryStore store = stored(source_case);
  return open_source_case(source_case, store);
}

TEST(ArrowFile, RowsOfABatchShareItsBytes) {
  SourceCase source_case = lz4_case();
  MemoryStore store = stored(source_case);
  const auto source = open_source_case(source_case, store);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->place(4).block, 1u);
  const auto block = drive(*(*source)->open(1), path_of(**source), store);
  ASSERT_TRUE(block.ok()) << block.status().text();
  std::vector<Tensor> first, second;
  ASSERT_TRUE((*block)->get(0, first).ok() && (*block)->get(1, second).ok());
  for (size_t f = 0; f < first.size(); ++f) EXPECT_EQ(first[f].buffer, second[f].buffer);
  EXPECT_GT((*block)->held_bytes(), 0u);
}

TEST(ArrowFile, GatherEqualsGet) {
  SourceCase source_case = zstd_case();
  MemoryStore store = stored(source_case);
  const auto source = open_source_case(source_case, store);
  ASSERT_TRUE(source.ok());
  const auto block = drive(*(*source)->open(1), path_of(**source), store);
  ASSERT_TRUE(block.ok());
  const uint64_t rows[] = {3, 0, 2};
  uint16_t gathered[3] = {};
  ASSERT_TRUE((*block)->gather(rows, 0, reinterpret_cast<std::byte*>(gathered)));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(gathered[i], (4 + rows[i]) * 6007 % 65536);
  EXPECT_FALSE((*block)->gather(rows, 1, nullptr));  // binary
}

TEST(ArrowFile, OnlyTheChosenColumnsAreRead) {
  const std::string bytes = small_file("table_plain.arrow");
  const auto source = open_columns(bytes, {"class"});
  ASSERT_TRUE(source.ok()) << source.status().text();
  const auto opening = (*source)->open(0);
  const auto first = opening->advance({});
  ASSERT_TRUE(first.ok());
  const Extent metadata = std::get<std::vector<Extent>>(*first).at(0);
  const auto message = HeapBuffer::make(metadata.length);
  std::memcpy(message->mutable_data(), bytes.data() + metadata.offset, metadata.length);
  const BufferPtr given[] = {message};
  const auto second = opening->advance(given);
  ASSERT_TRUE(second.ok()) << second.status().text();
  uint64_t asked = 0;
  for (const Extent& extent : std::get<std::vector<Extent>>(*second)) asked += extent.length;
  EXPECT_LE(asked, sizeof(uint16_t) * kRows);  // pyarrow gives the first batch the whole table's buffer
}

TEST(ArrowFile, AColumnThatCannotBeServedIsRefusedByName) {
  const std::string bytes = small_file("table_plain.arrow");
  EXPECT_EQ(open_columns(bytes, {"synset"}).status().text().substr(0, 59),
            "arrow: cannot serve values in a dictionary, column synset (");
  EXPECT_EQ(open_columns(bytes, {}).status().code(), Code::unavailable);
  EXPECT_EQ(open_columns(bytes, {"nowhere"}).status().code(), Code::invalid);
}

// Compared with h5py's file of the same images in hdf5_test.cc.
TEST(ArrowFile, ReadsWhatPyarrowWrote) {
  const std::string folder = witness_folder();
  if (folder.empty()) GTEST_SKIP() << "HEADRACE_DATA is not set";
  const auto samples = read_witness(folder + "/parquet_arrow/hf_image.arrow", [](SourceFile file) {
    return open_arrow(std::move(file), {.columns = {"image/bytes", "label", "hw"}});
  });
  ASSERT_TRUE(samples.ok()) << samples.status().text();
  EXPECT_EQ(samples->size(), 20u);
}

}  // namespace
}  // namespace headrace::trial
#endif
