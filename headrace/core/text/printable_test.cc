#include <gtest/gtest.h>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b]0;OWNED\x07"), "\\x1b]0;OWNED\\x07");
  EXPECT_EQ(printable("bad\nX: y\r.jpg\t"), "bad\\nX: y\\r.jpg\\t");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a\\x9b31m");  // C1, in UTF-8
  EXPECT_EQ(printable("a\x9b"
                      "31m"),
            "a\\x9b31m");  // and as one byte
  EXPECT_EQ(printable("\xe2\x80\xaegpj.exe"), "\\u202egpj.exe");
  EXPECT_EQ(printable("\xe2\x80\xa8\xe2\x81\xa6\xd8\x9c"), "\\u2028\\u2066\\u061c");
  EXPECT_EQ(in_quotes("a\nb"), "'a\\nb'");
}

TEST(Printable, KeepsWhatPeopleWrite) {
  const std::string text = "na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\x88 \\x1b 'x' \xff";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable_lines("a\n\tb\r\x1b"), "a\n\tb\\r\\x1b");
  EXPECT_EQ(printable(""), "");
}

}  // namespace
}  // namespace headrace
