#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "headrace/formats/arrow/compression.h"
#include "headrace/formats/arrow/index.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// Files that tests/sources/data/make.py wrote.
std::string small(const std::string& name) {
  std::ifstream in(std::string(HEADRACE_TEST_SOURCES_DATA) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Value columns(std::initializer_list<const char*> names) {
  Value out{Value::Object()};
  out.set("columns", Value::List(names.begin(), names.end()));
  return out;
}

Result<SourcePtr> open_one(Store& store, const std::string& path, const Value& options = {}) {
  return open_source(store, path, {}, options);
}

MemoryStore store_of(const std::string& name, std::string bytes) {
  MemoryStore store;
  store.add(name, std::move(bytes));
  return store;
}

std::string error_of(const std::string& bytes, const Value& options = {}) {
  MemoryStore store = store_of("x", bytes);
  const auto source = open_source(store, "x", "arrow", options);
  return source.ok() ? "" : std::string(source.status().text());
}

TEST(Arrow, IsRecognisedByItsFirstBytes) {
  for (const char* name : {"table_plain.arrow", "rows.arrow", "nulls.arrows"}) {
    MemoryStore store = store_of("x", small(name));
    const auto source = open_one(store, "x");
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ((*source)->describe().find("format")->dump(), "\"arrow\"");
  }
  EXPECT_EQ(arrow::form_of({}), arrow::Form::none);
  EXPECT_THAT(error_of("no arrow"), HasSubstr("expected ARROW1 or a schema message at byte 0"));
}

TEST(Arrow, RowsOfASmallBatchShareItsBytes) {
  MemoryStore store = store_of("x", small("table_lz4.arrow"));
  const auto source = open_one(store, "x");
  ASSERT_TRUE(source.ok()) << source.status().text();
  const Place third = (*source)->place(6), fourth = (*source)->place(7);
  EXPECT_EQ(third.block, fourth.block);
  EXPECT_EQ(third.row + 1, fourth.row);
  const auto block = drive_block(**source, third.block, store);
  ASSERT_TRUE(block.ok()) << block.status().text();
  EXPECT_GT((*block)->held_bytes(), 0u);
  std::vector<Tensor> first, second;
  ASSERT_TRUE((*block)->get(0, first).ok() && (*block)->get(1, second).ok());
  EXPECT_EQ(first[0].buffer, second[0].buffer);
}

TEST(Arrow, BatchesOfOneRowLieInOneExtentEachSideBySide) {
  MemoryStore store = store_of("x", small("rows.arrow"));
  const auto source = open_one(store, "x", columns({"class"}));
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), 11u);
  const std::vector<uint64_t> indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<Extent> extents(11);
  ASSERT_TRUE((*source)->extents(indices, extents));
  for (uint64_t i = 0; i < 11; ++i) {
    if (i > 0) {
      EXPECT_EQ(extents[i].offset, extents[i - 1].offset + extents[i - 1].length);
    }
    const Place place = (*source)->place(i);
    EXPECT_EQ(place.block + place.row, i);
    const auto step = (*source)->open(place.block)->advance({});
    ASSERT_TRUE(step.ok());
    EXPECT_EQ(std::get<std::vector<Extent>>(*step).size(), 1u);
    const auto fields = read_sample(**source, i, store);
    ASSERT_TRUE(fields.ok()) << fields.status().text();
    EXPECT_EQ(*(*fields)[0].view().as<uint16_t>(), i * 6007 % 65536);
  }
}

TEST(Arrow, GatherEqualsGet) {
  MemoryStore store = store_of("x", small("table_zstd.arrow"));
  const auto source = open_one(store, "x", columns({"class", "image/bytes"}));
  ASSERT_TRUE(source.ok()) << source.status().text();
  const auto block = drive_block(**source, (*source)->place(4).block, store);
  ASSERT_TRUE(block.ok()) << block.status().text();
  const uint64_t rows[] = {3, 0, 2}, beyond[] = {4};
  uint16_t gathered[3] = {};
  auto* out = reinterpret_cast<std::byte*>(gathered);
  ASSERT_TRUE((*block)->gather(rows, 0, out));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(gathered[i], (4 + rows[i]) * 6007 % 65536);
  EXPECT_FALSE((*block)->gather(rows, 1, out));  // of different lengths
  EXPECT_FALSE((*block)->gather(beyond, 0, out));
}

