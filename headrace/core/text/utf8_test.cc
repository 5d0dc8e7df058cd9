#include "headrace/core/text/utf8.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Utf8, EndsBeforeTheFirstByteThatIsNoCharacter) {
  struct Case {
    std::string_view text;
    size_t good;
  };
  for (const auto& [text, good] : {
           Case{"", 0}, Case{"plain text that is longer than a word", 37},
           Case{"\xC3\xA4 and \xE2\x82\xAC and \xF0\x9F\x98\x80", 19}, Case{"ab\xFF", 2},
           Case{"eight by\x80", 8}, Case{"ab\xC3", 2},  // cut
           Case{"ab\xE2\x82", 2},                       // cut
           Case{"\xC0\xAF", 0},                         // overlong
           Case{"\xE0\x80\xAF", 0},                     // overlong
           Case{"\xF0\x80\x80\xAF", 0},                 // overlong
           Case{"a\xED\xA0\x80", 1},                    // a surrogate
           Case{"\xED\x9F\xBF", 3},                     // the last before the surrogates
           Case{"\xF4\x8F\xBF\xBF", 4},                 // the last of all
           Case{"\xF4\x90\x80\x80", 0},                 // beyond it
           Case{"\xF5\x80\x80\x80", 0},                 // beyond it
           Case{"\xE2\x28\xA1", 0},                     // no continuation
       })
    EXPECT_EQ(utf8_prefix(text), good) << text;
}

TEST(Utf8, CharactersOfAByteAreMadeThoseBytes) {
  struct Case {
    std::string_view text, bytes;
    bool are_all = true;
  };
  const std::string long_one =
      "a text that is longer than two words, na\xC3\xAFve \xC2\x80\xC3\xBF and so on";
  for (const auto& [text, bytes, are_all] :
       {Case{"", ""}, Case{"plain", "plain"}, Case{"\xC3\xA4", "\xE4"},
        Case{"sixteen bytes!!\xC3\xA4", "sixteen bytes!!\xE4"},
        Case{long_one, "a text that is longer than two words, na\xEFve \x80\xFF and so on"},
        Case{"\xC4\x80", "", false}, Case{"a text that is longer than two words \xE2\x82\xAC", "", false},
        Case{"\xC3", "", false}, Case{"\xC3x", "", false}, Case{"\x80", "", false},
        Case{"\xC1\xBF", "", false}}) {
    std::string out;
    EXPECT_EQ(utf8_to_latin1(text, out), are_all) << text;
    if (are_all) {
      EXPECT_EQ(out, bytes) << text;
    }
  }
}

}  // namespace
}  // namespace headrace
