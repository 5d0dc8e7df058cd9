#include "headrace/codecs/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/npy/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/io/testing/temporary_folder.h"
#include "tests/sources/conformance.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T> std::string little_endian(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
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

std::vector<std::string> rows_of(const std::string& bytes) {
  MemoryStore store;
  store.add("x.npy", bytes);
  return rows_of(store, "x.npy");
}

TEST(Npy, SlicesAlongTheFirstAxisAreSamples) {
  EXPECT_THAT(rows_of(npy_file("'|u1'", "False", "(3, 2)", "aabbcc")),
              ElementsAre("array: uint8 (2)", "aa", "bb", "cc"));
  EXPECT_THAT(rows_of(npy_file("'|S1'", "False", "(0,)", ""))[0], HasSubstr("write strings to Arrow"));
  EXPECT_THAT(rows_of(npy_file("'<f4'", "False", "(0, 7)", "")), ElementsAre("array: float32 (7)"));
  EXPECT_THAT(rows_of(npy_file("'|b1'", "False", "(2,)", std::string("\0\7", 2))),
              ElementsAre("array: bool ()", std::string("\0", 1), "\1"));
}

TEST(Npy, OtherOrdersBecomeLittleEndianRows) {
  EXPECT_THAT(rows_of(npy_file("'>u2'", "False", "(2, 2)", "aAbBcCdD")),
              ElementsAre("array: uint16 (2)", "AaBb", "CcDd"));
  EXPECT_THAT(rows_of(npy_file("'|u1'", "True", "(2, 3)", "adbecf")),
              ElementsAre("array: uint8 (3)", "abc", "def"));
  // (2, 2, 2): the first index runs fastest.
  EXPECT_THAT(rows_of(npy_file("'|u1'", "True", "(2, 2, 2)", "aecgbfdh")),
              ElementsAre("array: uint8 (2, 2)", "abcd", "efgh"));
  EXPECT_THAT(rows_of(npy_file("'>u2'", "True", "(2, 1, 2)", "aAcCbBdD")),
              ElementsAre("array: uint16 (1, 2)", "AaBb", "CcDd"));
}

TEST(Npy, LargeArraysInFortransOrderAreReadInBlocks) {
  // 24 MiB of f32 (3) for each of 3 numbers: more than is kept.
  constexpr size_t kRows = (size_t{24} << 20) / sizeof(float);
  std::string data(3 * kRows * sizeof(float), '\0');
  auto* numbers = reinterpret_cast<float*>(data.data());
  for (size_t k = 0; k < 3; ++k)
    for (size_t i = 0; i < kRows; ++i) numbers[k * kRows + i] = static_cast<float>(10 * i + k);
  MemoryStore store;
  store.add("x.npy", npy_file("'<f4'", "True", "(" + std::to_string(kRows) + ", 3)", data));
  const auto source = open_source(store, "x.npy");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_FALSE((*source)->resident());
  for (const uint64_t i : {uint64_t{0}, uint64_t{5000}, uint64_t{kRows - 1}}) {
    const auto fields = read_sample(**source, i, store);
    ASSERT_TRUE(fields.ok()) << fields.status().text();
    const float* row = (*fields)[0].view().as<float>();
    const auto first = static_cast<float>(10 * i);
    EXPECT_THAT(std::vector<float>(row, row + 3),
                ElementsAre(first, static_cast<float>(10 * i + 1), static_cast<float>(10 * i + 2)));
  }
}

