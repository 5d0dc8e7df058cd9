#include "tests/sources/small_files.h"

namespace headrace::trial {
namespace {

SourceCase parquet_table_case(std::vector<std::string> names) {
  SourceCase out;
  Value options{Value::Object()};
  Value::List columns = {"class", "boxes", "score", "image"};
  options.set("columns", columns);
  out.open = by_registered_format("parquet", options);
  for (const std::string& name : names) {
    out.files.emplace_back("data/" + name, small_file(name));
    for (int row = 0; row < kRows; ++row) {
      std::string boxes;
      for (int32_t i = row; i < row + row % 4; ++i) boxes += number_bytes(i);
      out.samples.push_back(class_field(row) + field_text(DType::i32, {row % 4}, boxes) +
                            field_text(DType::f32, {}, number_bytes(static_cast<float>(row) / 8 - 1)) +
                            text_field(DType::bytes, image_of(row)) +
                            text_field(DType::str, std::to_string(row) + ".jpg"));
    }
  }
  return out;
}

SourceCase plain_parquet_case() { return parquet_table_case({"table_plain.parquet"}); }
SourceCase newer_case() { return parquet_table_case({"table_v2.parquet"}); }
SourceCase several_case() { return parquet_table_case({"table_snappy.parquet", "table_plain.parquet"}); }
INSTANTIATE_TEST_SUITE_P(ParquetPlain, SourceConformance, ::testing::Values(plain_parquet_case));
INSTANTIATE_TEST_SUITE_P(ParquetNewerPages, SourceConformance, ::testing::Values(newer_case));
INSTANTIATE_TEST_SUITE_P(ParquetSeveral, SourceConformance, ::testing::Values(several_case));

}  // namespace
}  // namespace headrace::trial
