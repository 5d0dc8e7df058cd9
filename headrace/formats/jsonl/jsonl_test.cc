#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/codecs/zstd/testing.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/jsonl/chosen_fields.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/io/testing/memory_store.h"
#include "tests/sources/conformance.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string shown_field(const Tensor& field) {
  const View view = field.view();
  if (is_text(view.dtype))
    return "'" + std::string(view.as<char>(), static_cast<size_t>(view.shape[0])) + "'";
  std::string out = view.shape.rank() == 0 ? "" : view.shape.text() + "[";
  for (int64_t i = 0; i < view.shape.count(); ++i) {
    out += i == 0 ? "" : " ";
    if (view.dtype == DType::i64)
      out += std::to_string(view.as<int64_t>()[i]);
    else if (view.dtype == DType::f64)
      out += Value(view.as<double>()[i]).dump();
    else if (view.dtype == DType::f32)
      out += Value(static_cast<double>(view.as<float>()[i])).dump();
    else if (view.dtype == DType::u64)
      out += std::to_string(view.as<uint64_t>()[i]);
    else
      out += std::to_string(view.as<uint8_t>()[i]);
  }
  return out + (view.shape.rank() == 0 ? "" : "]");
}

// The schema, then for each line its values or its error.
std::vector<std::string> lines_as_read(Store& store, const std::string& path, const Value& options = {}) {
  const auto source = open_source(store, path, "jsonl", options);
  if (!source.ok()) return {std::string(source.status().text())};
  std::vector<std::string> out = {(*source)->schema().text()};
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const auto fields = read_sample(**source, i, store);
    std::string line;
    if (fields.ok())
      for (const Tensor& field : *fields) line += (line.empty() ? "" : " ") + shown_field(field);
    out.push_back(fields.ok() ? line : std::string(fields.status().text()));
  }
  return out;
}

std::vector<std::string> read(const std::string& text, std::string_view options = "{}") {
  MemoryStore store;
  store.add("x", text);
  return lines_as_read(store, "x", *Value::parse(options));
}

TEST(Jsonl, DtypesAreThoseThatHoldEveryValue) {
  EXPECT_THAT(read(R"({"a": 1, "b": 1, "c": true, "d": "x"}
{"a": -2, "b": 2.5, "c": false, "d": ""}
)"),
              ElementsAre("a: int64 (), b: float64 (), c: bool (), d: str", "1 1.0 1 'x'", "-2 2.5 0 ''"));
  EXPECT_THAT(read("{\"id\":9223372036854775807}"), ElementsAre("id: int64 ()", "9223372036854775807"));
  // Numbers that a float would round are strings.
  EXPECT_THAT(read("{\"id\":9223372036854775808}\n{\"id\":1}"),
              ElementsAre("id: str", "'9223372036854775808'", "'1'"));
  EXPECT_THAT(read("{\"x\":NaN}\n{\"x\":-Infinity}\n{\"x\":1e999}"),
              ElementsAre("x: float64 ()", "null", "null", "null"));  // Value has no spelling for them
  EXPECT_THAT(read("{\"x\":1}\n{\"x\":\"one\"}\n{\"x\":[1, 2]}\n{\"x\":true}"),
              ElementsAre("x: str", "'1'", "'one'", "'[1, 2]'", "'true'"));
}

TEST(Jsonl, WholeNumbersBesideFractionsAreNeverRoundedUnasked) {
  const std::string error =
      "column 'x': expected numbers that float64 holds, got 9007199254740993, which float64 would round; "
      "dtypes={\"x\": \"str\"} keeps all digits, and dtypes={\"x\": \"float64\"} rounds: x, line 1 at byte 0";
  const std::string scalars = "{\"x\":9007199254740993}\n{\"x\":0.5}\n{\"x\":1152921504606847000}";
  EXPECT_THAT(read(scalars), ElementsAre("x: float64 ()", error, "0.5", "1.152921504606847e+18"));
  EXPECT_THAT(read(scalars, R"({"dtypes":{"x":"float64"}})")[1], "9.007199254740992e+15");
  EXPECT_THAT(read(scalars, R"({"dtypes":{"x":"str"}})")[1], "'9007199254740993'");
  for (const std::string list : {"[0.5, 9007199254740993]", "[9007199254740993 ,0.5]"})
    EXPECT_THAT(read("{\"x\":" + list + "}"), ElementsAre("x: float64 (2)", error));
  EXPECT_THAT(read("{\"x\":[[0.5], [9007199254740993]]}\n{\"x\":[]}"),
              ElementsAre("x: float64 (?, 1)", error, "(0, 1)[]"));
}

