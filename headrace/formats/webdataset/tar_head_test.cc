#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/core/text/text.h"
#include "headrace/formats/webdataset/sample_name.h"
#include "headrace/formats/webdataset/testing.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// The first member of `tar`, whose bytes are all there; the name is copied.
struct Seen {
  std::string error, name;
  TarHead head;
};
Seen seen(const std::string& tar) {
  std::string joined;
  const auto head = read_tar_head(std::as_bytes(std::span(tar)), tar.size(), joined);
  if (!head.ok()) return {std::string(head.status().text()), "", {}};
  return {std::string(head->cut.text()), std::string(head->name), *head};
}

TEST(TarHead, IsThatOfUstar) {
  const Seen one = seen(tar_member("x.cls", "7") + tar_end());
  EXPECT_EQ(one.error, "");
  EXPECT_EQ(one.name, "x.cls");
  EXPECT_TRUE(one.head.is_file);
  EXPECT_EQ(one.head.data, 512u);
  EXPECT_EQ(one.head.size, 1u);
  EXPECT_EQ(one.head.next(), 1024u);
  EXPECT_EQ(seen(tar_member("c.jpg", "", '0', "a/b")).name, "a/b/c.jpg");
  EXPECT_EQ(seen(tar_member(std::string(100, 'n'), "")).name, std::string(100, 'n'));
}

TEST(TarHead, GnusMagicHasNoPrefix) {
  std::string tar = tar_member("c.jpg", "", '0', "14573643331");
  tar.replace(257, 8, std::string_view("ustar  \0", 8));
  EXPECT_EQ(seen(with_checksum(tar)).name, "c.jpg");
}

TEST(TarHead, LongNamesAndSizesComeBeforeTheMember) {
  const std::string name = std::string(300, 'd') + "/x.jpg";
  for (const std::string& tar :
       {tar_member("././@LongLink", name + '\0', 'L') + tar_member("short.jpg", "data"),
        tar_member("././@LongLink", "target", 'K') + tar_member("././@LongLink", name + '\0', 'L') +
            tar_member("short.jpg", "data"),
        pax(pax_record("mtime", "1.5") + pax_record("path", name)) + tar_member("short.jpg", "data"),
        pax(pax_record("hdrcharset", "BINARY") + pax_record("path", name) + pax_record("size", "4")) +
            tar_header("short.jpg", 0) + padded("data"),
        pax(pax_record("comment", "of all"), 'g') + pax(pax_record("path", name)) +
            tar_member("short.jpg", "data")}) {
    const Seen one = seen(tar);
    EXPECT_EQ(one.error, "");
    EXPECT_EQ(one.name, name);
    EXPECT_EQ(tar.substr(one.head.data, one.head.size), "data");
    EXPECT_EQ(one.head.next(), tar.size());
  }
}

TEST(TarHead, SizesAboveEightGibibytesAreInBase256) {
  std::string tar = tar_header("x.bin", 0);
  tar.replace(124, 12, std::string_view("\x80\0\0\0\0\0\0\3\0\0\0\0", 12));
  tar = with_checksum(tar);
  std::string joined;
  const auto head = read_tar_head(std::as_bytes(std::span(tar)), uint64_t{1} << 40, joined);
  ASSERT_TRUE(head.ok()) << head.status().text();
  EXPECT_EQ(head->size, uint64_t{3} << 32);
  EXPECT_EQ(seen(tar).error, "expected a member of 12884901888 bytes, but only 0 are left");
  tar.replace(124, 12, std::string(12, '\xff'));
  EXPECT_THAT(seen(with_checksum(tar)).error,
              HasSubstr("expected a member's size in octal digits or base 256"));
  tar.replace(124, 12, '\x80' + std::string(11, '\xff'));
  EXPECT_THAT(seen(with_checksum(tar)).error,
              HasSubstr("expected a member's size in octal digits or base 256"));
}

TEST(TarHead, OldChecksumsSumSignedBytes) {
  std::string tar = tar_header("\xc3\xa4.jpg", 0);
  std::string checksum;
  int sum = 0;
  tar.replace(148, 8, "        ");
  for (const char c : tar) sum += static_cast<signed char>(c);
  char text[9];
  std::snprintf(text, sizeof text, "%06o", static_cast<unsigned>(sum));
  tar.replace(148, 7, text, 7);
  EXPECT_EQ(seen(tar).name, "\xc3\xa4.jpg");
}

TEST(TarHead, WhatIsNoFileHasNoDataOrIsPassedOver) {
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    const Seen one = seen(tar_header("x.jpg", 1000, type));  // a link's size is its target's
    EXPECT_EQ(one.error, "") << type;
    EXPECT_FALSE(one.head.is_file);
    EXPECT_EQ(one.head.is_link, type <= '2');
    EXPECT_EQ(one.head.next(), 512u);
  }
  EXPECT_FALSE(seen(tar_header("folder.d/", 0, '\0')).head.is_file);
  const Seen unknown = seen(tar_member("x.jpg", "dump", 'D'));
  EXPECT_FALSE(unknown.head.is_file);
  EXPECT_EQ(unknown.head.next(), 1024u);
}

