#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <random>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/csv/chosen_columns.h"
#include "headrace/formats/data_notes.h"
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

Value object(std::string_view json) { return *Value::parse(json); }

std::string value_text(const Tensor& field) {
  const View view = field.view();
  if (is_text(view.dtype))
    return "'" + std::string(view.as<char>(), static_cast<size_t>(view.shape[0])) + "'";
  if (view.dtype == DType::i64) return std::to_string(*view.as<int64_t>());
  if (view.dtype == DType::f64) return Value(*view.as<double>()).dump();
  return std::to_string(view.as<uint8_t>()[0]);
}

// The schema, then one string for each row or its error.
std::vector<std::string> table_of(Store& store, const std::string& path, const Value& options = {}) {
  const auto source = open_source(store, path, "csv", options);
  if (!source.ok()) return {std::string(source.status().text())};
  std::vector<std::string> out = {(*source)->schema().text()};
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const auto fields = read_sample(**source, i, store);
    std::string row;
    if (fields.ok())
      for (const Tensor& field : *fields) row += (row.empty() ? "" : " ") + value_text(field);
    out.push_back(fields.ok() ? row : std::string(fields.status().text()));
  }
  return out;
}

std::vector<std::string> table_of(const std::string& text, std::string_view options = "{}") {
  MemoryStore store;
  store.add("x", text);
  return table_of(store, "x", object(options));
}

TEST(Csv, DtypesAreThoseThatHoldEveryField) {
  EXPECT_THAT(table_of("a,b,c,d\n1,1,x,\n-2, 2.5,3,\n+3,nan,,\n"),
              ElementsAre("a: int64 (), b: float64 (), c: str, d: str", "1 1.0 'x' ''", "-2 2.5 '3' ''",
                          HasSubstr("3 ")));
  EXPECT_THAT(table_of("id\n9223372036854775807\n"), ElementsAre("id: int64 ()", "9223372036854775807"));
  // What a float would round is text.
  EXPECT_THAT(table_of("id\n9223372036854775808\n"), ElementsAre("id: str", "'9223372036854775808'"));
}

TEST(Csv, WholeNumbersBesideFractionsAreNeverRoundedUnasked) {
  EXPECT_THAT(
      table_of("id,x\n9007199254740993,1\n1.5,2\n-9007199254740992, 3\n"),
      ElementsAre(
          "id: float64 (), x: int64 ()",
          "column 'id': expected numbers that float64 holds, got 9007199254740993, which float64 would "
          "round; dtypes={\"id\": \"str\"} keeps all digits, and dtypes={\"id\": \"float64\"} rounds: "
          "x, line 2 at byte 5",
          "1.5 2", "-9.007199254740992e+15 3"));
  EXPECT_THAT(table_of("id\n9007199254740993\n1.5\n", R"({"dtypes":{"id":"float64"}})")[1],
              "9.007199254740992e+15");
  EXPECT_THAT(table_of("id\n9007199254740993\n1.5\n", R"({"dtypes":{"id":"str"}})")[1], "'9007199254740993'");
  EXPECT_THAT(table_of("id\n\n1.5\n", R"({"defaults":{"id":9007199254740993}})")[0],
              HasSubstr("expected float64 for column 'id', got 9007199254740993"));
}

TEST(Csv, Float64HoldsWhatProgramsPrintForIt) {
  for (const char* text :
       {"9007199254740993.0", "9007199254740993e0", "9007199254740992", "1152921504606846976",
        "1152921504606847000", "+1152921504606847000", " -123456789012345680000 ", "100000000000000000000",
        "000000000000000000001", "999999999999999", "nan", ""})
    EXPECT_TRUE(float64_holds(text)) << text;
  for (const char* text : {"9007199254740993", "-9007199254740993", "1152921504606847001",
                           "1152921504606846970", "123456789012345678901", "9223372036854775807"})
    EXPECT_FALSE(float64_holds(text)) << text;
}