std::vector<int64_t> numbers(const Tensor& tensor) {
  const auto* first = tensor.view().as<int64_t>();
  return {first, first + tensor.shape.count()};
}

std::string text(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.view().data), tensor.view().size_bytes()};
}

TEST(Arrow, TextsOfAListAreAllOfThemAndTheirLengths) {
  MemoryStore store = store_of("x", small("texts.arrow"));
  const auto strict = open_one(store, "x", columns({"captions", "tags"}));
  ASSERT_TRUE(strict.ok()) << strict.status().text();
  EXPECT_EQ((*strict)->schema().structure,
            R"({"captions":{"values":0,"lengths":1},"tags":{"values":2,"lengths":3}})");
  Value zeros = columns({"tags/lengths", "captions", "tags/values"});
  zeros.set("nulls", "zero");
  const auto source = open_one(store, "x", zeros);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().structure,
            R"({"tags/lengths":0,"captions":{"values":1,"lengths":2},"tags/values":3})");
  const std::string captions[] = {"a caton a mät", "", "dogx", "yyyyyyyyy"}, tags[] = {"1", "", "23", ""};
  const std::vector<int64_t> lengths[] = {{5, 9}, {}, {0, 3, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}};
  const std::vector<int64_t> of_tags[] = {{1}, {}, {0, 2}, {}};
  for (size_t i = 0; i < 4; ++i) {
    const auto fields = read_sample(**source, i, store);
    ASSERT_TRUE(fields.ok()) << fields.status().text();
    EXPECT_EQ(numbers((*fields)[0]), of_tags[i]);
    EXPECT_EQ(text((*fields)[1]), captions[i]);
    EXPECT_EQ(numbers((*fields)[2]), lengths[i]);
    EXPECT_EQ(text((*fields)[3]), tags[i]);
  }
  EXPECT_TRUE(read_sample(**strict, 3, store).ok());
  EXPECT_THAT(read_sample(**strict, 1, store).status().text(), HasSubstr("a value in column 'tags/values'"));
  EXPECT_THAT(read_sample(**strict, 2, store).status().text(),
              HasSubstr("expected strings without nulls in column 'tags/values', got null"));
}

template <class T> std::string raw(std::initializer_list<T> numbers) {
  return {reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(T)};
}

// Replaces the first occurrence: the offsets of lists come before those of their strings.
std::string with(std::string bytes, const std::string& was, const std::string& is) {
  const size_t at = bytes.find(was);
  EXPECT_NE(at, std::string::npos);
  return bytes.replace(at, was.size(), is);
}

TEST(Arrow, ListsOfTextsThatCannotBeAreRefusedWhateverIsChosen) {
  const std::string whole = small("texts.arrow");
  const std::string of_tags = raw<uint64_t>({0, 1, 1, 3}), of_captions = raw<uint32_t>({0, 2, 2, 5}),
                    texts = raw<uint32_t>({0, 5, 14, 14, 17, 18});
  struct Case {
    std::string bytes;
    const char *columns, *wanted;
    uint64_t row;
  };
  const Case cases[] = {
      {with(whole, of_tags, raw<uint64_t>({0, 1, 1, ~uint64_t{0}})), "tags/", "too many values", 2},
      {with(whole, of_tags, raw<uint64_t>({0, 1, 1, uint64_t{1} << 61})), "tags/", "too many values", 2},
      {with(whole, of_tags, raw<uint64_t>({0, 1, 1, 1 << 20})), "tags/", "of buffer", 2},
      {with(whole, of_tags, raw<uint64_t>({0, 2, 1, 3})), "tags/", "expected increasing offsets", 1},
      {with(whole, of_captions, raw<uint32_t>({0, 2, 2, 1000})), "captions/", "of buffer", 2},
      {with(whole, texts, raw<uint32_t>({0, 5, 3, 14, 17, 18})), "captions/",
       "expected increasing string offsets", 0},
      {with(whole, texts, raw<uint32_t>({0, 5, 14, 14, 17, 1 << 30})), "captions/values", "of buffer", 2},
  };
  for (const Case& c : cases)
    for (const char* member : {"values", "lengths"}) {
      const std::string name = c.columns;
      if (!name.ends_with('/') && !name.ends_with(member)) continue;
      MemoryStore store = store_of("x", c.bytes);
      Value options = columns({(name.ends_with('/') ? name + member : name).c_str()});
      options.set("nulls", "zero");
      const auto source = open_one(store, "x", options);
      ASSERT_TRUE(source.ok()) << source.status().text();
      EXPECT_THAT(read_sample(**source, c.row, store).status().text(), HasSubstr(c.wanted)) << name << member;
    }
}

