#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

#include "headrace/formats/opening/open.h"
#include "headrace/formats/parquet/changes.h"
#include "headrace/formats/parquet/contents.h"
#include "headrace/formats/parquet/encodings.h"
#include "headrace/formats/parquet/metadata.h"
#include "headrace/formats/parquet/writing/new_thrift.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace::parquet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Span bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <size_t N> std::string raw(const char (&text)[N]) { return std::string(text, N - 1); }

// ---- encodings, as in the specification

TEST(ParquetEncodings, RunsAndBits) {
  std::vector<uint32_t> out(8);
  ASSERT_TRUE(
      read_runs(bytes_of(raw("\x03\x88\xc6\xfa")), 3, std::span(out)).ok());  // 0 … 7, from the specification
  EXPECT_THAT(out, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  out.assign(5, 9);
  ASSERT_TRUE(read_runs(bytes_of(raw("\x06\x02\x04\x01")), 2, std::span(out)).ok());  // three of 2, two of 1
  EXPECT_THAT(out, ElementsAre(2, 2, 2, 1, 1));
  out.assign(300, 9);
  ASSERT_TRUE(read_runs(bytes_of(raw("\xd8\x04")), 0, std::span(out)).ok());  // no bits: zeros
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0u), 0u);
  std::vector<uint8_t> levels(4);
  EXPECT_TRUE(is_one_run(bytes_of(raw("\x08\x01")), 1, 4, 1));
  EXPECT_FALSE(is_one_run(bytes_of(raw("\x06\x01")), 1, 4, 1));
  for (const std::string& bad :
       {raw(""), raw("\x06"), raw("\x03"), raw("\x06\x05"), raw("\xff\xff\xff\xff\xff\xff")})
    EXPECT_EQ(read_runs(bytes_of(bad), 1, std::span(levels)).code(), Code::corrupt) << bad;
  ASSERT_TRUE(read_old_levels(bytes_of(raw("\x1b")), 2, levels).ok());
  EXPECT_THAT(levels, ElementsAre(0, 1, 2, 3));
}

TEST(ParquetEncodings, BitsOfEveryWidth) {
  for (int width = 0; width <= 64; ++width) {
    std::vector<uint64_t> wanted(37), got(37, 1);
    std::string packed(static_cast<size_t>(width) * 40 / 8, '\0');
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = width == 0 ? 0 : (0x9e3779b97f4a7c15u * (i + 1)) >> (64 - width);
      for (size_t b = 0, bit = i * static_cast<size_t>(width); b < static_cast<size_t>(width); ++b, ++bit)
        packed[bit / 8] = static_cast<char>(packed[bit / 8] | (wanted[i] >> b & 1) << (bit % 8));
    }
    packed.resize((37 * static_cast<size_t>(width) + 7) / 8);
    unpack_bits(bytes_of(packed), width, got.size(), got.data());
    EXPECT_EQ(got, wanted) << width;
  }
}

TEST(ParquetEncodings, Deltas) {
  // 7, 5, 3, 1, 2, 3, 4, 5: the specification's second example, in a block of 128.
  const std::string text =
      raw("\x80\x01\x04\x08\x0e\x03\x02\x00\x00\x00") + raw("\xc0\x3f") + std::string(6, '\0');
  std::vector<int32_t> out(8);
  Span bytes = bytes_of(text);
  ASSERT_TRUE(read_delta(bytes, std::span(out)).ok());
  EXPECT_THAT(out, ElementsAre(7, 5, 3, 1, 2, 3, 4, 5));
  EXPECT_TRUE(bytes.empty());
  const auto refused = [&](std::string bad) {
    Span given = bytes_of(bad);
    return read_delta(given, std::span(out)).code() == Code::corrupt;
  };
  EXPECT_TRUE(refused(text.substr(0, 9)));
  EXPECT_TRUE(refused(raw("\x01\x01\x08\x0e\x03\x02")));                  // blocks of one
  EXPECT_TRUE(refused(raw("\x80\x01\x00\x08\x0e\x03\x02")));              // no miniblocks
  EXPECT_TRUE(refused(raw("\x80\x01\x04\xff\xff\xff\xff\x0f\x0e\x03")));  // of 2^32 values
  EXPECT_TRUE(refused(raw("\x80\x01\x04\x08\x0e\x03\x41\x00\x00\x00")));  // of 65 bits
}

