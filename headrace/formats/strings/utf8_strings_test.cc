#include "headrace/formats/strings/utf8_strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/core/row_list.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

const Schema kSchema =
    schema_of({"n", "s", "x/values", "x/lengths"},
              {{DType::i64, {}}, {DType::str, {kAny}}, {DType::str, {kAny}}, {DType::i64, {kAny}}});

Tensor lengths_of(const std::vector<int64_t>& lengths) {
  return make_tensor({DType::i64,
                      {static_cast<int64_t>(lengths.size())},
                      reinterpret_cast<const std::byte*>(lengths.data())});
}
std::vector<Tensor> row(std::string_view s, std::string_view values, const std::vector<int64_t>& lengths) {
  return {scalar(int64_t{1}), text_tensor(s), text_tensor(values), lengths_of(lengths)};
}
std::string text_of(const Tensor& field) {
  const auto bytes = field.view().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Rows in memory, as a format has them: strings that are shared, and lists of strings.
class Rows final : public Block {
 public:
  explicit Rows(std::vector<std::vector<Tensor>> rows) : rows_(std::move(rows)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    fields = rows_[row];
    return {};
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    return put_each(*this, rows, to);
  }

 private:
  std::vector<std::vector<Tensor>> rows_;
};

class RowsSource final : public Source {
 public:
  explicit RowsSource(std::vector<std::vector<Tensor>> rows)
      : size_(rows.size()), rows_(std::make_shared<Rows>(std::move(rows))) {}
  const Schema& schema() const override { return kSchema; }
  uint64_t size() const override { return size_; }
  Place place(uint64_t index) const override { return {0, index}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t) const override {
    class Now final : public Opening<BlockPtr> {
     public:
      explicit Now(BlockPtr block) : block_(std::move(block)) {}
      Result<Step<BlockPtr>> advance(std::span<const BufferPtr>) override { return Step<BlockPtr>(block_); }

     private:
      BlockPtr block_;
    };
    return std::make_unique<Now>(rows_);
  }
  SamplePlace where(uint64_t) const override { return {"", "memory"}; }
  Value describe() const override { return Value(Value::Object()); }
  std::string fingerprint() const override { return "rows"; }

 private:
  uint64_t size_;
  BlockPtr rows_;
};

BlockPtr block_of(const Source& source) {
  auto step = source.open(0)->advance({});
  return std::get<BlockPtr>(*step);
}

TEST(Strings, FieldsAreThoseOfStringsAndListsOfThem) {
  const StringFields fields(kSchema);
  ASSERT_EQ(fields.fields().size(), 2u);
  EXPECT_EQ(fields.fields()[1].name, "x");
  EXPECT_TRUE(fields.check(row("", "", {})).ok());
  EXPECT_TRUE(fields.check(row("ä", "äö", {2, 0, 2})).ok());
  EXPECT_THAT(
      std::string(fields.check(row("aä\xFF", "", {}), "; cure").text()),
      HasSubstr("field 's': expected UTF-8, got byte 0xff at position 3 of 'a\\xc3\\xa4\\xff'; cure"));
  EXPECT_THAT(std::string(fields.check(row("", "a\xC3\xA4", {2, 1})).text()),
              HasSubstr("field 'x', string 0: expected UTF-8, got byte 0xc3 at position 1 of 'a\\xc3'"));
  EXPECT_THAT(std::string(fields.check(row("", "abc\xE4", {1, 3})).text()),
              HasSubstr("field 'x', string 1: expected UTF-8, got byte 0xe4 at position 2"));
  EXPECT_EQ(fields.check(row("\xE4", "", {})).code(), Code::corrupt);
  EXPECT_TRUE(fields.check(row("", "ab", {5, -1})).ok());  // reported where lengths are used
}

TEST(Strings, ALongOneIsShownWhereItIsWrong) {
  const std::string text = std::string(1000, 'a') + "\xE4" + std::string(1000, 'b');
  EXPECT_THAT(std::string(StringFields(kSchema).check(row(text, "", {})).text()),
              HasSubstr("at position 1000 of '…aaaaaaaaaaaaaaaa\\xe4bbbbbbbbbbbbbbb…'"));
}

TEST(Strings, NeighboursInMemoryAreCutBetweenCharacters) {
  const std::string all = "abäöc";
  const auto at = [&](size_t begin, size_t size) {
    return text_bytes(std::string_view(all).substr(begin, size));
  };
  EXPECT_EQ(num_utf8(std::vector<Text>{at(0, 2), at(2, 2), at(4, 0), at(4, 3)}), 4u);
  EXPECT_EQ(num_utf8(std::vector<Text>{at(0, 2), at(2, 1), at(3, 3)}), 1u);
  EXPECT_EQ(num_utf8(std::vector<Text>{at(4, 2), Text(), at(0, 2), at(3, 1)}), 3u);
  EXPECT_EQ(num_utf8({}), 0u);
  // With bytes between them, which belong to neither.
  for (const bool in_one_buffer : {false, true}) {
    EXPECT_EQ(num_utf8(std::vector<Text>{at(0, 1), at(2, 2), at(6, 1)}, in_one_buffer), 3u);
    EXPECT_EQ(num_utf8(std::vector<Text>{at(0, 1), at(3, 1), at(6, 1)}, in_one_buffer), 1u);
    EXPECT_EQ(num_utf8(std::vector<Text>{at(0, 1), at(2, 1), at(6, 1)}, in_one_buffer), 1u);
    EXPECT_EQ(num_utf8(std::vector<Text>{at(6, 1), at(0, 1)}, in_one_buffer), 2u);
  }
}

TEST(Strings, RowsArePutUpToTheFirstThatIsWrong) {
  std::vector<std::vector<Tensor>> rows;
  for (int i = 0; i < 5; ++i) rows.push_back(row("s" + std::to_string(i), "ab", {1, 1}));
  rows[3] = row("\xE4", "ab", {1, 1});
  for (const bool of_list : {false, true}) {
    if (of_list) rows[3] = row("s3", "\xC3\xA4", {1, 1});
    const SourcePtr source = with_utf8_strings(std::make_shared<RowsSource>(rows), Encoding::utf8, "; cure");
    const BlockPtr block = block_of(*source);
    std::vector<int64_t> numbers(5);
    std::vector<Text> texts(5);
    std::vector<TextOwner> owners;
    TextRows text_rows(texts.data(), 0, owners);
    std::vector<Tensor> values(5), lengths(5);
    const std::vector<FieldPlace> to = {{&kSchema.specs[0], reinterpret_cast<std::byte*>(numbers.data())},
                                        {&kSchema.specs[1], nullptr, &text_rows},
                                        {&kSchema.specs[2], nullptr, nullptr, values.data()},
                                        {&kSchema.specs[3], nullptr, nullptr, lengths.data()}};
    const std::vector<uint64_t> all = {0, 1, 2, 3, 4};
    ASSERT_EQ(block->put(all, to), 3u);
    EXPECT_EQ(texts[2].size(), 2u);
    EXPECT_TRUE(texts[3].empty());
    EXPECT_LE(owners.back().first, 2u);
    std::vector<Tensor> fields;
    EXPECT_THAT(std::string(block->get(3, fields).text()), HasSubstr("; cure"));
    EXPECT_TRUE(block->get(4, fields).ok());
  }
}

TEST(Strings, AnotherEncodingConvertsThemOrGivesBytes) {
  const auto rows = std::make_shared<RowsSource>(
      std::vector<std::vector<Tensor>>{row("\xE4", "a\xC3\xA4", {2, 1}), row("plain", "ab", {1, 1})});
  std::vector<Tensor> fields;
  const SourcePtr latin1 = with_utf8_strings(rows, Encoding::latin1, "");
  ASSERT_TRUE(block_of(*latin1)->get(0, fields).ok());
  EXPECT_EQ(text_of(fields[1]), "ä");
  EXPECT_EQ(text_of(fields[2]), "aÃ¤");
  EXPECT_EQ(fields[3].view().as<int64_t>()[0], 3);
  EXPECT_EQ(fields[3].view().as<int64_t>()[1], 2);
  EXPECT_TRUE(StringFields(kSchema).check(fields).ok());
  const SourcePtr bytes = with_utf8_strings(rows, Encoding::bytes, "");
  EXPECT_EQ(bytes->schema().text(), "n: int64 (), s: bytes, x/values: bytes, x/lengths: int64 (?)");
  EXPECT_EQ(bytes->schema().structure, kSchema.structure);
  ASSERT_TRUE(block_of(*bytes)->get(0, fields).ok());
  EXPECT_EQ(text_of(fields[1]), "\xE4");
  EXPECT_EQ(fields[1].dtype, DType::bytes);
  EXPECT_EQ(fields[2].dtype, DType::bytes);
}

TEST(Strings, ASourceWithoutThemIsLeftAsItIs) {
  class Numbers final : public Source {
   public:
    const Schema& schema() const override { return schema_; }
    uint64_t size() const override { return 0; }
    Place place(uint64_t) const override { return {}; }
    std::unique_ptr<Opening<BlockPtr>> open(uint64_t) const override { return nullptr; }
    SamplePlace where(uint64_t) const override { return {}; }
    Value describe() const override { return {}; }
    std::string fingerprint() const override { return {}; }

   private:
    Schema schema_ = Schema::of({"n", "b"}, {{DType::i64, {}}, {DType::bytes, {kAny}}});
  };
  const auto source = std::make_shared<Numbers>();
  EXPECT_EQ(with_utf8_strings(source, Encoding::utf8, "").get(), source.get());
}

}  // namespace
}  // namespace headrace