TEST(Csv, WholeNumbersWithLeadingZerosKeepThem) {
  EXPECT_THAT(table_of("zip\n12345\n01234\n"), ElementsAre("zip: str", "'12345'", "'01234'"));
  EXPECT_THAT(table_of("zip\n-07\n"), ElementsAre("zip: str", "'-07'"));
  EXPECT_THAT(table_of("x\n0\n-0\n"), ElementsAre("x: int64 ()", "0", "0"));
  EXPECT_THAT(table_of("x\n0.5\n00.25\n"), ElementsAre("x: float64 ()", "0.5", "0.25"));
  EXPECT_THAT(table_of("zip\n01234\n", R"({"dtypes":{"zip":"int64"}})"),
              ElementsAre("zip: int64 ()", "1234"));
}

TEST(Csv, QuotedFieldsHoldDelimitersQuotesAndLineEnds) {
  EXPECT_THAT(
      table_of("a,b\n\"x,y\",1\n\"two\nlines\r\nhere\",2\n\"say \"\"hi\"\"\",\"3\"\r\n\"\",4\n"),
      ElementsAre("a: str, b: int64 ()", "'x,y' 1", "'two\nlines\r\nhere' 2", "'say \"hi\"' 3", "'' 4"));
  EXPECT_THAT(table_of("a,b\nit\"s,5\" disk\n"), ElementsAre("a: str, b: str", "'it\"s' '5\" disk'"));
  EXPECT_THAT(table_of("\"a\nb\",c\n1,2\n"), ElementsAre("a\nb: int64 (), c: int64 ()", "1 2"));
  EXPECT_THAT(table_of("a\n\"x\n", R"({"quote":""})"), ElementsAre("a: str", "'\"x'"));
}

TEST(Csv, ErrorsNameLineAndColumn) {
  const std::string text = "a,b\n\"one\n\nrow\",1\n\n2,3,4\nx,5\n\"y\"z,6\nx\n";
  EXPECT_THAT(
      table_of(text, R"({"dtypes":{"a":"str","b":"i64"}})"),
      ElementsAre("a: str, b: int64 ()", "'one\n\nrow' 1", "expected 2 columns, got 3: x, line 6 at byte 18",
                  "'x' 5",
                  "column 1: expected a delimiter after the closing quote, got 'z': x, line 8 at byte 28",
                  "expected 2 columns, got 1: x, line 9 at byte 35"));
  EXPECT_THAT(table_of("a,b\n1,2\n1,\n1,x\n", R"({"dtypes":{"b":"i64"}})"),
              ElementsAre("a: int64 (), b: int64 ()", "1 2",
                          "column 'b' is empty in this row; expected int64; set a value with "
                          "defaults={\"b\": 0}; nulls=\"zero\" reads it as zeros or as empty; nulls=\"mask\" "
                          "also tells where: x, "
                          "line 3 at byte 8",
                          "column 'b': expected int64, got 'x': x, line 4 at byte 11"));
  EXPECT_THAT(table_of("a\n\xE4\nb\n")[1], HasSubstr("column 'a': expected UTF-8"));
}

std::vector<std::string> notes_of_table(const std::string& text, std::string_view options = "{}") {
  MemoryStore store;
  store.add("x", text);
  const auto source = open_source(store, "x", "csv", object(options));
  return source.ok() ? notes_of(**source) : std::vector<std::string>{std::string(source.status().text())};
}

