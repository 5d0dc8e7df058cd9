#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "headrace/formats/lmdb/testing.h"
#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

const TensorSpec kBytes{DType::bytes, {kAny}}, kLabel{DType::i64, {}};

Tensor bytes(std::string_view text) { return text_tensor(text, DType::bytes); }
Tensor label(int64_t value) { return number(DType::i64, value); }

// Sizes around what fits into a leaf and a page.
std::string payload(size_t i) {
  constexpr size_t kSizes[] = {0, 1, 100, 2000, 2040, 2048, 4079, 4080, 4081, 30000};
  return std::string(kSizes[i % std::size(kSizes)], static_cast<char>('a' + i % 26));
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) out.push_back(std::filesystem::relative(entry.path(), folder).string());
  std::ranges::sort(out);
  return out;
}

TEST(LmdbWriter, BytesComeBackUnderTheirNumbers) {
  const TemporaryFolder folder;
  Samples samples, wanted;
  for (size_t i = 0; i < 300; ++i) {
    samples.push_back({bytes(payload(i))});
    const std::string digits = std::to_string(i);
    wanted.push_back({bytes(std::string(10 - digits.size(), '0') + digits), bytes(payload(i))});
  }
  const Status status = write_samples("lmdb", folder / "a.lmdb", Schema::of({"x"}, {kBytes}), samples);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(files_in(folder.path()), std::vector<std::string>{"a.lmdb/data.mdb"});
  const auto back = read_samples(folder / "a.lmdb");
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(difference(wanted, back->samples), "");
}

TEST(LmdbWriter, AFileByOptionAndNoLockBeside) {
  const TemporaryFolder folder;
  const Samples samples = {{bytes("v")}};
  const Status status = write_samples("lmdb", folder / "a.mdb", Schema::of({"x"}, {kBytes}), samples,
                                      find_writer("lmdb")->other_endings[0].second);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(files_in(folder.path()), std::vector<std::string>{"a.mdb"});
  const auto back = read_samples(folder / "a.mdb");
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(difference({{bytes("0000000000"), bytes("v")}}, back->samples), "");
}

TEST(LmdbWriter, SamplesAreInTheOrderOfTheirKeys) {
  const TemporaryFolder folder;
  Samples samples, wanted;
  for (size_t i = 0; i < 500; ++i)
    samples.push_back({text_tensor(std::to_string(i * 7919 % 500 + 100)), bytes(payload(i))});
  for (const auto& fields : samples) {
    const View key = fields[0].view();
    wanted.push_back({bytes({reinterpret_cast<const char*>(key.data), key.size_bytes()}), fields[1]});
  }
  std::ranges::sort(wanted, {}, [](const std::vector<Tensor>& fields) {
    return std::string(reinterpret_cast<const char*>(fields[0].view().data), 3);
  });
  const Schema schema = Schema::of({"key", "value"}, {{DType::str, {kAny}}, kBytes});
  const Status status = write_samples("lmdb", folder / "a", schema, samples);
  ASSERT_TRUE(status.ok()) << status.text();
  const auto back = read_samples(folder / "a");
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(difference(wanted, back->samples), "");
}

TEST(LmdbWriter, TheMapGrowsWithWhatIsWritten) {
  const TemporaryFolder folder;
  constexpr size_t kLarge = size_t{40} << 20;  // more than a transaction has
  const std::string large(kLarge, 'L');
  Samples samples;
  for (int i = 0; i < 6; ++i) samples.push_back({bytes(i % 2 == 0 ? large : "small")});
  for (int i = 0; i < 6000; ++i) samples.push_back({bytes("x")});  // more records than one has pages for
  const Status status = write_samples("lmdb", folder / "a", Schema::of({"x"}, {kBytes}), samples);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_LT(std::filesystem::file_size(folder / "a/data.mdb"), 3 * kLarge + (size_t{2} << 20));
  const auto store = file_store();
  const auto source = open_source(*store, folder / "a");
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), samples.size());
  for (const uint64_t i : {0, 1, 4, 5, 6, 6005}) {
    const auto fields = read_sample(**source, i, *store);
    ASSERT_TRUE(fields.ok()) << fields.status().text();
    EXPECT_EQ(difference(samples[i][0], (*fields)[1]), "") << i;
  }
}

TEST(LmdbWriter, EncodedImagesAreDatums) {
  const TemporaryFolder folder;
  Samples samples, pairs;
  for (int64_t i = 1; i < 12; ++i)
    samples.push_back({bytes(payload(static_cast<size_t>(i)) + "!"), label(i - 5)});
  const Schema schema = Schema::of({"image", "label"}, {kBytes, kLabel});
  const Status status = write_samples("lmdb", folder / "a", schema, samples);
  ASSERT_TRUE(status.ok()) << status.text();
  const auto back = read_samples(folder / "a", "lmdb", options_of({{"values", "datum"}}));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->schema, schema);
  EXPECT_EQ(difference(samples, back->samples), "");
  const auto raw = read_samples(folder / "a");
  ASSERT_TRUE(raw.ok()) << raw.status().text();
  const std::string first = datum_bytes(0, 0, 0, payload(1) + "!", -4, true);
  EXPECT_EQ(difference(bytes(first), raw->samples[0][1]), "");
}