TEST(Npy, SmallRowsAreKeptAndOthersReadAlone) {
  MemoryStore store;
  store.add("labels", npy_file("'<i8'", "False", "(3,)", std::string(24, '\1')));
  store.add("small", npy_file("'|u1'", "False", "(2, 4096)", std::string(8192, 'x')));
  store.add("rows", npy_file("'|u1'", "False", "(100, 4097)", std::string(409'700, 'x')));
  EXPECT_TRUE((*open_source(store, "labels"))->resident());
  EXPECT_TRUE((*open_source(store, "small"))->resident());
  const SourcePtr rows = *open_source(store, "rows");
  EXPECT_FALSE(rows->resident());
  std::vector<Extent> extents(2);
  ASSERT_TRUE(rows->extents(std::vector<uint64_t>{99, 0}, extents));
  EXPECT_EQ(extents[0].offset, 128 + 99 * 4097u);
  EXPECT_EQ(extents[0].length, 4097u);
  EXPECT_EQ(rows->where(99).text(), "rows, row 99 at byte 405731");
}

TEST(Npy, SeveralFilesAreOneAndMustAgree) {
  MemoryStore store;
  store.add("d/a.npy", npy_file("'|u1'", "False", "(2, 3)", "abcdef"));
  store.add("d/b.npy", npy_file("'|u1'", "True", "(1, 3)", "ghi"));
  EXPECT_THAT(rows_of(store, "d"), ElementsAre("array: uint8 (3)", "abc", "def", "ghi"));
  store.add("d/c.npy", npy_file("'|i1'", "False", "(1, 3)", "ghi"));
  EXPECT_THAT(rows_of(store, "d")[0],
              HasSubstr("'d/c.npy': expected uint8 (3) in 'array' as in 'd/a.npy', got int8 (3)"));
}

TEST(Npy, WhatIsRefusedSaysWhatToDo) {
  const auto said = [](const std::string& descr, const std::string& shape, const std::string& data) {
    return rows_of(npy_file(descr, "False", shape, data))[0];
  };
  EXPECT_THAT(said("'|O'", "(1,)", "pickle"), HasSubstr("objects are pickled, which is not supported"));
  EXPECT_THAT(said("'<c8'", "(1,)", "12345678"), HasSubstr("save x.view(x.real.dtype)"));
  EXPECT_THAT(said("[('x', '<f4')]", "(1,)", "1234"), HasSubstr("numpy.savez(path, **{n: x[n]"));
  EXPECT_THAT(said("'<M8[ns]'", "(1,)", "12345678"), HasSubstr("save x.view('i8')"));
  EXPECT_THAT(said("'<f8'", "()", "12345678"), HasSubstr("got a single number; save x[None]"));
  EXPECT_THAT(said("'<f8'", "(2, 0)", ""),
              HasSubstr("expected rows of at least one number, got float64 (2, 0)"));
  EXPECT_THAT(said("'<f8'", "(2,)", "12345678"), HasSubstr("expected 16 bytes for float64 (2), got 8"));
  EXPECT_THAT(said("'<f8'", "(1,)", "123456789"), HasSubstr("expected 8 bytes for float64 (1), got 9"));
  EXPECT_THAT(said("'<f8'", "(9223372036854775807, 9223372036854775807)", ""), HasSubstr("got 0"));
}

TEST(Npy, HeadersOfEveryVersionAreRead) {
  const std::string rest = "{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 1L), }\n";
  const auto length = static_cast<char>(rest.size());
  EXPECT_THAT(rows_of("\x93NUMPY" + std::string("\1\0", 2) + length + '\0' + rest + "ab"),
              ElementsAre("array: uint8 (1)", "a", "b"));
  for (const char* version : {"\2", "\3"})
    EXPECT_THAT(
        rows_of("\x93NUMPY" + std::string(version) + '\0' + length + std::string(3, '\0') + rest + "ab"),
        ElementsAre("array: uint8 (1)", "a", "b"));
  // Longer than the first read.
  const std::string padded = npy_file("'|u1'", "False", "(2,)", "ab", 5000);
  EXPECT_THAT(rows_of(padded), ElementsAre("array: uint8 ()", "a", "b"));
}

Samples written_samples(TensorSpec spec, size_t count) {
  Samples out;
  for (size_t i = 0; i < count; ++i) out.push_back({element(spec.dtype, spec.shape, i)});
  return out;
}

TEST(NpyWriter, WhatIsWrittenComesBack) {
  const TemporaryFolder folder;
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_text(dtype) || dtype == DType::bf16) continue;
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 1, 40}})
      for (const size_t count : {0, 1, 70}) {
        const std::string path = folder / (std::string(dtype_name(dtype)) + std::to_string(shape.rank()) +
                                           std::to_string(count) + ".npy");
        const Samples samples = written_samples({dtype, shape}, count);
        const Status status = write_samples("npy", path, Schema::of({"x"}, {{dtype, shape}}), samples);
        ASSERT_TRUE(status.ok()) << status.text();
        const auto back = read_samples(path);
        ASSERT_TRUE(back.ok()) << back.status().text();
        EXPECT_EQ(back->schema, Schema::of({"array"}, {{dtype, shape}}));
        EXPECT_EQ(difference(samples, back->samples), "");
      }
  }
}

