#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/tfrecord/testing.h"
#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

SourceCase tfrecord_files() {
  const std::vector<std::string> first = {"headrace", "", std::string(5000, 'x'), "a record",
                                          std::string(47, '\0')};
  const std::vector<std::string> second = {std::string(64 - 16, 'y'), "last"};
  SourceCase out;
  out.files = {{"data/train-0.tfrecord", framed(first)}, {"data/train-1.tfrecord", framed(second)}};
  for (const auto* records : {&first, &second})
    for (const std::string& record : *records)
      out.samples.push_back(field_text(DType::bytes, {static_cast<int64_t>(record.size())}, record));
  out.open = by_registered_format("tfrecord");
  out.is_checksummed = true;
  out.cut = Cut::may_be_an_ending;
  return out;
}
INSTANTIATE_TEST_SUITE_P(TfrecordFiles, SourceConformance, ::testing::Values(tfrecord_files));

// One file is gzip, the other zlib.
SourceCase deflated_tfrecord_files() {
  SourceCase out = tfrecord_files();
  out.files[0].second = deflated(out.files[0].second, Wrap::gzip);
  out.files[1].second = deflated(out.files[1].second, Wrap::zlib);
  return out;
}
INSTANTIATE_TEST_SUITE_P(DeflatedTfrecordFiles, SourceConformance,
                         ::testing::Values(deflated_tfrecord_files));

}  // namespace
}  // namespace headrace::trial