TEST(Jsonl, ListsOfNumbersAreArrays) {
  EXPECT_THAT(read("{\"x\":[1,2]}\n{\"x\":[3, 4]}"), ElementsAre("x: int64 (2)", "(2)[1 2]", "(2)[3 4]"));
  EXPECT_THAT(read("{\"x\":[1,2.5]}\n{\"x\":[ ]}\n{\"x\":[3]}"),
              ElementsAre("x: float64 (?)", "(2)[1.0 2.5]", "(0)[]", "(1)[3.0]"));
  EXPECT_THAT(read("{\"x\":[[1,2],[3,4]]}\n{\"x\":[]}\n{\"x\":[[5,6]]}"),
              ElementsAre("x: int64 (?, 2)", "(2, 2)[1 2 3 4]", "(0, 2)[]", "(1, 2)[5 6]"));
  EXPECT_THAT(read("{\"x\":[[],[]]}\n{\"x\":[[7]]}"),
              ElementsAre("x: int64 (?, ?)", "(2, 0)[]", "(1, 1)[7]"));
  EXPECT_THAT(read("{\"x\":[true,false]}"), ElementsAre("x: bool (2)", "(2)[1 0]"));
}

TEST(Jsonl, OtherListsAreTheirText) {
  for (const std::string list : {"[[1],[2,3]]", "[1,[2]]", "[1,null]", "[true,1]", "[]", "[[]]",
                                 R"([{"a":1}, 2])", "[9223372036854775808]", "[[[[[[[[[1]]]]]]]]]"})
    EXPECT_THAT(read("{\"x\":" + list + "}"), ElementsAre("x: str", "'" + list + "'"));
  EXPECT_THAT(read("{\"x\":[1]}\n{\"x\":[[1]]}"), ElementsAre("x: str", "'[1]'", "'[[1]]'"));
}

TEST(Jsonl, ListsOfTextsAreOneTextAndItsLengths) {
  const std::string text = R"({"x": [ "a", "\u00e9\ud83d\ude00\n" , "", "ä"]}
{"x":[]}
{"x":["b"]})";
  EXPECT_THAT(read(text), ElementsAre("x/values: str, x/lengths: int64 (?)", "'aé😀\nä' (4)[1 7 0 2]",
                                      "'' (0)[]", "'b' (1)[1]"));
  MemoryStore store;
  store.add("x", text);
  EXPECT_EQ((*open_source(store, "x", "jsonl"))->schema().structure, R"({"x":{"values":0,"lengths":1}})");
  EXPECT_THAT(read(text, R"({"columns":["x/lengths"]})")[1], "(4)[1 7 0 2]");
  EXPECT_THAT(read(text, R"({"columns":["x/values"]})")[1], "'aé😀\nä'");
  EXPECT_THAT(read(text, R"({"dtypes":{"x":"str"}})")[3], "'[\"b\"]'");
  EXPECT_THAT(read(R"({"a":{"b":["c"]}})"),
              ElementsAre("a/b/values: str, a/b/lengths: int64 (?)", "'c' (1)[1]"));
  // Half of a surrogate pair; and bytes that are not UTF-8 in a string alone, only in both together.
  EXPECT_THAT(read(R"({"x":["\ud83d","\ude00"]})")[1],
              HasSubstr("column 'x/values': expected str, got half of"));
  EXPECT_THAT(read("{\"x\":[\"\xC3\",\"\xA4\"]}")[1], HasSubstr("column 'x/values': expected UTF-8"));
  EXPECT_THAT(read("{\"x\":[\"\xC3\",\"\xA4\"]}", R"({"dtypes":{"x/values":"bytes"}})"),
              ElementsAre("x/values: bytes, x/lengths: int64 (?)", "'ä' (2)[1 1]"));
  for (const auto& [dtypes, message] :
       {std::pair{R"({"dtypes":{"x/values":"f32"}})",
                  "dtypes: expected str or bytes for column 'x/values' of a list of strings, got \"f32\""},
        {R"({"dtypes":{"x/lengths":"i32"}})", "dtypes: expected int64 for column 'x/lengths'"},
        {R"({"dtypes":{"x":"f32"}})", "dtypes: expected str or bytes for column 'x'"}})
    EXPECT_THAT(read(text, dtypes), ElementsAre(HasSubstr(message)));
  EXPECT_THAT(read(text, R"({"dtypes":{"x/lengths":"int64"}})")[1], "'aé😀\nä' (4)[1 7 0 2]");
}