TEST(ParquetEncodings, Texts) {
  std::vector<Piece> out(2);
  const std::string plain = raw("\x02\x00\x00\x00hi\x00\x00\x00\x00");
  ASSERT_TRUE(read_plain_texts(bytes_of(plain), 0, 3, out).ok());
  EXPECT_EQ(out[0].offset, 4u);
  EXPECT_EQ(out[0].length, 2u);
  EXPECT_EQ(out[1].length, 0u);
  EXPECT_EQ(read_plain_texts(bytes_of(raw("\xff\xff\xff\xffhi")), 0, 3, out).code(), Code::corrupt);
  // Lengths of prefixes (0, 2, 4) and of suffixes (3, 2, 0), then "abc" and "de".
  const auto deltas = [](std::initializer_list<int> values) {
    std::string head = raw("\x80\x01\x04") + static_cast<char>(values.size()) +
                       static_cast<char>(2 * *values.begin()) + raw("\x15\x08\x00\x00\x00");  // from -11 on
    std::string bits(32, '\0');
    for (size_t i = 1; i < values.size(); ++i)
      bits[i - 1] = static_cast<char>(values.begin()[i] - values.begin()[i - 1] + 11);
    return head + bits;
  };
  out.assign(3, {});
  const auto made = read_delta_texts(bytes_of(deltas({0, 2, 4}) + deltas({3, 2, 0}) + "abcde"), 1, 100, out);
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>((*made)->data()), (*made)->size()), "abcabdeabde");
  EXPECT_EQ(read_delta_texts(bytes_of(deltas({1, 2, 4}) + deltas({3, 2, 0}) + "abcde"), 1, 100, out)
                .status()
                .code(),
            Code::corrupt);
  EXPECT_EQ(
      read_delta_texts(bytes_of(deltas({0, 2, 4}) + deltas({3, 2, 0}) + "abc"), 1, 100, out).status().code(),
      Code::corrupt);
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

// DELTA_BINARY_PACKED of `count` numbers, each `step` more than the previous one.
std::string delta_line(uint64_t count, int64_t first, int64_t step) {
  const auto zigzag = [](int64_t value) {
    return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
  };
  return varint(uint64_t{1} << 21) + varint(1) + varint(count) + varint(zigzag(first)) +
         varint(zigzag(step)) + raw("\x00");
}

// Each string is the previous one and a letter: 2 MiB that would decode to half a terabyte.
TEST(ParquetEncodings, TextsThatRepeatThemselvesAreRefusedBeforeMemoryIsTaken) {
  constexpr size_t kTexts = 1 << 20;
  std::vector<Piece> out(kTexts);  // each repeats the previous one and adds a letter
  const std::string text = delta_line(kTexts, 0, 1) + delta_line(kTexts, 1, 0) + std::string(kTexts, 'x');
  const auto made = read_delta_texts(bytes_of(text), 1, uint64_t{1} << 30, out);
  EXPECT_EQ(made.status().code(), Code::exhausted) << made.status().text();
}

TEST(ParquetChanges, DecimalsAreTheNearestFloats) {
  EXPECT_EQ(*read_decimal(bytes_of(raw("\xff\x85")), 2), -1.23);
  EXPECT_EQ(
      *read_decimal(bytes_of(raw("\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")), 10),
      17014118346046923173168730371.5884105727);
  EXPECT_EQ(read_decimal({}, 2).status().code(), Code::corrupt);
  EXPECT_EQ(read_decimal(bytes_of(std::string(17, 'x')), 2).status().code(), Code::corrupt);
}

