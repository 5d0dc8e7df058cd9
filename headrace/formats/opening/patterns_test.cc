#include "headrace/formats/opening/patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Patterns, MatchAsTheShellsDo) {
  struct Case {
    const char *name, *pattern;
    bool matches;
  };
  for (const auto& [name, pattern, expected] : {
           Case{"train-00012-of-00100", "train-\?\?\?\?\?-of-00100", true},
           Case{"train-0012-of-00100", "train-\?\?\?\?\?-of-00100", false},
           Case{"a.tar", "*.tar", true},
           Case{"a.tar.gz", "*.tar", false},
           Case{".hidden.tar", "*.tar", false},
           Case{".hidden.tar", ".*.tar", true},
           Case{"b7", "[a-c][0-9]", true},
           Case{"d7", "[a-c][0-9]", false},
           Case{"d7", "[!a-c][^0-5]", true},
           Case{"]", "[]]", true},
           Case{"[x", "[x", true},
           Case{"aXbXc", "a*b*c", true},
           Case{"aXbXd", "a*b*c", false},
           Case{"", "*", true},
           Case{"abc", "", false},
           Case{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "*a*a*a*a*a*a*a*a*a*a*c", false},
       })
    EXPECT_EQ(matches(name, pattern), expected) << name << " by " << pattern;
}

TEST(Patterns, BracesAreWrittenOut) {
  const auto braces = [](const char* pattern) { return *expand_braces(pattern); };
  EXPECT_THAT(braces("x{08..11}.tar"), ElementsAre("x08.tar", "x09.tar", "x10.tar", "x11.tar"));
  EXPECT_THAT(braces("{9..11}"), ElementsAre("9", "10", "11"));
  EXPECT_THAT(braces("{2..0}"), ElementsAre("2", "1", "0"));
  EXPECT_THAT(braces("{a,b{1,2}}/{c,}"), ElementsAre("a/c", "a/", "b1/c", "b1/", "b2/c", "b2/"));
  EXPECT_THAT(braces("{a}{b"), ElementsAre("{a}{b"));
  EXPECT_THAT(braces("{1..x}"), ElementsAre("{1..x}"));
  EXPECT_EQ(expand_braces("{0..99999999}").status().code(), Code::exhausted);
  EXPECT_EQ(expand_braces("{0..9999}{0..9999}").status().code(), Code::exhausted);
}

MemoryStore shards() {
  MemoryStore store;
  for (const char* path :
       {"d/train-1", "d/train-0", "d/val-0", "d/sub/train-7", "e/train-3", "e/.train-4", "odd[1].x"})
    store.add(path, path);
  return store;
}

TEST(Patterns, FilesComeSortedAndOnce) {
  MemoryStore store = shards();
  const auto files = [&](const char* pattern) {
    const auto out = expand(store, pattern);
    return out.ok() ? *out : std::vector<std::string>{std::string(out.status().text())};
  };
  EXPECT_THAT(files("d/train-*"), ElementsAre("d/train-0", "d/train-1"));
  EXPECT_THAT(files("?/train-*"), ElementsAre("d/train-0", "d/train-1", "e/train-3"));
  EXPECT_THAT(files("d/*/train-[0-9]"), ElementsAre("d/sub/train-7"));
  EXPECT_THAT(files("d/{val,train}-0"), ElementsAre("d/train-0", "d/val-0"));
  EXPECT_THAT(files("d/{train-*,train-0}"), ElementsAre("d/train-0", "d/train-1"));
  EXPECT_THAT(files("odd[1].x"), ElementsAre("odd[1].x"));  // an existing name is not a pattern
}

TEST(Patterns, TwoStarsAreAnyFolders) {
  MemoryStore store;
  for (const char* path : {"d/a.x", "d/e/b.x", "d/e/f/c.x", "d/e/f/c.y", "d/.h/e.x", "d/e/.i.x", "o/e/g.x"})
    store.add(path, path);
  const auto files = [&](const char* pattern) {
    const auto out = expand(store, pattern);
    return out.ok() ? *out : std::vector<std::string>{std::string(out.status().text())};
  };
  EXPECT_THAT(files("d/**/*.x"), ElementsAre("d/a.x", "d/e/b.x", "d/e/f/c.x"));
  EXPECT_THAT(files("d/**"), ElementsAre("d/a.x", "d/e/b.x", "d/e/f/c.x", "d/e/f/c.y"));
  EXPECT_THAT(files("**/e/*.x"), ElementsAre("d/e/b.x", "o/e/g.x"));
  EXPECT_THAT(files("?/**/f/**/c.[xy]"), ElementsAre("d/e/f/c.x", "d/e/f/c.y"));
  EXPECT_THAT(files("d/**/**/b.x"), ElementsAre("d/e/b.x"));
  EXPECT_THAT(files("d/**/.h/*"), ElementsAre("d/.h/e.x"));
  EXPECT_THAT(files("d/**.x"), ElementsAre("d/a.x"));  // "**" within a part acts as "*"
  EXPECT_THAT(files("d/**/{a,c}.x"), ElementsAre("d/a.x", "d/e/f/c.x"));
}

TEST(Patterns, WhatIsMissingIsNamedWithWhatIsThere) {
  MemoryStore store = shards();
  const auto failure = [&](const char* pattern) {
    return std::string(expand(store, pattern).status().text());
  };
  EXPECT_EQ(expand(store, "d/test-*").status().code(), Code::not_found);
  EXPECT_EQ(
      failure("d/test-*"),
      "'d/test-*' matches no file; 'd/' has 3 files: 'train-0', 'train-1', 'val-0' and 1 folders: 'sub'");
  EXPECT_THAT(failure("d/train-{0..3}"),
              HasSubstr("expands to 4 names, but 2 of them match no file, the first is 'd/train-2'"));
  EXPECT_THAT(failure("nowhere/*"), HasSubstr("there is no folder 'nowhere/'"));
}

}  // namespace
}  // namespace headrace