TEST(Csv, AColumnThatFewFieldsMakeTextIsNamedWithTheFirstOfThem) {
  std::string text = "id,price,name\n";
  for (int i = 0; i < 30; ++i) text += std::to_string(i) + "," + std::to_string(i) + ".5,n\n";
  EXPECT_THAT(notes_of_table(text), IsEmpty());
  EXPECT_THAT(
      notes_of_table(text + "30,thirty,31\n"),
      ElementsAre(
          "column 'price' is read as strings because of 'thirty' (x, line 32); the other 30 are numbers; "
          "dtypes={\"price\": \"float64\"} makes such fields errors of their rows, \"str\" "
          "silences this note"));
  EXPECT_THAT(notes_of_table(text + "n/a,1,n\n\nn/b,2,n\n"),
              ElementsAre(HasSubstr(
                  "column 'id' is read as strings because of 'n/a' (x, line 32) and 1 more; the other 30")));
  // The first rows may be the odd ones.
  EXPECT_THAT(notes_of_table("id,price\nx,1\n" + text.substr(text.find('\n') + 1)),
              ElementsAre(HasSubstr("'id' is read as strings because of 'x' (x, line 2)")));
  for (const char* said :
       {R"({"dtypes":{"price":"f64"}})", R"({"dtypes":{"price":"str"}})", R"({"columns":["id"]})"})
    EXPECT_THAT(notes_of_table(text + "30,thirty,31\n", said), IsEmpty()) << said;
  // One in ten is no accident any more, nor are numbers next to strings of another file.
  for (int i = 0; i < 4; ++i) text += "x,1,n\n";
  EXPECT_THAT(notes_of_table(text), IsEmpty());
  MemoryStore store;
  std::string texts = "a\n", numbers = "a\n";
  for (int i = 0; i < 100; ++i) texts += "t\n", numbers += "1\n";
  store.add("d/1.csv", texts), store.add("d/2.csv", numbers), store.add("d/3.csv", numbers);
  EXPECT_THAT(notes_of(**open_source(store, "d", "csv")), IsEmpty());
}

TEST(Csv, OneColumnThatAnotherDelimiterWouldDivideIsNamed) {
  const std::string text = "a;b;c\n1;2;3\n";
  EXPECT_THAT(notes_of_table(text),
              ElementsAre("rows have one column: delimiter=\";\" would split 'a;b;c' into 3 columns"));
  EXPECT_THAT(notes_of_table("1|2\n3|4\n", R"({"header":false})"),
              ElementsAre(HasSubstr("delimiter=\"|\" would split '1|2' into 2 columns")));
  EXPECT_THAT(notes_of_table("a,b\n1,2\n", R"({"delimiter":"\t"})"),
              ElementsAre(HasSubstr("delimiter=\",\"")));
  EXPECT_THAT(notes_of_table(text, R"({"delimiter":";"})"), IsEmpty());
  EXPECT_THAT(notes_of_table("a\n1;2\n"), IsEmpty());
  EXPECT_THAT(table_of("a;b\n1,5;2\n")[1],
              HasSubstr("expected 1 column, got 2; delimiter=\";\" would split 'a;b' into 2 columns"));
  EXPECT_THAT(table_of(text, R"({"columns":["a"]})")[0], HasSubstr("got 'a'; delimiter=\";\""));
}

TEST(Csv, LinesThatEndWithACarriageReturnAloneAreAnError) {
  for (const char* options : {"{}", R"({"header":false})"})
    EXPECT_THAT(table_of("a,b\r1,2\r3,4\r", options)[0],
                HasSubstr("'x': expected rows that end with \\n or"));
  EXPECT_EQ(table_of("a,\"b\rc\"\n1,2\n").size(), 2u);
  EXPECT_EQ(table_of("a,b\r\n1,2\r\n").size(), 2u);
  EXPECT_THAT(table_of("\"a\rb\",c")[0], Not(HasSubstr("alone")));
}

TEST(Csv, TextInUtf16IsCalledSo) {
  const std::string text(
      "\xFF\xFE"
      "a\0,\0b\0\n\0"
      "1\0,\0"
      "2\0\n\0",
      18);
  EXPECT_THAT(table_of(text)[0], HasSubstr("expected text in UTF-8, got UTF-16"));
}

TEST(Csv, AQuoteThatIsNotClosedCostsWhatFollows) {
  EXPECT_THAT(
      table_of("a,b\n1,2\n3,\"4\n5,6\n"),
      ElementsAre("a: int64 (), b: int64 ()", "1 2",
                  "expected a closing quote for the last field, got none (line 3): x, record 1 at byte 8"));
}

TEST(Csv, EmptyLinesAreNoRows) {
  EXPECT_THAT(table_of("\n\na\r\n\r\n1\n\n\n2"), ElementsAre("a: int64 ()", "1", "2"));
  EXPECT_THAT(table_of("a\n\"\"\n"), ElementsAre("a: str", "''"));
}

