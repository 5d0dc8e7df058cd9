#include "headrace/formats/tfrecord/testing.h"
#include "tests/sources/small_files.h"

namespace headrace::trial {
namespace {

// ---- TensorFlow Datasets

// A field of a protocol buffer that holds bytes.
std::string piece(int number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  if (bytes.size() >= 128) out += static_cast<char>(0x80 | (bytes.size() & 0x7f));
  return out + static_cast<char>(bytes.size() >= 128 ? bytes.size() >> 7 : bytes.size()) + bytes;
}
std::string entry(const std::string& name, const std::string& feature) {
  return piece(1, piece(1, name) + piece(2, feature));
}

SourceCase tfds_case() {
  SourceCase out;
  std::vector<std::string> records;
  for (int i = 0; i < 3; ++i) {
    const std::string text = "text " + std::to_string(i), label(1, static_cast<char>(i));
    std::string words, values, lengths;
    for (int k = 0; k < i; ++k) {
      const std::string word(static_cast<size_t>(k) + 1, 'w');
      words += piece(1, word), values += word, lengths += number_bytes(static_cast<int64_t>(word.size()));
    }
    records.push_back(piece(1, entry("label", piece(3, piece(1, label))) +
                                   entry("text", piece(1, piece(1, text))) +
                                   entry("words", piece(1, words))));
    out.samples.push_back(field_text(DType::i64, {}, number_bytes(static_cast<int64_t>(i))) +
                          text_field(DType::str, text) + text_field(DType::str, values) +
                          field_text(DType::i64, {i}, lengths));
  }
  out.files = {
      {"d/dataset_info.json",
       R"({"name":"toy","fileFormat":"tfrecord","splits":[{"name":"train","shardLengths":["2","1"]}]})"},
      {"d/features.json", R"({"featuresDict":{"features":{"label":{"classLabel":{"numClasses":"3"}},
"text":{"text":{}},"words":{"sequence":{"feature":{"text":{}},"length":"-1"}}}}})"},
      {"d/toy-train.tfrecord-00000-of-00002", framed(std::vector{records[0], records[1]})},
      {"d/toy-train.tfrecord-00001-of-00002", framed(records[2])}};
  out.open = by_registered_folder("tfds", "tfrecord");
  return out;
}
INSTANTIATE_TEST_SUITE_P(Tfds, SourceConformance, ::testing::Values(tfds_case));

// ---- Hugging Face

SourceCase huggingface_case() {
  SourceCase out;
  out.files = {{"d/dataset_info.json", R"({"features":{"class":{"dtype":"uint16","_type":"Value"},
"image":{"_type":"Image"},"score":{"dtype":"float32","_type":"Value"}}})"},
               {"d/state.json", R"({"_data_files":[{"filename":"table_plain.arrow"}]})"},
               {"d/table_plain.arrow", small_file("table_plain.arrow")}};
  for (int row = 0; row < kRows; ++row)
    out.samples.push_back(class_field(row) + text_field(DType::bytes, image_of(row)) +
                          field_text(DType::f32, {}, number_bytes(static_cast<float>(row) / 8 - 1)));
  out.open = by_registered_folder("huggingface", "arrow");
  return out;
}
INSTANTIATE_TEST_SUITE_P(HuggingFace, SourceConformance, ::testing::Values(huggingface_case));

}  // namespace
}  // namespace headrace::trial
