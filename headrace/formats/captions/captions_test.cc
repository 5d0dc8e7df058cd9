#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/captions/lines.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "a.jpg: one|two" of each image.
std::vector<std::string> said(std::string_view text) {
  const auto captions = parse_captions(text);
  if (!captions.ok()) return {std::string(captions.status().text())};
  std::vector<std::string> out;
  for (size_t i = 0; i < captions->images.size(); ++i) {
    std::string line = std::string(captions->images[i]) + ":";
    for (uint64_t j = captions->first[i]; j < captions->first[i + 1]; ++j)
      line += (j == captions->first[i] ? " " : "|") + std::string(captions->texts[j]);
    out.push_back(line);
  }
  return out;
}

TEST(Captions, ComeInThreeForms) {
  EXPECT_THAT(said("b.jpg#0\tA dog .\r\na.jpg#0\tOne\n\nb.jpg#1\t Two # three\t four"),
              ElementsAre("b.jpg: A dog .|Two # three\t four", "a.jpg: One"));
  EXPECT_THAT(said("image_name| comment_number| comment\na.jpg| 0| Two | young\na.jpg| 4   A dog runs .\n"),
              ElementsAre("a.jpg: Two | young|A dog runs ."));
  EXPECT_THAT(said("image,caption\na.jpg,A girl , a dog\nb.jpg,\"A \"\"big\"\" dog, here \"\n"),
              ElementsAre("a.jpg: A girl , a dog", "b.jpg: A \"big\" dog, here"));
}

TEST(Captions, WhatIsNoneIsNamed) {
  EXPECT_THAT(said("plain text")[0], HasSubstr("expected lines \"x.jpg#0\", a tab and a caption"));
  EXPECT_EQ(said("a.jpg#0\tx\nb.jpg 1 y")[0],
            "line 2: expected name#number, a tab and a caption, got 'b.jpg 1 y'");
  EXPECT_THAT(said("image,caption\na.jpg,\"x\" y\"")[0], HasSubstr("line 2: expected name,caption"));
  EXPECT_THAT(said("image,caption\n\t,x")[0], HasSubstr("line 2: expected name,caption"));
  EXPECT_THAT(said(std::string_view("a.jpg#0\tx\0", 10))[0], HasSubstr("line 1: expected"));
}

TEST(Captions, OfAFolderThatHasAListAndItsImages) {
  MemoryStore store;
  store.add("f/captions.txt", "image,caption\nb.jpg,one\na.jpg,two\n");
  store.add("f/Images/a.jpg", "A"), store.add("f/Images/b.jpg", "B");
  const auto source = open_source(store, "f", "", *Value::parse(R"({"each": "caption"})"));
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "image: bytes, caption: str");
  EXPECT_EQ((*source)->size(), 2u);
  store.add("f/dogs/c.jpg", "C");  // folders of classes, next to a text file
  EXPECT_EQ((*open_source(store, "f"))->schema().text(), "image: bytes, label: int64 ()");
  EXPECT_THAT(std::string(open_source(store, "f", "captions").status().text()),
              HasSubstr("expected a list of captions, such as captions.txt, or a folder with one"));
}

TEST(Captions, BelongToImagesBesideThem) {
  MemoryStore store;
  store.add("f/text/tokens.txt", "b.jpg#0\tone\na.jpg#0\ttwo\nb.jpg#1\tthree\n../c.jpg#0\tfour\n");
  store.add("f/text/train.txt", "b.jpg\r\nx.jpg");
  store.add("f/Flicker8k_Dataset/a.jpg", "A"), store.add("f/Flicker8k_Dataset/b.jpg", "B");
  const auto source = open_source(store, "f/text/tokens.txt");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "image: bytes, captions/values: str, captions/lengths: int64 (?)");
  EXPECT_EQ((*source)->size(), 3u);
  const auto sample = *read_sample(**source, 0, store);
  EXPECT_EQ(sample[1].size_bytes(), 8u);
  EXPECT_EQ(sample[2].view().as<int64_t>()[1], 5);
  EXPECT_THAT(std::string(read_sample(**source, 2, store).status().text()),
              HasSubstr("expected a name below the images' folder, got '../c.jpg'"));
  const auto each = open_source(store, "f/text/tokens.txt", "captions",
                                *Value::parse(R"({"each": "caption", "split": "train.txt"})"));
  ASSERT_TRUE(each.ok()) << each.status().text();
  EXPECT_EQ((*each)->size(), 2u);
  EXPECT_EQ((*read_sample(**each, 1, store))[1].size_bytes(), 5u);
  EXPECT_EQ((*each)->metadata().dump(), R"({"images":"f/Flicker8k_Dataset","missing_of_split":1})");
  EXPECT_EQ((*each)->where(1).text(), "f/Flicker8k_Dataset/b.jpg of f/text/tokens.txt");
}

}  // namespace
}  // namespace headrace
