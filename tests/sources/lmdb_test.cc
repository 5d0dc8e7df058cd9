#include "headrace/formats/lmdb/testing.h"
#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

std::string bytes_text(const std::string& bytes) {
  return field_text(DType::bytes, {static_cast<int64_t>(bytes.size())}, bytes);
}

SourceCase pairs() {
  LmdbMaker::Pairs first, second = {{"x", ""}, {"y", std::string(1000, 'y')}};
  for (int i = 10; i < 40; ++i)
    first.emplace_back(std::to_string(i), std::string(i % 9 == 0 ? 600 : i, static_cast<char>('a' + i % 26)));
  SourceCase out;
  out.files = {{"data/0/data.mdb", LmdbMaker().make(first)}, {"data/1/data.mdb", LmdbMaker().make(second)}};
  for (const auto* some : {&first, &second})
    for (const auto& [key, value] : *some) out.samples.push_back(bytes_text(key) + bytes_text(value));
  out.open = by_registered_format("lmdb");
  return out;
}
INSTANTIATE_TEST_SUITE_P(Lmdb, SourceConformance, ::testing::Values(pairs));

SourceCase datum() {
  LmdbMaker::Pairs records;
  SourceCase out;
  for (int64_t i = 1; i < 6; ++i) {
    const std::string image(static_cast<size_t>(i * 3 * 40), static_cast<char>('a' + i));
    records.emplace_back(std::to_string(i), datum_bytes(3, i, 40, image, i, false));
    const int64_t label = i;
    out.samples.push_back(field_text(DType::u8, {i, 40, 3}, image) +
                          field_text(DType::i64, {}, {reinterpret_cast<const char*>(&label), 8}));
  }
  out.files = {{"data.mdb", LmdbMaker().make(records)}};
  Value options;
  options.set("values", "datum");
  out.open = by_registered_format("lmdb", options);
  return out;
}
INSTANTIATE_TEST_SUITE_P(LmdbDatum, SourceConformance, ::testing::Values(datum));

}  // namespace
}  // namespace headrace::trial