TEST(Jsonl, ListsThatAreNotAllOfTextsAreTheirText) {
  for (const std::string list : {"[\"a\",1]", "[\"a\",null]", "[[\"a\"]]", "[\"a\",[]]", "\"a\"", "[{}]"})
    EXPECT_THAT(read("{\"x\":[\"b\"]}\n{\"x\":" + list + "}")[1], "'[\"b\"]'") << list;
  // Empty lists may be lists of anything: dtypes= decides.
  EXPECT_THAT(read("{\"x\":[]}"), ElementsAre("x: str", "'[]'"));
  EXPECT_THAT(read("{\"x\":[]}\n{\"x\":null}",
                   R"({"dtypes":{"x/values":"str","x/lengths":"i64"},"defaults":{"x":["d","e"]}})"),
              ElementsAre("x/values: str, x/lengths: int64 (?)", "'' (0)[]", "'de' (2)[1 1]"));
}

TEST(Jsonl, MissingListsOfTextsHaveADefaultOrAreAnError) {
  const std::string text = "{\"x\":[\"a\"]}\n{\"x\":null}\n{}";
  EXPECT_THAT(
      read(text)[2],
      HasSubstr("column 'x/values' is null in this line; expected a list of strings; set a value with "
                "defaults=; nulls=\"zero\" reads it as zeros or as empty; nulls=\"mask\" also tells where: "
                "x, line 2 at byte "));
  EXPECT_THAT(
      read(text, R"({"columns":["x/lengths"]})")[3],
      HasSubstr("column 'x/lengths' is missing in this line; expected a list of strings; set a value"));
  EXPECT_THAT(read(text, R"({"defaults":{"x":[]}})"),
              ElementsAre("x/values: str, x/lengths: int64 (?)", "'a' (1)[1]", "'' (0)[]", "'' (0)[]"));
  for (const char* bad : {R"({"defaults":{"x":"a"}})", R"({"defaults":{"x":["a",1]}})"})
    EXPECT_THAT(read(text, bad),
                ElementsAre(HasSubstr("defaults: expected a list of strings for column 'x', got ")));
}

// As if the file had changed since it was indexed.
TEST(Jsonl, ItemsThatAreNoTextsAreAnErrorOfTheirLine) {
  MemoryStore store;
  store.add("x", "{\"x\":[\"a\",\"b\"]}\n");
  const auto source = open_source(store, "x", "jsonl");
  ASSERT_TRUE(source.ok()) << source.status().text();
  const auto error_of = [&](const char* line) {
    std::vector<Tensor> fields;
    const BlockPtr block = (*source)->together({0}, {0}, text_tensor(line).buffer);
    EXPECT_TRUE(puts_what_it_gets(*block, (*source)->schema(), 1)) << line;
    return std::string(block->get(0, fields).text());
  };
  EXPECT_EQ(error_of("{\"x\":[\"a\",\"b\"]}\n"), "");
  EXPECT_THAT(error_of("{\"x\":[\"a\",123]}\n"),
              HasSubstr("column 'x/values': expected a list of strings, got 123 as item 1"));
  EXPECT_THAT(error_of("{\"x\":[[\"a\"]]  }\n"),
              HasSubstr("expected a list of strings, got [\"a\"] as item 0"));
  EXPECT_THAT(error_of("{\"x\":\"a\"      }\n"), HasSubstr("expected a list of strings, got \"a\""));
}

