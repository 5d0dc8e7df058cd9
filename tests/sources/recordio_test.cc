#include "headrace/formats/recordio/testing.h"
#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

SourceCase plain_recordio() {
  const std::string magic = word_bytes(kRecordioMagic);
  const std::vector<std::string> first = {"headrace", "", std::string(5000, 'x'), "abcd" + magic + "e",
                                          magic};
  const std::vector<std::string> second = {std::string(64 - 8, 'y'), magic + magic + "last"};
  SourceCase out;
  out.files = {{"data/train-0.rec", recordio_file(first)}, {"data/train-1.rec", recordio_file(second)}};
  for (const auto* records : {&first, &second})
    for (const std::string& record : *records)
      out.samples.push_back(field_text(DType::bytes, {static_cast<int64_t>(record.size())}, record));
  out.open = by_registered_format("recordio");
  out.cut = Cut::may_be_an_ending;
  return out;
}
INSTANTIATE_TEST_SUITE_P(Recordio, SourceConformance, ::testing::Values(plain_recordio));

SourceCase images() {
  SourceCase out;
  std::vector<std::string> records;
  for (const uint64_t id : {0, 1, 2, 3}) {
    const std::string image(3 * id, 'x');
    const std::vector<float> labels = {static_cast<float>(id), -1};
    records.push_back(image_record(labels, true, id, image));
    out.samples.push_back(field_text(DType::bytes, {static_cast<int64_t>(image.size())}, image) +
                          field_text(DType::f32, {2}, word_bytes(labels[0]) + word_bytes(labels[1])) +
                          field_text(DType::i64, {}, word_bytes(id)));
  }
  out.files = {{"data/images.rec", recordio_file(records)}};
  Value options;
  options.set("header", true), options.set("label_width", 2);
  out.open = by_registered_format("recordio", options);
  out.cut = Cut::may_be_an_ending;
  return out;
}
INSTANTIATE_TEST_SUITE_P(RecordioImages, SourceConformance, ::testing::Values(images));

}  // namespace
}  // namespace headrace::trial