TEST(TarHead, TheEndIsAZeroBlockOrTheEndOfTheFile) {
  EXPECT_TRUE(seen(tar_end()).head.is_end);
  EXPECT_TRUE(seen(tar_end()).head.is_closed);
  EXPECT_TRUE(seen("").head.is_end);
  EXPECT_TRUE(seen(std::string(512, '\0')).head.is_end);
  EXPECT_FALSE(seen(std::string(512, '\0')).head.is_closed);
  const std::string after_name = "expected a member after the header with its name or size, got the end";
  EXPECT_EQ(seen(pax(pax_record("path", "x"))).error, after_name);
  EXPECT_EQ(seen(tar_member("L", "x.jpg", 'L') + tar_end()).error, after_name);
  EXPECT_TRUE(seen(pax(pax_record("comment", "x"), 'g') + tar_end()).head.is_end);
}

TEST(TarHead, HostileHeadersAreRefused) {
  std::string flipped = tar_member("x.jpg", "");
  flipped[3] ^= 1;
  EXPECT_EQ(seen(flipped).error, "a header does not match its checksum");
  EXPECT_EQ(seen(tar_member("x.jpg", "").substr(0, 511)).error,
            "expected a header of 512 bytes, but only 511 bytes are left");
  EXPECT_EQ(seen(tar_header("x.jpg", 513) + std::string(512, 'x')).error,
            "expected a member of 513 bytes, but only 512 are left");
  EXPECT_EQ(seen(tar_header("p", 1 << 20, 'x') + std::string(512, 'x')).error,
            "expected a member of 1048576 bytes, but only 512 are left");
  EXPECT_THAT(seen(pax(pax_record("path", std::string(5000, 'n'))) + tar_member("x", "")).error,
              HasSubstr("expected a name of at most 4096 bytes, got 5000"));
  EXPECT_THAT(seen(pax(pax_record("path", std::string("a\0b", 3))) + tar_member("x", "")).error,
              HasSubstr("expected a name without NUL"));
  EXPECT_THAT(seen(pax(pax_record("path", "same"), 'g') + tar_member("x", "")).error,
              HasSubstr("gives one path to all members"));
  EXPECT_THAT(seen(pax(pax_record("GNU.sparse.major", "1")) + tar_member("x", "")).error,
              HasSubstr("sparse"));
  EXPECT_THAT(seen(tar_member("x.bin", "", 'S')).error, HasSubstr("sparse"));
  for (const char* size : {"-1", "1x", "9223372036854775808", "99999999999999999999999"})
    EXPECT_THAT(seen(pax(pax_record("size", size)) + tar_member("x", "")).error,
                HasSubstr("expected a PAX size in decimal digits"))
        << size;
}

TEST(TarHead, PaxRecordsThatLieAboutTheirLengthAreRefused) {
  for (const char* records :
       {"path=x.jpg\n", "30 path=x.jpg\n", "13 path=x.jpg\n", "2 path=x.jpg\n", "14 path x.jpg\n",
        "-4 path=x.jpg\n", "99999999999999999999999 path=x.jpg\n", "14", "0 "})
    EXPECT_THAT(seen(pax(records) + tar_member("x", "")).error, HasSubstr("expected a PAX record"))
        << records;
  EXPECT_EQ(seen(pax("14 path=x.jpg\n") + tar_member("x", "")).name, "x.jpg");
}

TEST(TarHead, EndlessHeadersAreRefusedBeforeTheyAreRead) {
  std::string joined;
  const std::string tar = tar_header("p", uint64_t{1} << 30, 'x');
  const auto head = read_tar_head(std::as_bytes(std::span(tar)), uint64_t{1} << 40, joined);
  EXPECT_THAT(std::string(head.status().text()), HasSubstr("expected headers of at most 1048576 bytes"));
}

TEST(TarHead, SaysHowManyBytesItNeeds) {
  const std::string tar =
      pax(pax_record("path", std::string(700, 'n'))) + tar_member("short", "some data") + tar_end();
  std::string joined;
  uint64_t given = 0;
  int steps = 0;
  while (true) {
    const auto bytes = std::as_bytes(std::span(tar)).first(given);
    const auto head = read_tar_head(bytes, tar.size(), joined);
    ASSERT_TRUE(head.ok()) << head.status().text();
    if (head->needed == 0) {
      EXPECT_EQ(head->name, std::string(700, 'n'));
      break;
    }
    ASSERT_GT(head->needed, given);
    given = head->needed;
    ASSERT_LT(++steps, 10);
  }
  EXPECT_EQ(given, 512u + 1024 + 512);
}

TEST(MemberName, SplitsAtTheFirstDotOfTheLastPart) {
  const auto text = [](std::string_view member) {
    const auto name = sample_name(member);
    return name ? std::string(name->key) + " | " + std::string(name->suffix) : "none";
  };
  EXPECT_EQ(text("x.jpg"), "x | jpg");
  EXPECT_EQ(text("a.b/c/x.seg.PNG"), "a.b/c/x | seg.PNG");
  EXPECT_EQ(text("./x.jpg"), "./x | jpg");
  EXPECT_EQ(text("__x.jpg"), "__x | jpg");
  EXPECT_EQ(text("a/__b__/x.jpg"), "a/__b__/x | jpg");
  for (const char* member :
       {"", "x", "x.", "a.b/x", "a.b/", ".hidden.jpg", "a/.hidden", "__about__.json__", "__about__/x.jpg"})
    EXPECT_EQ(text(member), "none") << member;
  EXPECT_TRUE(is_suffix("SEG.Png", "seg.png"));
  EXPECT_FALSE(is_suffix("seg.pn", "seg.png"));
  EXPECT_EQ(lower_case("SEG.Png\xc3\x84"), "seg.png\xc3\x84");
}

}  // namespace
}  // namespace headrace
