#include "headrace/core/text/base64.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Base64, ThereAndBack) {
  const std::pair<std::string, std::string> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"xy", "eHk="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {std::string("\0\xfb\xff", 3), "APv/"},
                                                       {"\xfb\xef\xbe", "++++"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(in_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes) << text;
  }
}

TEST(Base64, EqualitySignsMayBeMissingAndOtherLettersAreNothing) {
  EXPECT_EQ(from_base64("Zg"), "f");
  EXPECT_EQ(from_base64("eHk"), "xy");
  for (const char* text : {"Zg==Zg==", "Z g", "Zm9-", "\xc3\xa4"}) EXPECT_EQ(from_base64(text), std::nullopt);
}

}  // namespace
}  // namespace headrace