TEST(Csv, ColumnsAreChosenNamedAndTyped) {
  EXPECT_THAT(table_of("a,b,c\n1,2,3\n", R"({"columns":["c","a"]})"),
              ElementsAre("c: int64 (), a: int64 ()", "3 1"));
  EXPECT_THAT(table_of("1,2\n3,4\n", R"({"header":false})"),
              ElementsAre("column_0: int64 (), column_1: int64 ()", "1 2", "3 4"));
  EXPECT_THAT(table_of("1,2\n", R"({"header":false,"names":["a","b"]})"),
              ElementsAre("a: int64 (), b: int64 ()", "1 2"));
  EXPECT_THAT(table_of("x,y\n1,2\n", R"({"names":["a","b"]})"),
              ElementsAre("a: int64 (), b: int64 ()", "1 2"));
  EXPECT_THAT(table_of(",b\n1,2\n"), ElementsAre("column_0: int64 (), b: int64 ()", "1 2"));
  EXPECT_THAT(table_of("a;b\n1;2\n", R"({"delimiter":";"})"), ElementsAre("a: int64 (), b: int64 ()", "1 2"));
  EXPECT_THAT(table_of("a\ntrue\n0\n", R"({"dtypes":{"a":"bool"}})"), ElementsAre("a: bool ()", "1", "0"));
}

TEST(Csv, DefaultsStandForEmptyFields) {
  EXPECT_THAT(table_of("a,b,c\n,,\n1,2,3\n", R"({"defaults":{"a":-1,"b":"0","c":7}, "dtypes":{"c":"str"}})"),
              ElementsAre("a: int64 (), b: int64 (), c: str", "-1 0 '7'", "1 2 '3'"));
  EXPECT_THAT(table_of("a\n1\n", R"({"defaults":{"a":"x"}})"),
              ElementsAre("csv: 'x': defaults: expected int64 for column 'a', got \"x\""));
}

TEST(Csv, OptionsSayWhatTheyWant) {
  EXPECT_THAT(table_of("a,b\n", R"({"columns":["c"]})"),
              ElementsAre("csv: 'x': columns: expected names of columns (a, b), got 'c'"));
  EXPECT_THAT(table_of("a,b\n", R"({"dtypes":{"c":"i64"}})"),
              ElementsAre("csv: 'x': dtypes: expected names of columns (a, b), got 'c'"));
  EXPECT_THAT(
      table_of("a,a\n"),
      ElementsAre("csv: 'x': expected distinct column names, got 'a' twice; rename them with names="));
  EXPECT_THAT(
      table_of("", "{}"),
      ElementsAre(
          "csv: 'x': expected at least one row, to find the columns, got none; name them with names="));
  EXPECT_THAT(table_of("a\n", R"({"delimiter":"::"})"),
              ElementsAre("csv: 'x': delimiter must be one ASCII character, not a line end, got '::'"));
}

TEST(Csv, FilesHaveTheSameColumns) {
  MemoryStore store;
  store.add("d/1.csv", "a,b\n1,2\n");
  store.add("d/2.csv", "");
  store.add("d/3.csv", "a,b\n3,4.5\n");
  store.add("e/1.csv", "a,b\n1,2\n");
  store.add("e/2.csv", "a,c\n1,2\n");
  EXPECT_THAT(table_of(store, "d"), ElementsAre("a: int64 (), b: float64 ()", "1 2.0", "3 4.5"));
  EXPECT_THAT(
      table_of(store, "e"),
      ElementsAre("csv: 'e': 'e/2.csv': expected the columns of the files before it (a, b), got a, c"));
}