// ---- files

std::string small_parquet(const std::string& name) {
  std::ifstream in(std::string(HEADRACE_TEST_SOURCES_DATA) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Result<SourcePtr> open_bytes(MemoryStore& store, std::string bytes, const Value& options = {}) {
  store.add("x.parquet", std::move(bytes));
  return open_source(store, "x.parquet", "parquet", options);
}

// The error of a file: when it is opened, or of its first row.
std::string error_of(std::string bytes, const Value& options = {}) {
  MemoryStore store;
  const auto source = open_bytes(store, std::move(bytes), options);
  if (!source.ok()) return std::string(source.status().text());
  if ((*source)->size() == 0) return "no rows";
  const auto fields = read_sample(**source, 0, store);
  return fields.ok() ? "" : std::string(fields.status().text());
}

constexpr int32_t kI32 = 1, kI64 = 2, kF64 = 5, kBytes = 6;

// A file of one column with the given page, header included, that states `rows` rows. `type`: that of the
// schema; `stored`: that of the pages.
std::string one_page(const std::string& page, int64_t rows, int64_t codec = 0, int32_t repetition = 0,
                     int32_t type = kI32, int32_t stored = -1) {
  std::string out = "PAR1" + page;
  NewThrift footer;
  footer.small(1, 1);
  footer.list_of_structures(2, 2);
  footer.begin_element(), footer.text(4, "root"), footer.small(5, 1), footer.end();
  footer.begin_element(), footer.small(1, type), footer.small(3, repetition), footer.text(4, "x"),
      footer.end();
  footer.number(3, rows);
  footer.list_of_structures(4, 1);
  footer.begin_element();
  footer.list_of_structures(1, 1);
  footer.begin_element(), footer.begin(3);
  footer.small(1, stored < 0 ? type : stored), footer.small(4, static_cast<int32_t>(codec));
  footer.number(5, rows);
  footer.number(6, static_cast<int64_t>(page.size())), footer.number(7, static_cast<int64_t>(page.size()));
  footer.number(9, 4);
  footer.end(), footer.end();
  footer.number(3, rows);
  footer.end();
  const std::string text = std::move(footer).finish();
  const auto length = static_cast<uint32_t>(text.size());
  return out + text + std::string(reinterpret_cast<const char*>(&length), 4) + "PAR1";
}

std::string page_of(const std::string& body, int32_t values, int32_t encoding = 0, int32_t unpacked = -1) {
  NewThrift head;
  head.small(1, 0), head.small(2, unpacked < 0 ? static_cast<int32_t>(body.size()) : unpacked);
  head.small(3, static_cast<int32_t>(body.size()));
  head.begin(5), head.small(1, values), head.small(2, encoding), head.small(3, 3), head.small(4, 3),
      head.end();
  return std::move(head).finish() + body;
}

TEST(ParquetFiles, AHandMadeFileIsRead) {
  MemoryStore store;
  const auto source = open_bytes(store, one_page(page_of(raw("\x07\0\0\0\x08\0\0\0"), 2), 2));
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "x: int32 ()");
  EXPECT_EQ(*(*read_sample(**source, 1, store))[0].view().as<int32_t>(), 8);
}

TEST(ParquetFiles, DamageIsNamed) {
  const std::string good = one_page(page_of(raw("\x07\0\0\0\x08\0\0\0"), 2), 2);
  EXPECT_EQ(error_of(good), "");
  EXPECT_THAT(error_of(good.substr(0, good.size() - 1)), HasSubstr("expected PAR1 at both ends of the file"));
  EXPECT_THAT(error_of("PAR1"), HasSubstr("expected a file of at least 12 bytes, got 4"));
  EXPECT_THAT(error_of("PAR1" + raw("\xff\xff\xff\x7f") + "PAR1"),
              HasSubstr("expected a footer of at most 0 bytes, got 2147483647"));
  EXPECT_THAT(error_of("PARE" + std::string(8, '\0') + "PARE"), HasSubstr("cannot read an encrypted footer"));
  const auto page = [](const std::string& bytes, int64_t rows) { return error_of(one_page(bytes, rows)); };
  EXPECT_THAT(page(page_of(raw("\x07\0\0\0"), 2), 2),
              HasSubstr("column 'x', page at byte 4: expected 8 bytes of values, but the page has 4"));
  EXPECT_THAT(page(page_of(raw("\x07\0\0\0"), 1), 2), HasSubstr("column 'x': expected 2 rows, got 1"));
  EXPECT_THAT(page(page_of(raw("\x02\x02\x01"), 1, 8), 1),
              HasSubstr("expected a dictionary before dictionary indices"));
  EXPECT_THAT(page(page_of(raw("\0\0\0\0"), 1, 6), 1), HasSubstr("got DELTA_LENGTH_BYTE_ARRAY"));
  EXPECT_THAT(page("\x15", 1), HasSubstr("expected a page header"));
  EXPECT_THAT(error_of(one_page(page_of("abc", 1, 0, 1 << 30), 1, 1)),
              HasSubstr("compressed bytes to unpack to at most 268435456"));
  EXPECT_THAT(error_of(one_page(page_of(raw("\x07\0\0\0"), 1), 1, 3)), HasSubstr("cannot decompress LZO"));
}

TEST(ParquetFiles, NumbersOfRowsAreBounded) {
  const auto text = error_of(one_page(page_of(raw("\x07\0\0\0"), 1), int64_t{1} << 60));
  EXPECT_THAT(text, HasSubstr("expected at most 16777216 rows in "));
}

// Millions of nulls in a few bytes are valid; they take the memory of that many values, once.
TEST(ParquetFiles, ManyNullsInFewBytes) {
  const int32_t rows = 1 << 24;
  const std::string levels = raw("\x05\0\0\0\x80\x80\x80\x10") + raw("\0");  // a run of 2^24 levels 0
  const auto begin = std::chrono::steady_clock::now();
  MemoryStore store;
  Value options{Value::Object()};
  options.set("nulls", "zero");
  const auto source = open_bytes(store, one_page(page_of(levels, rows), rows, 0, 1), options);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->size(), uint64_t{1} << 24);
  const auto last = read_sample(**source, (1 << 24) - 1, store);
  ASSERT_TRUE(last.ok()) << last.status().text();
  EXPECT_EQ(*(*last)[0].view().as<int32_t>(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

// Each page is within the limit for a column of a few bytes; all of them together are not.
TEST(ParquetFiles, WhatPagesAreMadeIntoIsBoundedTogether) {
  constexpr int32_t kTexts = 8000, kPages = 16;  // 32 MB per page
  const std::string body = delta_line(kTexts, 0, 1) + delta_line(kTexts, 1, 0) + std::string(kTexts, 'x');
  const std::string page = page_of(body, kTexts, 7);
  std::string pages;
  for (int i = 0; i < kPages; ++i) pages += page;
  EXPECT_EQ(error_of(one_page(page, kTexts, 0, 0, kBytes)), "");
  EXPECT_THAT(error_of(one_page(pages, kTexts * kPages, 0, 0, kBytes)),
              HasSubstr("expected delta-encoded strings of at most "));
}

std::string dictionary_page(const std::string& body, int32_t values) {
  NewThrift head;
  head.small(1, 2), head.small(2, static_cast<int32_t>(body.size()));
  head.small(3, static_cast<int32_t>(body.size()));
  head.begin(7), head.small(1, values), head.small(2, 0), head.end();
  return std::move(head).finish() + body;
}

// Rows ["ab", "c"], [] and ["", "def"]: repetition levels, definition levels, strings.
std::string page_of_lists() {
  return page_of(raw("\2\0\0\0\x03\x12") + raw("\2\0\0\0\x03\x1b") + raw("\2\0\0\0ab\1\0\0\0c") +
                     raw("\0\0\0\0\3\0\0\0def"),
                 5);
}

std::vector<int64_t> lengths_in(const Tensor& tensor) {
  const auto* first = tensor.view().as<int64_t>();
  return {first, first + tensor.shape[0]};
}

TEST(ParquetFiles, TextsOfAListAreOneTextAndItsLengths) {
  for (const auto& [columns, structure] : std::vector<std::pair<Value::List, std::string>>{
           {Value::List{}, R"({"x":{"values":0,"lengths":1}})"},
           {Value::List{"x/lengths", "x/values"}, R"({"x/lengths":0,"x/values":1})"},
           {Value::List{"x/lengths"}, R"({"x/lengths":0})"},
           {Value::List{"x/values"}, R"({"x/values":0})"}}) {
    MemoryStore store;
    Value options{Value::Object()};
    options.set("columns", columns);
    const auto source = open_bytes(store, one_page(page_of_lists(), 3, 0, 2, kBytes), options);
    ASSERT_TRUE(source.ok()) << source.status().text();
    const Schema& schema = (*source)->schema();
    EXPECT_EQ(schema.structure, structure);
    const std::vector<std::string> texts{"abc", "", "def"};
    const std::vector<std::vector<int64_t>> lengths{{2, 1}, {}, {0, 3}};
    for (uint64_t row = 0; row < 3; ++row) {
      const auto fields = read_sample(**source, row, store);
      ASSERT_TRUE(fields.ok()) << fields.status().text();
      if (const int at = schema.find("x/values"); at >= 0) {
        const auto bytes = (*fields)[static_cast<size_t>(at)].view().bytes();
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), texts[row]);
      }
      if (const int at = schema.find("x/lengths"); at >= 0) {
        EXPECT_EQ(lengths_in((*fields)[static_cast<size_t>(at)]), lengths[row]);
      }
    }
  }
}

// A dictionary string of one mebibyte, and a list of 2^20 references to it: a tebibyte.
TEST(ParquetFiles, TextsOfListsThatRepeatThemselvesAreRefusedBeforeMemoryIsTaken) {
  constexpr uint32_t kItems = 1 << 20;
  const std::string run = varint(uint64_t{kItems} << 1);
  const auto levels = [](const std::string& bytes) {
    const auto length = static_cast<uint32_t>(bytes.size());
    return std::string(reinterpret_cast<const char*>(&length), 4) + bytes;
  };
  const std::string reps = levels(varint(2) + raw("\0") + varint(uint64_t{kItems - 1} << 1) + raw("\1"));
  const std::string page = page_of(reps + levels(run + raw("\1")) + raw("\1") + run + raw("\0"), kItems, 8);
  const std::string text = raw("\0\0\x10\0") + std::string(1 << 20, 'x');
  EXPECT_THAT(error_of(one_page(dictionary_page(text, 1) + page, 1, 0, 2, kBytes)),
              HasSubstr("expected strings of lists of at most "));
}

// One value 30 million times: up to a thousand values per byte are accepted, more are not.
TEST(ParquetFiles, ManyEqualValuesAreReadWhereTheirNumberFitsTheirBytes) {
  const auto file = [](size_t dictionary, int32_t rows) {
    const std::string run = raw("\x01") + varint(static_cast<uint64_t>(rows) << 1) + raw("\x00");
    return one_page(dictionary_page(std::string(8 * dictionary, '\x07'), static_cast<int32_t>(dictionary)) +
                        page_of(run, rows, 8),
                    rows, 0, 0, kI64);
  };
  EXPECT_EQ(error_of(file(4000, 30'000'000)), "");
  EXPECT_THAT(error_of(file(1, 1 << 24)), "");
  EXPECT_THAT(error_of(file(4000, 40'000'000)), HasSubstr("expected at most 32"));
}

// Fifty columns whose page indexes are the same bytes.
TEST(ParquetFiles, IndexesThatOverlapAreAsGoodAsNone) {
  constexpr int32_t kColumns = 50, kPages = 5000;
  const std::string pages(kColumns * (40 << 10), '\0');
  NewThrift places;
  places.list_of_structures(1, kPages);
  for (int32_t i = 0; i < kPages; ++i)
    places.begin_element(), places.number(1, 4 + i), places.small(2, 1), places.number(3, i), places.end();
  const std::string index = std::move(places).finish();
  NewThrift footer;
  footer.small(1, 1);
  footer.list_of_structures(2, kColumns + 1);
  footer.begin_element(), footer.text(4, "root"), footer.small(5, kColumns), footer.end();
  for (int i = 0; i < kColumns; ++i)
    footer.begin_element(), footer.small(1, kI32), footer.small(3, 0),
        footer.text(4, "x" + std::to_string(i)), footer.end();
  footer.list_of_structures(4, 1);
  footer.begin_element();
  footer.list_of_structures(1, kColumns);
  for (int i = 0; i < kColumns; ++i) {
    footer.begin_element(), footer.begin(3);
    footer.small(1, kI32), footer.small(4, 0), footer.number(5, kPages), footer.number(6, 1);
    footer.number(7, 40 << 10), footer.number(9, 4);
    footer.end();
    footer.number(4, static_cast<int64_t>(4 + pages.size())),
        footer.small(5, static_cast<int32_t>(index.size()));
    footer.end();
  }
  footer.number(3, kPages);
  footer.end();
  const std::string text = std::move(footer).finish();
  const auto length = static_cast<uint32_t>(text.size());
  const std::string bytes =
      "PAR1" + pages + index + text + std::string(reinterpret_cast<const char*>(&length), 4) + "PAR1";
  const auto kept = [&](std::vector<std::string> columns) {
    const auto opening = index_parquet({"x", bytes.size()}, {}, std::move(columns));
    std::vector<BufferPtr> given;
    for (;;) {
      auto step = opening->advance(given);
      if (!step.ok()) return ADD_FAILURE() << step.status().text(), Contents();
      if (const FileIndex* done = std::get_if<FileIndex>(&*step)) return *unpack(done->extra);
      given.clear();
      for (const Extent& one : std::get<std::vector<Extent>>(*step)) {
        const MutableBufferPtr made = HeapBuffer::make(one.length);
        std::memcpy(made->mutable_data(), bytes.data() + one.offset, one.length);
        given.push_back(made);
      }
    }
  };
  EXPECT_EQ(kept({}).pages.size(), 1u);
  EXPECT_EQ(kept({"x3"}).pages.size(), 1u);  // no other column's index is read
  EXPECT_EQ(kept({"x3"}).pages.begin()->first.leaf, 3u);
}

TEST(ParquetFiles, PlacesOfPagesAreWholeAndNotEmpty) {
  const auto read = [](bool has_row, int32_t size) {
    NewThrift out;
    out.list_of_structures(1, 1);
    out.begin_element(), out.number(1, 4), out.small(2, size);
    if (has_row) out.number(3, 0);
    out.end();
    const std::string text = std::move(out).finish();
    return read_offset_index(bytes_of(text)).ok();
  };
  EXPECT_TRUE(read(true, 10));
  EXPECT_FALSE(read(false, 10));
  EXPECT_FALSE(read(true, 0));
}

TEST(ParquetFiles, AnOptionThatChangesSamplesIsOfTheFingerprint) {
  MemoryStore store;
  const std::string bytes = one_page(page_of(raw("\x07\0\0\0"), 1), 1);
  Value zero{Value::Object()};
  zero.set("nulls", "zero");
  const auto one = open_bytes(store, bytes), other = open_bytes(store, bytes, zero);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE((*one)->fingerprint(), (*other)->fingerprint());
}

TEST(ParquetFiles, MetadataThatLiesEndsSoon) {
  // Lists of 2^60 elements, nested structures, fields that never end.
  for (const std::string& footer :
       {raw("\x29\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x0f"), std::string(100000, '\x1c'),
        raw("\x19\xf9") + std::string(100000, '\xf9'), std::string(1000, '\x8b')}) {
    const auto length = static_cast<uint32_t>(footer.size());
    EXPECT_THAT(error_of("PAR1" + footer + std::string(reinterpret_cast<const char*>(&length), 4) + "PAR1"),
                HasSubstr("expected a"));
  }
}

Value options_with(const char* name, Value value) {
  Value out{Value::Object()};
  out.set(name, std::move(value));
  return out;
}

// Compilers differ on whether a list in double braces is a copy, or a list of one.
Value conditions(std::initializer_list<Value::List> all) {
  Value::List out;
  for (const Value::List& one : all) out.emplace_back(one);
  return out;
}

TEST(ParquetFiles, ConditionsDecideWhatRowsThereAre) {
  for (const char* name : {"table_plain.parquet", "table_v2.parquet", "table_snappy.parquet"}) {
    MemoryStore store;
    const auto rows = [&](std::initializer_list<Value::List> all) {
      Value options = options_with("where", conditions(all));
      options.set("columns", Value::List{"score"});
      const auto source = open_bytes(store, small_parquet(name), options);
      EXPECT_TRUE(source.ok()) << source.status().text();
      std::vector<float> out;
      for (uint64_t i = 0; source.ok() && i < (*source)->size(); ++i)
        out.push_back(8 * (1 + *(*read_sample(**source, i, store))[0].view().as<float>()));
      return out;
    };
    EXPECT_THAT(rows({Value::List{"score", ">=", 0.125}}), ElementsAre(9, 10));
    EXPECT_THAT(rows({Value::List{"class", "==", 6007}}), ElementsAre(1));
    EXPECT_THAT(rows({Value::List{"synset", "==", "n1"}, Value::List{"score", "<", 0}}),
                ElementsAre(1, 4, 7));
    EXPECT_THAT(rows({Value::List{"image/path", "in", Value(Value::List{"3.jpg", "x"})}}), ElementsAre(3));
    EXPECT_THAT(rows({Value::List{"class", "!=", 0}}).size(), 10u);
    EXPECT_THAT(rows({Value::List{"class", ">", 1 << 20}}), ElementsAre());
  }
  const auto refused = [](Value::List one) {
    return error_of(small_parquet("table_plain.parquet"),
                    options_with("where", conditions({std::move(one)})));
  };
  EXPECT_THAT(refused(Value::List{"nowhere", "<", 1}), HasSubstr("got 'nowhere'"));
  EXPECT_THAT(refused(Value::List{"class", "~", 1}), HasSubstr("where: the operator must be ==, !="));
  EXPECT_THAT(refused(Value::List{"class", "<", "x"}),
              HasSubstr("where: expected numbers for column 'class', got \"x\""));
  EXPECT_THAT(refused(Value::List{"boxes", "<", 1}), HasSubstr("'boxes' is int32 (?)"));
}

TEST(ParquetFiles, AConditionLooksAtPagesOfItsColumnsType) {
  const std::string page = page_of(raw("\x07\0\0\0\x08\0\0\0"), 1);
  const Value options = options_with("where", conditions({Value::List{"x", "<", 1}}));
  EXPECT_THAT(error_of(one_page(page, 1, 0, 0, kF64, kI32), options),
              HasSubstr("row group 0: column 'x': expected pages of the schema's type, got another type"));
}

}  // namespace
}  // namespace headrace::parquet