TEST(LmdbWriter, PixelsArePlanesInBgr) {
  for (const int64_t channels : {1, 3}) {
    const TemporaryFolder folder;
    Samples samples;
    for (int64_t i = 1; i < 5; ++i) {
      std::vector<uint8_t> pixels(static_cast<size_t>(i * 7 * channels));
      for (size_t p = 0; p < pixels.size(); ++p)
        pixels[p] = static_cast<uint8_t>(p * 11 + static_cast<size_t>(i));
      samples.push_back({numbers(DType::u8, {i, 7, channels}, pixels), label(i)});
    }
    const Schema schema = Schema::of({"image", "label"}, {{DType::u8, {kAny, kAny, channels}}, kLabel});
    const Status status = write_samples("lmdb", folder / "a", schema, samples);
    ASSERT_TRUE(status.ok()) << status.text();
    const auto back = read_samples(folder / "a", "lmdb", options_of({{"values", "datum"}}));
    ASSERT_TRUE(back.ok()) << back.status().text();
    EXPECT_EQ(back->schema, schema);
    EXPECT_EQ(difference(samples, back->samples), "");
  }
}

TEST(LmdbWriter, WhatDoesNotGoInIsNoPartOfTheFile) {
  const TemporaryFolder folder;
  WriteRequest request;
  request.options = Value(Value::Object()), request.path = folder / "a";
  request.schema = Schema::of({"key", "image", "label"}, {kBytes, kBytes, kLabel});
  const auto writer = find_writer("lmdb")->make(request);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  const auto add = [&](std::string_view key, std::string_view image, int64_t value) {
    return std::string((*writer)->add({bytes(key), bytes(image), label(value)}).text());
  };
  EXPECT_EQ(add("b", "image", 1), "");
  EXPECT_THAT(add("b", "other", 2), HasSubstr("field 'key': expected each key once, got one again: 'b'"));
  EXPECT_THAT(add("", "other", 2), HasSubstr("a key of 1 to 511 bytes, got 0"));
  EXPECT_THAT(add(std::string(512, 'k'), "other", 2), HasSubstr("a key of 1 to 511 bytes, got 512"));
  EXPECT_THAT(add("c", "", 2), HasSubstr("field 'image': expected an image for a Datum, got an empty one"));
  EXPECT_THAT(add("c", "other", int64_t{1} << 31),
              HasSubstr("field 'label': expected a label of 32 bits for a Datum, got 2147483648"));
  EXPECT_EQ(add(std::string(511, 'a'), "image", -1), "");
  ASSERT_TRUE((*writer)->finish().ok());
  const auto back = read_samples(folder / "a", "lmdb", options_of({{"values", "datum"}}));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(difference({{bytes("image"), label(-1)}, {bytes("image"), label(1)}}, back->samples), "");
}

TEST(LmdbWriter, ImagesOfAFileHaveTheSameChannels) {
  const TemporaryFolder folder;
  WriteRequest request;
  request.options = Value(Value::Object()), request.path = folder / "a";
  request.schema = Schema::of({"image", "label"}, {{DType::u8, {kAny, kAny, kAny}}, kLabel});
  const auto writer = find_writer("lmdb")->make(request);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  const auto add = [&](int64_t channels) {
    const std::vector<uint8_t> pixels(static_cast<size_t>(6 * channels), 7);
    return std::string((*writer)->add({numbers(DType::u8, {2, 3, channels}, pixels), label(1)}).text());
  };
  EXPECT_THAT(add(4), HasSubstr("field 'image': expected 1 or 3 channels for a Datum, got 4"));
  EXPECT_EQ(add(3), "");
  EXPECT_THAT(add(1), HasSubstr("field 'image': expected 3 channels as in the first image, got 1"));
  EXPECT_EQ(add(3), "");
  ASSERT_TRUE((*writer)->finish().ok());
  const auto back = read_samples(folder / "a", "lmdb", options_of({{"values", "datum"}}));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->samples.size(), 2u);
}

std::string schema_error(std::vector<std::string> names, std::vector<TensorSpec> specs,
                         const Value& options = Value(Value::Object())) {
  const TemporaryFolder folder;
  const Schema schema = Schema::of(std::move(names), std::move(specs));
  return std::string(write_samples("lmdb", folder / "a", schema, {}, options).text());
}

TEST(LmdbWriter, WhatHasNoPlaceIsNamed) {
  EXPECT_EQ(schema_error({"a"}, {kBytes}), "");
  EXPECT_EQ(
      schema_error({"path", "a", "y"}, {{DType::str, {kAny}}, kBytes, kLabel}, options_of({{"key", "path"}})),
      "");
  EXPECT_THAT(schema_error({"a", "b"}, {kBytes, kBytes}), HasSubstr("cannot store both 'a' and 'b'"));
  EXPECT_THAT(schema_error({"a", "b"}, {kBytes, {DType::f32, {}}}), HasSubstr("cannot store 'b'"));
  EXPECT_THAT(schema_error({"a"}, {kLabel}), HasSubstr("none of these is an image or bytes (a: int64 ())"));
  EXPECT_THAT(schema_error({"a"}, {{DType::u8, {4, 4, 3}}}), HasSubstr("an image of pixels needs a label"));
  EXPECT_THAT(schema_error({"a", "b"}, {kBytes, kLabel}, options_of({{"key", "z"}})),
              HasSubstr("key must be one of the fields"));
  EXPECT_THAT(schema_error({"a", "b"}, {kBytes, kLabel}, options_of({{"key", "b"}})),
              HasSubstr("'b' cannot be the key"));
}

TEST(LmdbWriter, NothingThatIsThereIsTouched) {
  const TemporaryFolder folder;
  folder.write("file", "x");
  folder.write("folder/data.mdb", "x");
  const Schema schema = Schema::of({"x"}, {kBytes});
  EXPECT_THAT(
      std::string(write_samples("lmdb", folder / "file", schema, {}, options_of({{"folder", false}})).text()),
      HasSubstr("File exists"));
  EXPECT_THAT(std::string(write_samples("lmdb", folder / "folder", schema, {}).text()),
              HasSubstr("File exists"));
}

}  // namespace
}  // namespace headrace