TEST(Csv, IsRecognisedByItsNameAndText) {
  MemoryStore store;
  store.add("a.csv", "a,b\n1,2\n");
  store.add("a.tsv", "a\tb\n1\t2\n");
  store.add("a.csv.gz", deflated("a,b\n1,2\n", Wrap::gzip));
  store.add("data", "a,b\n1,2\n");
  store.add("binary.csv", std::string("a,b\0,2\n", 7));
  for (const char* path : {"a.csv", "a.tsv", "a.csv.gz"}) {
    const auto source = open_source(store, path);
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ((*source)->schema().text(), "a: int64 (), b: int64 ()") << path;
  }
  EXPECT_FALSE(open_source(store, "data").ok());
  EXPECT_FALSE(open_source(store, "binary.csv").ok());
  store.add("one.csv",
            "\xEF\xBB\xBF"
            "a\r\n1\r\n");
  const auto one = open_source(store, "one.csv");
  ASSERT_TRUE(one.ok()) << one.status().text();
  EXPECT_EQ((*one)->schema().text(), "a: int64 ()");
  store.add("empty.csv", "\n"), store.add("bytes.csv", "a\x01\n1\n");
  EXPECT_FALSE(open_source(store, "empty.csv").ok());
  EXPECT_FALSE(open_source(store, "bytes.csv").ok());
}

TEST(Csv, RowsCrossTheWindowsOfTheWalk) {
  std::string text = "n,t\n";
  for (int i = 0; i < 3000; ++i)
    text += std::to_string(i) + ",\"" + std::string(static_cast<size_t>(i * 37 % 1500), 'x') + "\n,\"\n";
  MemoryStore store;
  store.add("plain", text);
  store.add("packed", deflated(text, Wrap::gzip));
  const std::vector<std::string> plain = table_of(store, "plain");
  ASSERT_EQ(plain.size(), 3001u);
  EXPECT_EQ(plain[3000], "2999 '" + std::string(2999 * 37 % 1500, 'x') + "\n,'");
  EXPECT_EQ(table_of(store, "packed"), plain);
  EXPECT_THAT((*open_source(store, "plain", "csv"))->where(2999).text(),
              HasSubstr("plain, line 6000 at byte "));
}

TEST(Csv, AByteOrderMarkIsNoPartOfTheHeader) {
  EXPECT_THAT(table_of("\xEF\xBB\xBF\"a\n\",b\n1,2\n"), ElementsAre("a\n: int64 (), b: int64 ()", "1 2"));
  EXPECT_THAT(table_of("a\n"), ElementsAre("a: str"));
}

// Whether rows put straight into columns are the same as rows read one by one.
bool puts_what_it_reads(const std::string& text, std::string_view options = "{}") {
  MemoryStore store;
  store.add("x", text);
  const auto source = open_source(store, "x", "csv", object(options));
  if (!source.ok()) return true;
  const auto [block, size] = read_together(store, **source, (*source)->size());
  return !block || puts_what_it_gets(*block, (*source)->schema(), size);
}

TEST(CsvColumns, AreFilledWithWhatIsReadRowByRow) {
  const std::string_view typed = R"({"dtypes":{"a":"str","b":"f64"}})";
  for (const char* text : {
           "a,b\n1,2\n3,4\n",
           "a,b\r\n\"x,y\",1\r\n\"two\nlines\r\nhere\",2\r\n\"say \"\"hi\"\"\",\"3\"\r\n\"\",4",
           "a,b\n,1\n\"\",2\nx,\n,\n y , 5\t\n",               // nothing, blanks
           "a,b\n1\n1,2,3\nx,1\n\n\n\"y\"z,1\n\"y\" ,1\nx,1",  // other lengths, what follows a quote
           "a,b\nx,\"1\"\"2\"\nx,\"1\"2\nx,\"1,5\"\nx,\"\"\n",
           "a,b\nx,+1\nx,1e999\nx,nan\nx,-inf\nx,1e-999\nx,0x1\nx,1_0\nx,--1\n",
           "a,b\n\xC3\xA4,1\n\xC3,1\n\xA4,1\nx,1\nx\xC3\n\xA4,1\n\"\xC3\"\"\xA4\",2\n\"\xC3\xA4\"\"\",2",
           "a,b\nit\"s,5\nx,\"6\n7,8\n",
       }) {
    EXPECT_TRUE(puts_what_it_reads(text)) << text;
    EXPECT_TRUE(puts_what_it_reads(text, typed)) << text;
    EXPECT_TRUE(puts_what_it_reads(text, R"({"dtypes":{"b":"f32"},"defaults":{"a":"none","b":-1}})")) << text;
    EXPECT_TRUE(puts_what_it_reads(text, R"({"dtypes":{"a":"bytes","b":"bool"},"quote":""})")) << text;
    EXPECT_TRUE(puts_what_it_reads(text, R"({"columns":["b"],"dtypes":{"b":"u8"}})")) << text;
    EXPECT_TRUE(puts_what_it_reads(text, R"({"header":false,"delimiter":"1"})")) << text;
    EXPECT_TRUE(puts_what_it_reads(text, R"({"header":false,"delimiter":"x","quote":"1"})")) << text;
  }
}

