#include "headrace/formats/beton/testing.h"
#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

// Files of images, a number, bytes, an array and JSON; `apart`: far from each other; `longer`: the JSON by so
// much.
SourceCase beton_case(uint64_t apart, size_t longer = 0) {
  SourceCase out;
  BetonTestFile file;
  file.fields = {beton_field(2, "image"), beton_field(1, "label"), beton_field(3, "more"),
                 beton_field(4, "box", beton_array_args({2}, R"([["", "<f4"]])")), beton_field(5, "note")};
  constexpr uint64_t kSamples = 4, kRecord = 64;
  const uint64_t begin = BetonTestFile::data_begin(file.fields.size(), kSamples * kRecord);
  file.num_samples = kSamples;
  for (uint64_t i = 0; i < kSamples; ++i) {
    const std::string image(20 + i, 'i'), more(3 * i, 'm'), box = beton_bytes(1.5f) + beton_bytes(2.5f);
    const std::string note = "{\"i\":" + std::to_string(i) + std::string(longer, ' ') + "}";
    const auto put = [&](const std::string& bytes) {
      const uint64_t at = begin + file.data.size();
      file.allocations.insert(file.allocations.begin(), {i, at, bytes.size()});
      file.data += bytes + std::string(apart, '?');
      return at;
    };
    const uint64_t image_at = put(image), more_at = put(more), box_at = put(box), note_at = put(note + '\0');
    file.records += beton_image_slot(false, 5, 4, image_at) + std::string(3, '\0') + beton_bytes(i) +
                    beton_bytes(more_at) + beton_bytes(uint64_t{more.size()}) + beton_bytes(box_at) +
                    beton_bytes(note_at) + beton_bytes(uint64_t{note.size() + 1});
    out.samples.push_back(field_text(DType::bytes, {static_cast<int64_t>(image.size())}, image) +
                          field_text(DType::i64, {}, beton_bytes(i)) +
                          field_text(DType::bytes, {static_cast<int64_t>(more.size())}, more) +
                          field_text(DType::f32, {2}, box) +
                          field_text(DType::str, {static_cast<int64_t>(note.size())}, note));
  }
  out.files = {{"data/x.beton", file.bytes()}};
  out.open = by_registered_format("beton");
  return out;
}

SourceCase near_fields() { return beton_case(0); }
SourceCase far_fields() { return beton_case(5000); }
INSTANTIATE_TEST_SUITE_P(Beton, SourceConformance, ::testing::Values(near_fields));
SourceCase long_texts() { return beton_case(0, 40'000); }
INSTANTIATE_TEST_SUITE_P(BetonLongTexts, SourceConformance, ::testing::Values(long_texts));
INSTANTIATE_TEST_SUITE_P(BetonApart, SourceConformance, ::testing::Values(far_fields));

SourceCase pixels() {
  SourceCase out;
  BetonTestFile file;
  file.fields = {beton_field(2, "image"), beton_field(0, "weight")};
  file.num_samples = 3;
  const uint64_t begin = BetonTestFile::data_begin(2, 3 * 24);
  for (uint64_t i = 0; i < 3; ++i) {
    const std::string image(static_cast<size_t>(2 * 3 * 3), static_cast<char>('a' + i));
    file.allocations.push_back({i, begin + file.data.size(), image.size()});
    file.records += beton_image_slot(true, 3, 2, begin + file.data.size()) + std::string(3, '\0') +
                    beton_bytes(static_cast<double>(i));
    file.data += image;
    out.samples.push_back(field_text(DType::u8, {2, 3, 3}, image) +
                          field_text(DType::f64, {}, beton_bytes(static_cast<double>(i))));
  }
  out.files = {{"data/x.beton", file.bytes()}};
  out.open = by_registered_format("beton");
  return out;
}
INSTANTIATE_TEST_SUITE_P(BetonPixels, SourceConformance, ::testing::Values(pixels));

}  // namespace
}  // namespace headrace::trial
