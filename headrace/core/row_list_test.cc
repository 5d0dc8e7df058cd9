#include "headrace/core/row_list.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>

namespace headrace {
namespace {

std::string_view text_of(Text bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
Text part(const BufferPtr& buffer, size_t offset, size_t size) {
  return buffer->bytes().subspan(offset, size);
}

TEST(RowList, TextsAreTensorsWhenSomebodyWantsThem) {
  const BufferPtr one = text_tensor("abcdef").buffer, other = text_tensor("xyz").buffer;
  std::vector<Text> texts(4);
  std::vector<TextOwner> owners;
  TextRows first(texts.data(), 0, owners), rest(texts.data() + 2, 2, owners);
  first.set(0, one, part(one, 2, 3)), first.set(1, one, part(one, 0, 0));
  rest.set(0, other, part(other, 1, 2)), rest.set(1, one, part(one, 5, 1));
  EXPECT_EQ(owners.size(), 3u);  // neighbours in a buffer have one
  const long before = one.use_count();
  const RowList rows(DType::str, std::move(texts), std::move(owners));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(text_of(rows.bytes(2)), "yz");
  EXPECT_EQ(one.use_count(), before);
  const char* const wanted[] = {"cde", "", "yz", "f"};
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(text_of(rows[i].view().bytes()), wanted[i]);
    EXPECT_EQ(rows[i].dtype, DType::str);
    EXPECT_EQ(rows[i].shape, Shape({static_cast<int64_t>(rows.bytes(i).size())}));
    EXPECT_EQ(rows[i].buffer, i == 2 ? other : one);
  }
}

// Of two owners that say they begin with the same row, the later one is right: a row was put twice.
TEST(RowList, ARowThatWasPutTwiceIsWhereItWasPutLast) {
  const BufferPtr one = text_tensor("one").buffer, other = text_tensor("other").buffer;
  std::vector<Text> texts(2);
  std::vector<TextOwner> owners;
  TextRows rows(texts.data(), 0, owners);
  rows.set(0, one, one->bytes()), rows.set(1, one, one->bytes()), rows.set(1, other, other->bytes());
  const RowList list(DType::bytes, std::move(texts), std::move(owners));
  EXPECT_EQ(list[0].buffer, one);
  EXPECT_EQ(list[1].buffer, other);
}

TEST(RowList, ManyThreadsMayWantTensorsAtOnce) {
  const BufferPtr buffer = text_tensor(std::string(1000, 'x')).buffer;
  std::vector<Text> texts;
  for (size_t i = 0; i < 1000; ++i) texts.push_back(part(buffer, i, 1));
  const RowList rows(DType::bytes, std::move(texts), {{0, buffer}});
  std::vector<const Tensor*> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& tensor : seen) threads.emplace_back([&] { tensor = &rows[999]; });
  }
  for (const Tensor* tensor : seen) EXPECT_EQ(tensor, &rows[999]);
}

TEST(RowList, OfTensors) {
  const RowList rows(std::vector<Tensor>{text_tensor("a"), scalar(int64_t{5})});
  EXPECT_TRUE(rows.texts().empty());
  EXPECT_EQ(text_of(rows.bytes(0)), "a");
  EXPECT_EQ(rows.bytes(1).size(), sizeof(int64_t));
  EXPECT_TRUE(RowList().empty());
}

}  // namespace
}  // namespace headrace
