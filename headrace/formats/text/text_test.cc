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
using ::testing::IsEmpty;

Value option(std::string_view name, Value value) {
  Value out;
  out.set(name, std::move(value));
  return out;
}

std::vector<std::string> lines_of(Store& store, const std::string& path, const Value& options = {}) {
  const auto source = open_source(store, path, "text", options);
  if (!source.ok()) return {std::string(source.status().text())};
  std::vector<std::string> out;
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const auto fields = read_sample(**source, i, store);
    if (!fields.ok()) {
      out.emplace_back(fields.status().text());
      continue;
    }
    const auto bytes = (*fields)[0].view().bytes();
    out.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& text, const Value& options = {}) {
  MemoryStore store;
  store.add("x", text);
  return lines_of(store, "x", options);
}

TEST(Text, LinesEndWithANewLineOrTheFile) {
  EXPECT_THAT(lines_of(""), IsEmpty());
  EXPECT_THAT(lines_of("one"), ElementsAre("one"));
  EXPECT_THAT(lines_of("one\n"), ElementsAre("one"));
  EXPECT_THAT(lines_of("one\n\ntwo\r\nth\rree"), ElementsAre("one", "", "two", "th\rree"));
  EXPECT_THAT(lines_of("\n\n"), ElementsAre("", ""));
}

TEST(Text, LinesOfEverySizeCrossTheWindows) {
  std::vector<std::string> lines;
  std::string text;
  for (const size_t size : {0, 1, 100, (1 << 20) - 1, 1 << 20, 3 << 20, 5, 0, 7})
    lines.push_back(std::string(size, 'x')), text += lines.back() + "\n";
  EXPECT_EQ(lines_of(text), lines);
  EXPECT_EQ(lines_of(deflated(text, Wrap::gzip)), lines);
  EXPECT_EQ(lines_of(deflated(text, Wrap::zlib), option("compression", "zlib")), lines);
}

TEST(Text, AHeaderIsLeftOutOfEveryFile) {
  MemoryStore store;
  store.add("d/a.txt", "# a\n1\n2\n");
  store.add("d/b.txt", "# b");
  store.add("d/c.txt", "# c\n3");
  EXPECT_THAT(lines_of(store, "d", option("header", 1)), ElementsAre("1", "2", "3"));
  const auto source = open_source(store, "d/?.txt", "text", option("header", 1));
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->where(2).text(), "d/c.txt, line 2 at byte 4");
}

TEST(Text, AByteOrderMarkIsNoPartOfAText) {
  EXPECT_THAT(lines_of("\xEF\xBB\xBFone\ntwo"), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of("\xEF\xBB\xBF\ntwo"), ElementsAre("", "two"));
  EXPECT_THAT(lines_of("\xEF\xBB\xBF"), IsEmpty());
  EXPECT_THAT(lines_of("\xEF\xBB\xBFone\ntwo", option("header", 1)), ElementsAre("two"));
  EXPECT_THAT(lines_of("\xEF\xBB\xBFone", option("encoding", "bytes")), ElementsAre("\xEF\xBB\xBFone"));
}

TEST(Text, WhatIsNoUtf8CostsItsLineAndIsBytes) {
  const std::string text = "good\nb\xE4 d\nfine\n";
  EXPECT_THAT(
      lines_of(text),
      ElementsAre("good",
                  "field 'line': expected UTF-8, got byte 0xe4 at position 1 of 'b\\xe4 d'; "
                  "encoding=\"bytes\" reads any bytes; encoding=\"latin-1\" converts: x, line 2 at byte 5",
                  "fine"));
  EXPECT_THAT(lines_of(text, option("encoding", "bytes")), ElementsAre("good", "b\xE4 d", "fine"));
  EXPECT_THAT(lines_of(text, option("encoding", "latin-1")), ElementsAre("good", "bä d", "fine"));
}

TEST(Text, AFileThatWasWrittenAnewMeanwhileIsNoText) {
  MemoryStore store;
  store.add("x", "100000\n100001\n100002\n");
  const auto source = open_source(store, "x", "text");
  ASSERT_TRUE(source.ok());
  store.add("x", "2000000\n2000001\n2000002\n");
  const auto second = read_sample(**source, 1, store);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().text()), HasSubstr("the file has changed since it was indexed"));
}

TEST(Text, IsOnlyReadWhenNamedAndTheErrorSaysSo) {
  MemoryStore store;
  store.add("x.txt", "one line\n");
  store.add("y.txt.gz", deflated("one line\n", Wrap::gzip));
  for (const char* path : {"x.txt", "y.txt.gz"}) {
    const auto source = open_source(store, path);
    ASSERT_FALSE(source.ok());
    EXPECT_THAT(std::string(source.status().text()),
                HasSubstr("format=\"text\", or read_text(), reads its lines"));
  }
}

TEST(Text, ALineThatIsTooLongCostsItselfOnly) {
  const std::string text = "a\n" + std::string((64 << 20) + 1, 'x') + "\nb\n";
  for (const std::string& bytes : {text, deflated(text, Wrap::gzip)})
    EXPECT_THAT(
        lines_of(bytes),
        ElementsAre("a", HasSubstr("expected lines of at most 64 MiB, got one of 67108866 bytes"), "b"));
}

TEST(Text, WhatIsCutOfADeflatedFileIsOneSampleThatIsLost) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919 % 5003) + "\n";
  std::string packed = deflated(text, Wrap::gzip);
  packed.resize(packed.size() / 2);
  const std::vector<std::string> lines = lines_of(packed);
  ASSERT_GT(lines.size(), 100u);
  EXPECT_EQ(lines[1], "2916");
  EXPECT_THAT(lines.back(), ::testing::HasSubstr("x, record "));
}

TEST(Text, OptionsSayWhatTheyWant) {
  EXPECT_THAT(
      lines_of("x", option("encoding", "koi8-r")),
      ElementsAre("text: 'x': encoding must be \"utf-8\", \"latin-1\" or \"bytes\", got 'koi8-r'; for "
                  "another encoding, read \"bytes\" and decode them in Python"));
  EXPECT_THAT(lines_of("x", option("header", -1)),
              ElementsAre("text: 'x': header must be 0 or more lines, got -1"));
  EXPECT_THAT(lines_of("x", option("compression", "xz")),
              ElementsAre("text: 'x': compression: expected none, gzip, zlib or zstd, got 'xz'"));
}

}  // namespace

namespace trial {
namespace {

SourceCase text_files() {
  SourceCase out;
  out.files = {{"d/a.txt", "one\n\nth\xC3\xA9 third\r\n" + std::string(300, 'x') + "\n"},
               {"d/b.txt", "fifth\nlast"}};
  for (const std::string& line :
       std::vector<std::string>{"one", "", "th\xC3\xA9 third", std::string(300, 'x'), "fifth", "last"})
    out.samples.push_back(field_text(DType::str, {static_cast<int64_t>(line.size())}, line));
  out.open = by_registered_format("text");
  out.cut = Cut::is_not_seen;  // a line that is cut is a shorter line
  return out;
}
INSTANTIATE_TEST_SUITE_P(Text, SourceConformance, ::testing::Values(text_files));

SourceCase deflated_text_files() {
  SourceCase out = text_files();
  for (auto& file : out.files) file.second = deflated(file.second, Wrap::gzip);
  return out;
}
INSTANTIATE_TEST_SUITE_P(DeflatedText, SourceConformance, ::testing::Values(deflated_text_files));

}  // namespace
}  // namespace trial
}  // namespace headrace