TEST(CsvColumns, OfTablesOfAllKindsAreFilledWithWhatIsReadRowByRow) {
  const std::string_view pieces[] = {
      "1",
      "-2.5",
      "x",
      ",",
      ",",
      ",",
      "\"",
      "\"\"",
      "\"a,b\"",
      "\"1\"",
      "\n",
      "\n",
      "\r\n",
      "\xC3\xA4",
      "\xC3",
      " ",
      "123456789012345678901",
      "1e5",
      "",
      "a text that is longer than sixty-four bytes, so that words of bits end in it"};
  std::mt19937_64 draw(1);
  for (int i = 0; i < 400; ++i) {
    std::string text = "a,b,c\n";
    for (int n = static_cast<int>(draw() % 120); n > 0; --n) text += pieces[draw() % std::size(pieces)];
    const std::string_view options =
        i % 2 == 0 ? R"({"dtypes":{"a":"i64","b":"bytes","c":"str"},"defaults":{"a":7}})"
                   : R"({"dtypes":{"a":"str","b":"f64"},"columns":["b","a"]})";
    EXPECT_TRUE(puts_what_it_reads(text, options)) << text;
  }
}

TEST(CsvNumbers, AreRoundedOnceAndRefusedWhereTheyDoNotFit) {
  const auto parsed = [](std::string_view text, DType dtype) {
    std::byte out[8] = {};
    if (!parse_number(text, dtype, out)) return std::string("none");
    if (dtype == DType::f32) return std::to_string(*reinterpret_cast<float*>(out));
    if (dtype == DType::f64) return Value(*reinterpret_cast<double*>(out)).dump();
    return std::to_string(*reinterpret_cast<int64_t*>(out));
  };
  EXPECT_EQ(parsed("255", DType::u8), "255");
  EXPECT_EQ(parsed("256", DType::u8), "none");
  EXPECT_EQ(parsed("-1", DType::u8), "none");
  EXPECT_EQ(parsed(" +7 ", DType::i64), "7");
  EXPECT_EQ(parsed("+-7", DType::i64), "none");
  EXPECT_EQ(parsed("1.0", DType::i64), "none");
  EXPECT_EQ(parsed("", DType::f64), "none");
  EXPECT_EQ(parsed("0.1", DType::f64), "0.1");
  EXPECT_EQ(parsed("16777217", DType::f32), "16777216.000000");
  EXPECT_EQ(parsed("1e-400", DType::f64), "0.0");
  EXPECT_EQ(parsed("1e-99999", DType::f64), "0.0");
  EXPECT_EQ(parsed("-1e400", DType::f32), "-inf");
  EXPECT_EQ(parsed("1e99999", DType::f32), "inf");
  EXPECT_EQ(parsed("yes", DType::boolean), "none");
}

}  // namespace

namespace trial {
namespace {

std::string number(int64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

SourceCase csv_files() {
  SourceCase out;
  out.files = {{"d/a.csv", "n,t\n1,one\n-2,\"tw\"\"o\n\"\n"}, {"d/b.csv", "n,t\r\n30,\r\n"}};
  const auto row = [&](int64_t n, std::string_view t) {
    out.samples.push_back(field_text(DType::i64, {}, number(n)) +
                          field_text(DType::str, {static_cast<int64_t>(t.size())}, t));
  };
  row(1, "one"), row(-2, "tw\"o\n"), row(30, "");
  out.open = by_registered_format("csv");
  out.cut = Cut::is_not_seen;  // a field that is cut is a shorter field
  return out;
}
INSTANTIATE_TEST_SUITE_P(Csv, SourceConformance, ::testing::Values(csv_files));

}  // namespace
}  // namespace trial
}  // namespace headrace
