#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "headrace/formats/recordio/testing.h"
#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

const TensorSpec kBytes{DType::bytes, {kAny}};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Schema image_and(TensorSpec label) { return Schema::of({"image", "label"}, {kBytes, std::move(label)}); }
Tensor bytes(std::string_view text) { return text_tensor(text, DType::bytes); }

std::string magic() { return word_bytes(kRecordioMagic); }

// Magic words at the start, in the middle, one after the other, at the end, and where they cut nothing.
std::vector<std::string> payloads() {
  return {"",
          "a",
          std::string(7, 'x'),
          magic(),
          magic() + magic(),
          "four" + magic() + "four" + magic() + magic() + "rest.",
          "odd" + magic() + "x",
          std::string(4096, 'y') + magic() + std::string(1021, 'z'),
          std::string(300, 'w') + magic()};
}

TEST(RecordioWriter, RecordsAreThoseOfDmlc) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.rec";
  Samples samples;
  for (const std::string& payload : payloads()) samples.push_back({bytes(payload)});
  const Status status = write_samples("recordio", path, Schema::of({"x"}, {kBytes}), samples);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(contents(path), recordio_file(payloads()));
  const auto back = read_samples(path, "recordio", options_of({{"header", false}}));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(difference(samples, back->samples), "");
}

TEST(RecordioWriter, TheIdxIsThatOfMxnet) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.rec";
  Samples samples;
  std::string wanted;
  for (int i = 0; i < 5; ++i)
    samples.push_back({bytes(payloads()[static_cast<size_t>(i)]), number(DType::i64, int64_t{i})});
  ASSERT_TRUE(write_samples("recordio", path, image_and({DType::i64, {}}), samples).ok());
  uint64_t offset = 0;
  for (size_t i = 0; i < 5; ++i) {
    wanted += std::to_string(i) + "\t" + std::to_string(offset) + "\n";
    offset += recordio_record(image_record({static_cast<float>(i)}, false, i, payloads()[i])).size();
  }
  EXPECT_EQ(contents(path + ".idx"), wanted);
  EXPECT_EQ(find_writer("recordio")->beside, std::vector<std::string>{".idx"});
  std::filesystem::rename(path + ".idx", folder / "a.idx");
  const auto back = read_samples(path);
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->samples.size(), 5u);
}

TEST(RecordioWriter, LabelsAndIdsComeBack) {
  const TemporaryFolder folder;
  Samples one, row, runs;
  for (int64_t i = 0; i < 6; ++i) {
    const auto x = static_cast<float>(i) / 4 - 1;
    const Tensor image = bytes(payloads()[static_cast<size_t>(i)]), id = number(DType::i64, 100 - 7 * i);
    one.push_back({image, number(DType::f32, x), id});
    row.push_back({image, numbers<float>(DType::f32, {3}, {x, 1, -2}), id});
    runs.push_back({image, numbers<float>(DType::f32, {i + 1}, std::vector<float>(i + 1, x)), id});
  }
  const auto back = [&](const Samples& samples, const Shape& label, const char* name) {
    const Schema schema =
        Schema::of({"image", "label", "id"}, {kBytes, {DType::f32, label}, {DType::i64, {}}});
    const Status status = write_samples("recordio", folder / name, schema, samples);
    EXPECT_TRUE(status.ok()) << status.text();
    const auto out = read_samples(folder / name, "",
                                  options_of({{"label_width", label == Shape{3} ? Value(3) : Value()}}));
    EXPECT_TRUE(out.ok()) << out.status().text();
    EXPECT_EQ(out->schema, schema);
    return difference(samples, out->samples);
  };
  EXPECT_EQ(back(one, {}, "one.rec"), "");
  EXPECT_EQ(back(row, {3}, "row.rec"), "");
  EXPECT_EQ(back(runs, {kAny}, "runs.rec"), "");
}

TEST(RecordioWriter, AMagicWordInTheLabelsIsCutToo) {
  const TemporaryFolder folder;
  float label;
  std::memcpy(&label, &kRecordioMagic, sizeof label);
  const Samples samples = {{bytes("x" + magic()), number(DType::f32, label)}};
  ASSERT_TRUE(write_samples("recordio", folder / "a.rec", image_and({DType::f32, {}}), samples).ok());
  EXPECT_EQ(contents(folder / "a.rec"), recordio_record(image_record({label}, false, 0, "x" + magic())));
}

