// No writer takes strings that are not UTF-8: other readers would refuse the file, or show other characters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "headrace/formats/columns.h"
#include "headrace/formats/dataset/dataset_writer.h"
#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

TEST(WrittenStrings, AreUtf8InEveryFormat) {
  ASSERT_GE(writers().size(), 12u);
  for (const auto& [name, info] : writers()) {
    const TemporaryFolder folder;
    const std::string target = folder / ("a" + info.ending);
    WriterRequest request;
    request.schema = Schema::of({"image", "s"}, {{DType::bytes, {kAny}}, {DType::str, {kAny}}});
    request.options.format = name;
    {
      const auto writer = DatasetWriter::make(target, request);
      ASSERT_TRUE(writer.ok()) << writer.status().text();
      const Status status = (*writer)->add({text_tensor("\xE4", DType::bytes), text_tensor("tea\xE9")});
      EXPECT_EQ(status.code(), Code::corrupt) << name;
      EXPECT_THAT(std::string(status.text()),
                  HasSubstr("write: sample 0: field 's': expected UTF-8, got byte 0xe9 at position 3"));
      EXPECT_TRUE((*writer)->discard().ok());
    }
    EXPECT_FALSE(std::filesystem::exists(target)) << name;
  }
}

TEST(WrittenStrings, OfAListAreUtf8EachByItself) {
  const TemporaryFolder folder;
  WriterRequest request;
  request.schema = schema_of({"x/values", "x/lengths"}, {{DType::str, {kAny}}, {DType::i64, {kAny}}});
  const auto writer = DatasetWriter::make(folder / "a.arrow", request);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  EXPECT_TRUE((*writer)->add({text_tensor("äö"), numbers<int64_t>(DType::i64, {2}, {2, 2})}).ok());
  const Status status = (*writer)->add({text_tensor("ä"), numbers<int64_t>(DType::i64, {2}, {1, 1})});
  EXPECT_THAT(std::string(status.text()), HasSubstr("write: sample 1: field 'x', string 0: expected UTF-8"));
}

}  // namespace
}  // namespace headrace