Value with_nulls(Value options, const char* nulls) {
  options.set("nulls", nulls);
  return options;
}

bool shows_what_is_read(Store& store, const Source& source, uint64_t step, uint64_t* num_put = nullptr) {
  const auto read = [&](uint64_t i) { return read_sample(source, i, store); };
  return maps_show_what_is_read(store, source, 64, step, read, num_put);
}

TEST(Arrow, RowsOfAMapAreThoseOfGroupsAlsoWhereBytesAreWrong) {
  struct Case {
    const char *name, *nulls;
    uint64_t rows, put;
  };
  const Case cases[] = {{"table_plain.arrow", "error", 11, 11}, {"nulls.arrows", "error", 4, 0},
                        {"nulls.arrows", "zero", 4, 3},         {"texts.arrow", "zero", 4, 3},
                        {"texts.arrow", "error", 4, 0},         {"table_lz4.arrow", "error", 11, 0},
                        {"rows.arrow", "error", 11, 0}};
  for (const Case& c : cases) {
    const std::string whole = small(c.name);
    for (const uint64_t step : {1, 3}) {
      MemoryStore store = store_of("x", whole);
      const auto source = open_one(store, "x", with_nulls({}, c.nulls));
      ASSERT_TRUE(source.ok()) << source.status().text();
      EXPECT_EQ((*source)->size(), c.rows);
      uint64_t num_put = 0;
      EXPECT_TRUE(shows_what_is_read(store, **source, step, &num_put)) << c.name;
      EXPECT_GE(num_put, c.put) << c.name << ' ' << c.nulls;
    }
    // Damaged before the source is opened, and after.
    for (size_t at = 0; at < whole.size(); at += 5)
      for (const char wrong : {'\x01', '\xff'}) {
        std::string bytes = whole;
        bytes[at] ^= wrong;
        MemoryStore store = store_of("x", bytes);
        const auto source = open_one(store, "x", with_nulls({}, c.nulls));
        if (source.ok()) {
          EXPECT_TRUE(shows_what_is_read(store, **source, 2)) << c.name << " at byte " << at;
        }
        store.add("x", whole);
        const auto changed = open_one(store, "x", with_nulls({}, c.nulls));
        store.add("x", bytes);
        EXPECT_TRUE(shows_what_is_read(store, **changed, 1)) << c.name << " at byte " << at;
      }
  }
}

TEST(Arrow, AnOffsetThatIsWrongIsAnErrorOfItsRows) {
  const std::string texts = raw<uint32_t>({0, 5, 14, 14, 17, 18});
  MemoryStore store = store_of("x", with(small("texts.arrow"), texts, raw<uint32_t>({0, 5, 3, 14, 17, 18})));
  const auto source = open_one(store, "x", columns({"captions"}));
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(read_sample(**source, 0, store).status().text(),
              HasSubstr("expected increasing string offsets"));
  for (const uint64_t row : {1, 2, 3}) {
    const auto fields = read_sample(**source, row, store);
    EXPECT_TRUE(fields.ok()) << fields.status().text();
  }
}

