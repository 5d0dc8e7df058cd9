#include "tests/sources/small_files.h"

namespace headrace::trial {
namespace {

const Value::List kColumns = {"class", "image/bytes", "boxes", "image/path", "score"};

SourceCase table_case(std::vector<std::string> names) {
  SourceCase out;
  Value options{Value::Object()};
  options.set("columns", kColumns);
  out.open = by_registered_format("arrow", options);
  for (const std::string& name : names) {
    out.files.emplace_back("data/" + name, small_file(name));
    for (int row = 0; row < kRows; ++row) {
      std::string boxes;
      for (int32_t i = row; i < row + row % 4; ++i) boxes += number_bytes(i);
      out.samples.push_back(class_field(row) + text_field(DType::bytes, image_of(row)) +
                            field_text(DType::i32, {row % 4}, boxes) +
                            text_field(DType::str, std::to_string(row) + ".jpg") +
                            field_text(DType::f32, {}, number_bytes(static_cast<float>(row) / 8 - 1)));
    }
  }
  return out;
}

SourceCase plain_case() { return table_case({"table_plain.arrow"}); }
SourceCase rows_case() { return table_case({"rows.arrow"}); }  // a batch each
SourceCase compressed_case() { return table_case({"table_lz4.arrow", "table_zstd.arrow"}); }
INSTANTIATE_TEST_SUITE_P(ArrowPlain, SourceConformance, ::testing::Values(plain_case));
INSTANTIATE_TEST_SUITE_P(ArrowRows, SourceConformance, ::testing::Values(rows_case));
INSTANTIATE_TEST_SUITE_P(ArrowCompressed, SourceConformance, ::testing::Values(compressed_case));

}  // namespace
}  // namespace headrace::trial