TEST(Jsonl, ObjectsAreWhatTheyHave) {
  EXPECT_THAT(read(R"({"a": {"b": 1, "c": {"d": "x"}}, "e": 2}
{"e": 3, "a": {"c": {"d": "y"}, "b": 4}})"),
              ElementsAre("a/b: int64 (), a/c/d: str, e: int64 ()", "1 'x' 2", "4 'y' 3"));
  EXPECT_THAT(read("{\"a\":{\"b\":1}}\n{\"a\":2}"), ElementsAre("a: str", "'{\"b\":1}'", "'2'"));
  EXPECT_THAT(read("{\"a\":{}}"), ElementsAre("a: str", "'{}'"));
  EXPECT_THAT(read("{\"a\":{\"b\":1}, \"c\":2}", R"({"dtypes":{"a":"str"}})"),
              ElementsAre("a: str, c: int64 ()", "'{\"b\":1}' 2"));
  EXPECT_THAT(read("{\"a\":{\"b\":1},\"a/b\":2}"), ElementsAre(HasSubstr("got 'a/b' twice")));
}

TEST(Jsonl, TheLastOfEqualKeysCounts) {
  EXPECT_THAT(read("{\"a\":1,\"a\":2}"), ElementsAre("a: int64 ()", "2"));
  EXPECT_THAT(read("{\"a\":{\"b\":1,\"c\":2},\"a\":{\"c\":3}}", R"({"defaults":{"a/b":-1}})"),
              ElementsAre("a/b: int64 (), a/c: int64 ()", "-1 3"));
  EXPECT_THAT(read("{\"a\":{\"b\":1},\"a\":null}", R"({"defaults":{"a/b":-1}})"),
              ElementsAre("a/b: int64 ()", "-1"));
}

TEST(Jsonl, EscapesAreCharacters) {
  EXPECT_THAT(read(R"({"t":"\"\\\/\b\f\n\r\t\u00e9\u20AC\ud83d\ude00"})"),
              ElementsAre("t: str", "'\"\\/\b\f\n\r\té€😀'"));
  EXPECT_THAT(read(R"({"k\u0065y":"\u0000x"})"), ElementsAre("key: str", std::string("'\0x'", 4)));
  EXPECT_THAT(read(R"({"t":"\ud83d"})"),
              ElementsAre("t: str", HasSubstr("column 't': expected str, got half of a surrogate pair")));
  EXPECT_THAT(read(R"({"t":"\udE00\ud83d"})", R"({"dtypes":{"t":"bytes"}})"),
              ElementsAre("t: bytes", "'\xED\xB8\x80\xED\xA0\xBD'"));
  EXPECT_THAT(read("{\"t\":\"\xE4\"}")[1], HasSubstr("column 't': expected UTF-8"));
}

TEST(Jsonl, WhatIsMissingHasADefaultOrIsAnError) {
  const std::string text = "{\"a\":1,\"b\":\"x\",\"c\":[1,2]}\n\n{\"a\":null}\n";
  EXPECT_THAT(
      read(text)[2],
      HasSubstr("column 'a' is null in this line; expected int64 (); set a value with defaults=; "
                "nulls=\"zero\" reads it as zeros or as empty; nulls=\"mask\" also tells where: x, line "
                "3 at byte "));
  EXPECT_THAT(
      read(text, R"({"columns":["b"]})")[2],
      HasSubstr("column 'b' is missing in this line; expected str; set a value with defaults=; nulls="));
  EXPECT_THAT(read(text, R"({"defaults":{"a":-1,"b":"none","c":[0,7]}})"),
              ElementsAre("a: int64 (), b: str, c: int64 (2)", "1 'x' (2)[1 2]", "-1 'none' (2)[0 7]"));
  EXPECT_THAT(read("{\"a\":1}", R"({"defaults":{"a":"x"}})"),
              ElementsAre("jsonl: 'x': defaults: expected int64 () for column 'a', got \"x\""));
  EXPECT_THAT(read("{\"a\":1.5}\n{}", R"({"defaults":{"a":"nan"}})"),
              ElementsAre("a: float64 ()", "1.5", "null"));
  EXPECT_THAT(read("{\"a\":null}", R"({"defaults":{"a":"-"}})"), ElementsAre("a: str", "'-'"));
}