TEST(NpyWriter, WhatItHasNoPlaceForIsRefused) {
  const TemporaryFolder folder;
  const auto said = [&](const Schema& schema) {
    return std::string(write_samples("npy", folder / "x.npy", schema, {}).text());
  };
  EXPECT_THAT(said(Schema::of({"a", "b"}, {{}, {}})),
              HasSubstr("npy: expected one field, got a: uint8 (), b: uint8 ()"));
  EXPECT_THAT(said(Schema::of({"a"}, {{DType::bytes, {kAny}}})), HasSubstr("expected arrays of one shape"));
  EXPECT_THAT(said(Schema::of({"a"}, {{DType::bf16, {}}})), HasSubstr("npy cannot store bfloat16; cast it"));
  const Schema open = Schema::of({"a"}, {{DType::f32, {kAny}}});
  const auto run = [](int64_t length) { return std::vector{element(DType::f32, {length}, 1)}; };
  EXPECT_THAT(write_samples("npy", folder / "b.npy", open, {run(2), run(2), run(3)}).text(),
              HasSubstr("field 'a': expected arrays of one shape, (2), got (3)"));
  EXPECT_THAT(write_samples("npy", folder / "c.npy", open, {run(0)}).text(),
              HasSubstr("at least one number"));
  EXPECT_TRUE(write_samples("npy", folder / "d.npy", open, {run(2), run(2)}).ok());
  EXPECT_EQ(read_samples(folder / "d.npy")->schema.text(), "array: float32 (2)");
  EXPECT_TRUE(write_samples("npy", folder / "e.npy", open, {}).ok());
  EXPECT_EQ(read_samples(folder / "e.npy")->samples.size(), 0u);
}

}  // namespace

namespace trial {
namespace {

// Two files, with `rows` of f32 (`numbers`) whose bytes are all different.
SourceCase npy_rows(size_t rows, size_t numbers) {
  SourceCase out;
  const size_t row = 4 * numbers, first = rows / 3;
  std::string data;
  for (size_t i = 0; i < rows * row; ++i) data += static_cast<char>(i * 7 % 253);
  const auto shape = [&](size_t count) {
    return "(" + std::to_string(count) + ", " + std::to_string(numbers) + ")";
  };
  out.files = {{"d/a.npy", npy_file("'<f4'", "False", shape(first), data.substr(0, row * first))},
               {"d/b.npy", npy_file("'<f4'", "False", shape(rows - first), data.substr(row * first))}};
  for (size_t i = 0; i < rows; ++i)
    out.samples.push_back(field_text(DType::f32, {static_cast<int64_t>(numbers)}, data.substr(row * i, row)));
  out.open = by_registered_format("npy");
  return out;
}
SourceCase few_npy_rows() { return npy_rows(9, 5); }
SourceCase wide_npy_rows() { return npy_rows(3, 1025); }  // not kept in memory

SourceCase npy_kept() {
  SourceCase out;
  out.files = {{"d/a.npy", npy_file("'>u2'", "True", "(3, 2)", "aAcCeEbBdDfF")}};
  for (const char* row : {"AaBb", "CcDd", "EeFf"}) out.samples.push_back(field_text(DType::u16, {2}, row));
  out.open = by_registered_format("npy");
  return out;
}
INSTANTIATE_TEST_SUITE_P(Npy, SourceConformance, ::testing::Values(few_npy_rows, wide_npy_rows, npy_kept));

}  // namespace
}  // namespace trial
}  // namespace headrace
