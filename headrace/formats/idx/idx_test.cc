#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"
#include "tests/sources/conformance.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string idx_file(char type, std::initializer_list<int> dims, const std::string& data) {
  std::string out = {0, 0, type, static_cast<char>(dims.size())};
  for (const int dim : dims)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(dim >> shift & 255);
  return out + data;
}

std::vector<std::string> rows_of(MemoryStore& store, const std::string& path, const Value& options = {}) {
  const auto source = open_source(store, path, "", options);
  if (!source.ok()) return {std::string(source.status().text())};
  std::vector<std::string> out{(*source)->schema().text()};
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const auto fields = read_sample(**source, i, store);
    if (!fields.ok()) return {std::string(fields.status().text())};
    std::string text;
    for (const Tensor& field : *fields) {
      const auto bytes = field.view().bytes();
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    out.push_back(text);
  }
  return out;
}

std::string idx_error(const std::string& bytes) {
  MemoryStore store;
  store.add("x", bytes);
  return std::string(open_source(store, "x", "idx").status().text());
}

TEST(Idx, NumbersOfAllTypesAreBigEndian) {
  MemoryStore store;
  store.add("u8", idx_file(8, {2, 3}, "abcdef"));
  store.add("i16", idx_file(0x0b, {2}, "aAbB"));
  store.add("f64", idx_file(0x0e, {1, 1}, "12345678"));
  EXPECT_THAT(rows_of(store, "u8"), ElementsAre("array: uint8 (3)", "abc", "def"));
  EXPECT_THAT(rows_of(store, "i16"), ElementsAre("array: int16 ()", "Aa", "Bb"));
  EXPECT_THAT(rows_of(store, "f64"), ElementsAre("array: float64 (1)", "87654321"));
}

TEST(Idx, ImagesAndLabelsAreSideBySideAlsoInGzip) {
  const std::string images =
      idx_file(8, {3, 4, 5}, std::string(20, 'a') + std::string(20, 'b') + std::string(20, 'c'));
  const std::string labels = idx_file(8, {3}, "123");
  Value options;
  options.set("labels", "labels");
  for (const bool packed : {false, true}) {
    MemoryStore store;
    store.add("images", packed ? deflated(images, Wrap::gzip) : images);
    store.add("labels", packed ? deflated(labels, Wrap::gzip) : labels);
    EXPECT_THAT(rows_of(store, "images", options),
                ElementsAre("image: uint8 (4, 5), label: uint8 ()", std::string(20, 'a') + "1",
                            std::string(20, 'b') + "2", std::string(20, 'c') + "3"));
    store.add("labels", idx_file(8, {2}, "12"));
    EXPECT_THAT(rows_of(store, "images", options)[0],
                HasSubstr("'labels': expected 3 rows as in 'images', got 2"));
  }
}

TEST(Idx, WhatIsWrongIsSaid) {
  EXPECT_EQ(idx_error(idx_file(8, {2, 3}, "abcde")), "idx: 'x': expected 6 bytes for uint8 (2, 3), got 5");
  EXPECT_EQ(idx_error(idx_file(8, {2, 3}, "abcdefg")), "idx: 'x': expected 6 bytes for uint8 (2, 3), got 7");
  EXPECT_THAT(idx_error(idx_file(7, {2}, "ab")), HasSubstr("expected 00 00, a type of 08 to 0e"));
  EXPECT_THAT(idx_error(idx_file(8, {2}, "ab").substr(0, 6)),
              HasSubstr("expected a header of 8 bytes, got 6"));
  EXPECT_THAT(idx_error(deflated(idx_file(8, {2, 3}, "abcde"), Wrap::gzip)),
              HasSubstr("expected 18 bytes, got 17"));
  EXPECT_THAT(idx_error(deflated(idx_file(8, {0x7fffffff, 0x7fffffff}, "abcde"), Wrap::gzip)),
              HasSubstr("expected at most 2 GiB in gzip"));
  EXPECT_THAT(idx_error(deflated(idx_file(8, {0x1000000}, "abcde"), Wrap::gzip)),
              HasSubstr("bytes of gzip cannot hold"));
}

}  // namespace

namespace trial {
namespace {

SourceCase idx_images() {
  SourceCase out;
  std::string data;
  for (int i = 0; i < 4 * 24; ++i) data += static_cast<char>(i * 5);
  out.files = {{"mnist/images", idx_file(8, {4, 4, 6}, data)}};
  out.open = by_registered_format("idx");
  for (size_t i = 0; i < 4; ++i)
    out.samples.push_back(field_text(DType::u8, {4, 6}, data.substr(24 * i, 24)));
  return out;
}

SourceCase idx_packed() {
  SourceCase out = idx_images();
  out.files[0].second = deflated(out.files[0].second, Wrap::gzip);
  return out;
}

SourceCase idx_labelled() {
  SourceCase out = idx_images();
  out.files.emplace_back("mnist/labels", idx_file(0x0b, {4}, "aAbBcCdD"));
  for (size_t i = 0; i < 4; ++i)
    out.samples[i] += field_text(DType::i16, {}, std::string("AaBbCcDd").substr(2 * i, 2));
  out.open = [](const std::vector<SourceFile>& files) -> Result<SourceOpeningPtr> {
    OpenRequest request;
    request.options.set("labels", files[1].path);
    for (const SourceFile& file : files) {
      Probe& probe = request.probes.emplace_back();
      probe.path = file.path, probe.info.size = file.size, probe.files = {file};
    }
    HEADRACE_ASSIGN(SourceOpening opening, find_format("idx")->open(request));
    return std::move(opening.steps);
  };
  return out;
}
INSTANTIATE_TEST_SUITE_P(Idx, SourceConformance, ::testing::Values(idx_images, idx_packed, idx_labelled));

}  // namespace
}  // namespace trial
}  // namespace headrace