TEST(Jsonl, ColumnsAreChosenAndTyped) {
  const std::string text = R"({"a": {"b": 1, "c": 2}, "d": "7", "e": [1, 2]})";
  EXPECT_THAT(read(text, R"({"columns":["d","a/c"]})"), ElementsAre("d: str, a/c: int64 ()", "'7' 2"));
  EXPECT_THAT(read(text, R"({"columns":["e","a"]})"),
              ElementsAre("e: int64 (2), a/b: int64 (), a/c: int64 ()", "(2)[1 2] 1 2"));
  EXPECT_THAT(read(text, R"({"columns":["d","e"],"dtypes":{"d":"u64","e":"f32"}})"),
              ElementsAre("d: uint64 (), e: float32 (2)", "7 (2)[1.0 2.0]"));
  EXPECT_THAT(read(text, R"({"columns":["e"],"dtypes":{"e":"str"}})"), ElementsAre("e: str", "'[1, 2]'"));
  EXPECT_THAT(read(text, R"({"columns":["f"]})"),
              ElementsAre("jsonl: 'x': columns: expected names of columns (a/b, a/c, d, e), got 'f'"));
  EXPECT_THAT(read(text, R"({"columns":["a","a/b"]})"), ElementsAre(HasSubstr("got 'a/b' twice")));
  EXPECT_THAT(read(text, R"({"dtypes":{"a":"i64"}})"),
              ElementsAre(HasSubstr(
                  "dtypes: expected str or bytes for column 'a', which contains objects, got i64")));
  EXPECT_THAT(read("{\"x\":300}", R"({"dtypes":{"x":"u8"}})"),
              ElementsAre("x: uint8 ()", "column 'x': expected uint8 (), got 300: x, line 1 at byte 0"));
}

std::vector<std::string> notes_of_lines(const std::string& text, std::string_view options = "{}") {
  MemoryStore store;
  store.add("x", text);
  const auto source = open_source(store, "x", "jsonl", *Value::parse(options));
  return source.ok() ? notes_of(**source) : std::vector<std::string>{std::string(source.status().text())};
}

TEST(Jsonl, AKeyThatFewValuesMakeTextIsNamedWithTheFirstOfThem) {
  std::string text;
  for (int i = 0; i < 30; ++i)
    text += R"({"id": )" + std::to_string(i) +
            R"(, "at": {"price": 0.5}, "n": null})"
            "\n";
  EXPECT_THAT(notes_of_lines(text), IsEmpty());
  const std::string odd = R"({"id": "none", "at": {"price": "n/a"}, "n": 1})"
                          "\n";
  EXPECT_THAT(
      notes_of_lines(text + odd),
      ElementsAre(
          HasSubstr(
              "column 'id' is read as strings because of 'none' (x, line 31); the other 30 are numbers; "
              "dtypes={\"id\": \"int64\"} makes such fields errors of their rows"),
          HasSubstr("column 'at/price' is read as strings because of 'n/a' (x, line 31)")));
  EXPECT_THAT(
      notes_of_lines(odd + text +
                     R"({"id": true})"
                     "\n"),
      ElementsAre(HasSubstr("'id' is read as strings because of 'none' (x, line 1) and 1 more; the other 30"),
                  HasSubstr("'at/price'")));
  for (const char* said : {R"({"dtypes":{"id":"i64","at/price":"str"}})", R"({"columns":["n"]})"})
    EXPECT_THAT(notes_of_lines(text + odd, said), IsEmpty()) << said;
  // Neither is what dtypes= refuses, nor one in ten.
  EXPECT_THAT(notes_of_lines(text + R"({"id": {"is": 1}, "at": {"price": [1]}})"
                                    "\n"),
              IsEmpty());
  EXPECT_THAT(notes_of_lines(text + odd + odd + odd + odd), IsEmpty());
  MemoryStore store;
  store.add("d/1.jsonl", text), store.add("d/2.jsonl", "{\"id\": 1}\n" + odd), store.add("d/3.jsonl", odd);
  EXPECT_THAT(notes_of(**open_source(store, "d", "jsonl")),
              ::testing::Contains(
                  HasSubstr("'id' is read as strings because of 'none' (d/2.jsonl, line 2) and 1 more")));
}