TEST(Arrow, TheIndexIsTheSameHoweverMuchOfTheTailIsAskedFor) {
  for (const char* name : {"table_plain.arrow", "rows.arrow", "nulls.arrows"}) {
    const std::string bytes = small(name);
    MemoryStore store = store_of("x", bytes);
    std::vector<FileIndex> found;
    for (const uint64_t tail : {10, 64, 1 << 16}) {
      const auto opening = arrow::index_arrow({"x", bytes.size()}, tail);
      auto index = drive(*opening, [](uint64_t) { return "x"; }, store);
      ASSERT_TRUE(index.ok()) << index.status().text();
      found.push_back(*std::move(index));
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_EQ(found[0], found[2]);
  }
}

TEST(Arrow, TheSchemaOfAFileWithoutItsMessageIsThatOfTheFooter) {
  for (const char* name : {"table_plain.arrow", "table_lz4.arrow", "rows.arrow"}) {
    const std::string bytes = small(name);
    MemoryStore whole = store_of("x", bytes);
    const auto wanted = open_one(whole, "x");
    ASSERT_TRUE(wanted.ok());
    for (const uint32_t length : {4u, 0u, 0x7fffffffu, 0xfffffff2u}) {  // instead of the continuation mark
      std::string cut = bytes;
      std::memcpy(cut.data() + 8, &length, sizeof length);
      MemoryStore store = store_of("x", cut);
      const auto source = open_one(store, "x");
      ASSERT_TRUE(source.ok()) << source.status().text();
      EXPECT_EQ((*source)->schema().text(), (*wanted)->schema().text());
      EXPECT_EQ((*source)->metadata().dump(), (*wanted)->metadata().dump());
      EXPECT_EQ((*source)->size(), (*wanted)->size());
    }
  }
}

TEST(Arrow, AKeptIndexIsNotBelieved) {
  const std::string bytes = small("table_plain.arrow");
  MemoryStore store = store_of("x", bytes);
  const auto opening = arrow::index_arrow({"x", bytes.size()});
  const auto index = drive(*opening, [](uint64_t) { return "x"; }, store);
  ASSERT_TRUE(index.ok() && arrow::unpack(*index).ok());
  EXPECT_EQ(arrow::unpack(*index)->num_rows, 11u);
  for (size_t length = 0; length < index->extra.size(); ++length)
    EXPECT_FALSE(arrow::unpack({index->records, index->extra.substr(0, length)}).ok()) << length;
  EXPECT_FALSE(arrow::unpack({{}, index->extra}).ok());  // offsets for missing batches
}

TEST(Arrow, WhatIsNotInTheFileIsNamed) {
  const std::string bytes = small("table_plain.arrow");
  EXPECT_THAT(error_of(bytes, columns({"nowhere"})), HasSubstr("expected names of columns (image/bytes"));
  EXPECT_THAT(error_of(bytes.substr(0, 17)), HasSubstr("expected at least 18 bytes, got 17"));
  EXPECT_THAT(error_of(bytes.substr(0, bytes.size() - 1)), HasSubstr("expected ARROW1 at its end"));
}

arrow::Bytes stored(uint64_t length, std::string_view packed) {
  std::string text(reinterpret_cast<const char*>(&length), sizeof length);
  text += packed;
  const MutableBufferPtr buffer = HeapBuffer::make(text.size());
  std::memcpy(buffer->mutable_data(), text.data(), text.size());
  return {buffer, 0, text.size()};
}

TEST(ArrowCompression, NoMemoryIsTakenForWhatCannotBe) {
  using arrow::Codec;
  const auto status = [](Codec codec, std::vector<arrow::Bytes> bytes) {
    return inflate(codec, std::move(bytes)).status();
  };
  for (const Codec codec : {Codec::lz4, Codec::zstd}) {
    EXPECT_EQ(status(codec, {stored(uint64_t{1} << 62, "x")}).code(), Code::corrupt);
    EXPECT_EQ(status(codec, {stored(uint64_t{1} << 20, "x")}).code(), Code::corrupt);
    EXPECT_EQ(status(codec, {stored(10, "damaged")}).code(), Code::corrupt);
    const auto kept = inflate(codec, {stored(~uint64_t{0}, "as it is")});
    ASSERT_TRUE(kept.ok());
    EXPECT_EQ((*kept)[0].size, 8u);
  }
  // Each alone is within the limit, both together are not.
  const std::vector<std::byte> half(size_t{160} << 20);
  std::vector<std::byte> packed;
  ASSERT_TRUE(arrow::deflate(Codec::zstd, half, packed).ok());
  const auto frame = HeapBuffer::make(packed.size());
  std::ranges::copy(packed, frame->mutable_data());
  const arrow::Bytes bytes{frame, 0, packed.size()};
  EXPECT_EQ(status(Codec::zstd, {bytes, bytes}).code(), Code::exhausted);
  packed[7] = std::byte{1};  // not the length that the frame states
  std::ranges::copy(packed, frame->mutable_data());
  EXPECT_THAT(status(Codec::zstd, {bytes}).text(), HasSubstr("its zstd frame states 167772160"));
}

}  // namespace
}  // namespace headrace