template <class T> std::string label_error(DType dtype, std::vector<T> values) {
  const TemporaryFolder folder;
  const Samples samples = {{bytes("x"), numbers(dtype, {static_cast<int64_t>(values.size())}, values)}};
  return std::string(write_samples("recordio", folder / "a.rec", image_and({dtype, {kAny}}), samples).text());
}

TEST(RecordioWriter, ALabelThatWouldChangeIsRefused) {
  EXPECT_EQ(label_error<int64_t>(DType::i64, {1 << 24, -(1 << 24)}), "");
  EXPECT_THAT(label_error<int64_t>(DType::i64, {(1 << 24) + 1}),
              HasSubstr("field 'label': recordio stores labels as float32, which is exact for integers up to "
                        "2^24; got 16777217"));
  EXPECT_THAT(label_error<uint64_t>(DType::u64, {~uint64_t{0}}), HasSubstr("got 18446744073709551615"));
  EXPECT_EQ(label_error<double>(DType::f64, {0.5, 3}), "");
  EXPECT_THAT(label_error<double>(DType::f64, {0.1}), HasSubstr("cast the field"));
  EXPECT_THAT(label_error<float>(DType::f32, {}), HasSubstr("expected at least one label, got none"));
}

TEST(RecordioWriter, WhatDoesNotGoInIsNoPartOfTheFile) {
  const TemporaryFolder folder;
  WriteRequest request;
  request.options = Value(Value::Object()), request.path = folder / "a.rec";
  request.schema = image_and({DType::i64, {}});
  const auto writer = find_writer("recordio")->make(request);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  EXPECT_TRUE((*writer)->add({bytes("a"), number(DType::i64, int64_t{1})}).ok());
  EXPECT_FALSE((*writer)->add({bytes("b"), number(DType::i64, int64_t{1} << 40)}).ok());
  EXPECT_TRUE((*writer)->add({bytes("c"), number(DType::i64, int64_t{3})}).ok());
  ASSERT_TRUE((*writer)->finish().ok());
  EXPECT_EQ(contents(folder / "a.rec"),
            recordio_file({image_record({1}, false, 0, "a"), image_record({3}, false, 1, "c")}));
}

std::string schema_error(std::vector<std::string> names, std::vector<TensorSpec> specs,
                         const Value& options = Value(Value::Object())) {
  const TemporaryFolder folder;
  const Schema schema = Schema::of(std::move(names), std::move(specs));
  return std::string(write_samples("recordio", folder / "a.rec", schema, {}, options).text());
}

TEST(RecordioWriter, RolesAreFoundOrNamed) {
  const TensorSpec number{DType::i32, {}};
  EXPECT_EQ(schema_error({"jpg", "cls"}, {kBytes, number}), "");
  EXPECT_EQ(schema_error({"a", "label", "id"}, {kBytes, number, {DType::i64, {}}}), "");
  EXPECT_THAT(schema_error({"a", "b", "c"}, {kBytes, kBytes, number}), HasSubstr("with payload="));
  EXPECT_THAT(schema_error({"a", "b", "c"}, {kBytes, number, number}), HasSubstr("with label="));
  EXPECT_THAT(
      schema_error({"a", "b", "c"}, {kBytes, number, number}, options_of({{"label", "c"}})),
      HasSubstr("this format cannot store 'b'; leave it out, for example with headrace convert --fields (a: "
                "bytes, b: int32 (), c: int32 ())"));
  EXPECT_THAT(schema_error({"a", "b"}, {kBytes, number}, options_of({{"label", "z"}})),
              HasSubstr("label must be one of the fields a: bytes, b: int32 (), got 'z'"));
  EXPECT_THAT(schema_error({"a", "label"}, {kBytes, {DType::f32, {2, 2}}}),
              HasSubstr("'label' cannot be the label"));
  EXPECT_THAT(schema_error({"image"}, {{DType::u8, {kAny, kAny, 3}}}),
              HasSubstr("recordio: expected one bytes field"));
}

}  // namespace
}  // namespace headrace