TEST(Jsonl, BlankLinesAndMarksAreNoSamples) {
  EXPECT_THAT(read("\xEF\xBB\xBF{\"a\":1}\n\n \t\r\n{\"a\":2}\r\n{\"a\":3}"),
              ElementsAre("a: int64 ()", "1", "2", "3"));
  EXPECT_THAT(read("\xEF\xBB\xBF\n{\"a\":1}"), ElementsAre("a: int64 ()", "1"));
  MemoryStore store;
  store.add("x", "\n{\"a\":1}\n\n{\"a\":2}");
  EXPECT_EQ((*open_source(store, "x", "jsonl"))->where(1).text(), "x, line 4 at byte 10");
}

TEST(Jsonl, WhatIsNoObjectIsAnErrorOfItsLine) {
  const std::string good = "{\"a\":1}\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[1]", "expected a JSON object, got '[' at byte 0 of the line"},
      {"{\"a\":1} x", "expected nothing after the object, got 'x' at byte 8 of the line"},
      {"{\"a\":1,}", "expected a key in quotes, got '}'"},
      {"{\"a\" 1}", "expected ':' after a key, got '1'"},
      {"{\"a\":01}", "expected ',' or '}' after a value, got '1'"},
      {"{\"a\":1", "expected ',' or '}' after a value, got the end of the line"},
      {"{\"a\":.5}", "expected a value, got '.'"},
      {"{\"a\":1.}", "expected a digit, got '}'"},
      {"{\"a\":1e}", "expected a digit, got '}'"},
      {"{\"a\":-}", "expected a digit, got '}'"},
      {"{\"a\":+1}", "expected a value, got '+'"},
      {"{\"a\":truth}", "expected a value, got 't'"},
      {"{\"a\":\"\\x\"}", "expected a JSON escape, got '\\'"},
      {"{\"a\":\"\\u12g4\"}", "expected \\u and four hexadecimal digits"},
      {"{\"a\":\"\t\"}", "expected an escape instead of a control character, got byte 9"},
      {"{\"a\":\"x}", "expected a closing quote, got the end of the line"},
      {"{\"a\":[1 2]}", "expected ',' or ']' after a value, got '2'"},
      {"{a:1}", "expected a key in quotes, got 'a'"},
  };
  for (const auto& [line, wanted] : cases) {
    const std::vector<std::string> got = read(good + line + "\n" + good);
    EXPECT_THAT(got, ElementsAre("a: int64 ()", "1", HasSubstr(wanted), "1")) << line;
    EXPECT_THAT(read(line), ElementsAre(HasSubstr(wanted))) << line;
  }
  EXPECT_THAT(read("[1]")[0], HasSubstr("(line 1)"));
  EXPECT_THAT(
      read(""),
      ElementsAre("jsonl: 'x': expected at least one line with a JSON object, to find the fields, got "
                  "none; name them with dtypes="));
  EXPECT_THAT(read("", R"({"dtypes":{"a":"f32"}})"), ElementsAre("a: float32 ()"));
}

TEST(Jsonl, KeysAreUtf8) {
  const std::string error =
      "a key: expected UTF-8, got byte 0xe9 at position 1 of 'r\\xe9'; convert the file, as with iconv -f "
      "latin1 -t utf-8";
  EXPECT_THAT(read("{\"r\xe9\":1}\n"), ElementsAre(HasSubstr(error + " (line 1)")));
  EXPECT_THAT(read("{\"a\":1,\"r\xe9\":1}\n{\"a\":2}"),
              ElementsAre("a: int64 ()", HasSubstr(error + ": x, line 1"), "2"));
  EXPECT_THAT(read("{\"a\":1,\"b\":{\"r\xe9\":1}}\n{\"a\":2}", R"({"columns":["a"]})"),
              ElementsAre("a: int64 ()", "1", "2"));  // it is not looked at
}

TEST(Jsonl, DepthHasABound) {
  const auto nested = [](size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_THAT(read(nested(128)), ElementsAre("a: str", Not(HasSubstr("expected"))));
  EXPECT_THAT(read(nested(129))[0], HasSubstr("expected at most 128 nested lists and objects"));
  EXPECT_THAT(read("{\"a\":" + std::string(1000000, '[')), ElementsAre(HasSubstr("at most 128")));
}

TEST(Jsonl, KeysHaveABound) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "{\"k" + std::to_string(i) + "\":1}\n";
  EXPECT_THAT(read(text), ElementsAre(HasSubstr("expected at most 4096 different keys")));
}

TEST(Jsonl, FilesAreOneTable) {
  MemoryStore store;
  store.add("d/1.jsonl", "{\"a\":1}\n");
  store.add("d/2.jsonl", "");
  store.add("d/3.jsonl", "{\"b\":\"x\",\"a\":2.5}\n");
  EXPECT_THAT(lines_as_read(store, "d", *Value::parse(R"({"defaults":{"b":""}})")),
              ElementsAre("a: float64 (), b: str", "1.0 ''", "2.5 'x'"));
}

TEST(Jsonl, IsRecognisedByItsLines) {
  MemoryStore store;
  const std::string two = "{\"a\": 1}\n{\"a\": 2}\n";
  store.add("a.jsonl", "{\"a\": 1}");
  store.add("long.ndjson", "{\"a\": \"" + std::string(9000, 'x') + "\"}\n");
  store.add("a.jsonl.gz", deflated(two, Wrap::gzip));
  store.add("log", two);
  store.add("one.json", "{\"a\": 1}\n");
  store.add("list.jsonl", "[1]\n");
  store.add("pretty.json", "{\n\"a\": 1\n}\n");
  for (const char* path : {"a.jsonl", "long.ndjson", "a.jsonl.gz", "log"}) {
    const auto source = open_source(store, path);
    EXPECT_TRUE(source.ok()) << path << source.status().text();
  }
  for (const char* path : {"one.json", "list.jsonl", "pretty.json"})
    EXPECT_FALSE(open_source(store, path).ok()) << path;
}

TEST(Jsonl, ColumnsAreFilledWithWhatIsReadLineByLine) {
  const std::string lines = R"({"a": 1, "b": "x", "c": [1, 2], "d": {"e": 0.5}}
{"d": {"e": 1e400}, "c": [3, 4], "b": "y\"\u00e9\n", "a": -2}
{"a": 1.5, "b": "", "c": [1, 2, 3], "d": {"e": 2}}
{"a": null, "b": 7, "c": [1], "d": {}}
{"a": "3", "c": [[1, 2]], "d": {"e": NaN}}
{"b": "\ud83d", "c": [], "d": 1}
{"a": 4, "b": "tail", "c": [5, "6"], "d": {"e": 3}, "f": [null]}
{"a": 5, "b": "ä", "c": [5, 6], "d": {"e": 3}
[1]
{"a": 6, "b": "ä", "c": [7, 8], "d": {"e": 3}})";
  const std::string texts = R"({"x": ["a", "b\\\"\u00e9"], "n": 1}
{"n": 2, "x": []}
{"x": ["", "ä"], "n": 3}
{"x": null, "n": 3}
{"x": ["\ud83d"], "n": 4}
{"x": ["tail"], "n": 5})";
  MemoryStore store;
  store.add("x", lines + "\n{\"a\": 7, \"b\": \"\xC3\", \"c\": [7, 8], \"d\": {\"e\": 3}}\n\xA4");
  const auto check = [&](const char* path, const char* options) {
    const auto source = open_source(store, path, "jsonl", *Value::parse(options));
    if (!source.ok()) return;  // a default of another shape
    const auto [block, size] = read_together(store, **source, (*source)->size());
    ASSERT_TRUE(block);
    EXPECT_TRUE(puts_what_it_gets(*block, (*source)->schema(), size)) << path << options;
  };
  for (const char* options :
       {"{}", R"({"defaults":{"a":0,"b":"","c":[0,0],"d/e":-1}})", R"({"dtypes":{"a":"i64"}})",
        R"({"columns":["a","d/e"],"dtypes":{"a":"f32"},"defaults":{"a":0}})",
        R"({"dtypes":{"b":"bytes","d":"str"}})"}) {
    check("x", options);
  }
  store.add("texts", texts + "\n{\"x\": [\"\xC3\", \"\xA4\"], \"n\": 6}\n");
  for (const char* options : {"{}", R"({"defaults":{"x":["d",""]}})", R"({"dtypes":{"x/values":"bytes"}})",
                              R"({"columns":["x/lengths","n","x/values"]})", R"({"columns":["x/lengths"]})"})
    check("texts", options);
}

TEST(Jsonl, ColumnsHaveRoomForListsOfTheirSizeOnly) {
  MemoryStore store;
  store.add("x", "{\"c\":[11111,22222]}\n");
  const auto source = open_source(store, "x", "jsonl");
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->schema().text(), "c: int64 (2)");
  // As if the file had changed since.
  for (const auto& [line, fits] : {std::pair{"{\"c\":[33333,44444]}\n", true},
                                   {"{\"c\":[1,2,3,4,5,6]}\n", false},
                                   {"{\"c\":[[3333,4444]]}\n", false},
                                   {"{\"c\":     [11111] }\n", false}}) {
    const BlockPtr block = (*source)->together({0}, {0}, text_tensor(line).buffer);
    EXPECT_EQ(put_rows(*block, (*source)->schema(), std::vector<uint64_t>{0}, true).size(), fits ? 1u : 0u)
        << line;
    EXPECT_TRUE(puts_what_it_gets(*block, (*source)->schema(), 1)) << line;
  }
}

TEST(Jsonl, LinesCrossTheWindowsOfTheWalk) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += "{\"n\":" + std::to_string(i) + ",\"t\":\"" +
            std::string(static_cast<size_t>(i * 37 % 1500), 'x') + "\\n\"}\n";
  MemoryStore store;
  store.add("plain", text);
  store.add("packed", deflated(text, Wrap::gzip));
  const std::vector<std::string> plain = lines_as_read(store, "plain");
  ASSERT_EQ(plain.size(), 3001u);
  EXPECT_EQ(plain[3000], "2999 '" + std::string(2999 * 37 % 1500, 'x') + "\n'");
  EXPECT_EQ(lines_as_read(store, "packed"), plain);
  store.add("frames", in_zstd_frames(text, 100000));
  store.add("frame.jsonl.zst", in_zstd_frames(text));
  EXPECT_EQ(lines_as_read(store, "frames"), plain);
  const auto named = open_source(store, "frame.jsonl.zst");  // of which the head holds no whole block
  ASSERT_TRUE(named.ok()) << named.status().text();
  EXPECT_EQ((*named)->size(), 3000u);
}

}  // namespace

namespace trial {
namespace {

std::string number_bytes(int64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

SourceCase jsonl_files() {
  SourceCase out;
  out.files = {
      {"d/a.jsonl", "{\"n\":1,\"t\":\"one\",\"v\":[1,2]}\n{\"t\":\"tw\\\"o\\u00e9\",\"n\":-2,\"v\":[]}\n"},
      {"d/b.jsonl", "\r\n{\"n\":30, \"o\": {\"p\": [1]}, \"t\":\"\", \"v\": [ 3 ]}"}};
  const auto line = [&](int64_t n, std::string_view t, std::vector<int64_t> v) {
    out.samples.push_back(field_text(DType::i64, {}, number_bytes(n)) +
                          field_text(DType::str, {static_cast<int64_t>(t.size())}, t) +
                          field_text(DType::i64, {static_cast<int64_t>(v.size())},
                                     {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(int64_t)}));
  };
  line(1, "one", {1, 2}), line(-2, "tw\"o\u00e9", {}), line(30, "", {3});
  out.open = by_registered_format("jsonl", *Value::parse(R"({"columns":["n","t","v"]})"));
  out.cut = Cut::is_not_seen;  // the last line may be cut to nothing
  return out;
}
INSTANTIATE_TEST_SUITE_P(Jsonl, SourceConformance, ::testing::Values(jsonl_files));

SourceCase deflated_jsonl_files() {
  SourceCase out = jsonl_files();
  for (auto& file : out.files) file.second = deflated(file.second, Wrap::gzip);
  return out;
}
INSTANTIATE_TEST_SUITE_P(DeflatedJsonl, SourceConformance, ::testing::Values(deflated_jsonl_files));

SourceCase zstd_jsonl_files() {
  SourceCase out = jsonl_files();
  for (auto& file : out.files) file.second = in_zstd_frames(file.second, 20);
  return out;
}
INSTANTIATE_TEST_SUITE_P(ZstdJsonl, SourceConformance, ::testing::Values(zstd_jsonl_files));

}  // namespace
}  // namespace trial
}  // namespace headrace
