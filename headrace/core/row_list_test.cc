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
  const MutableBufferPtr memory = HeapBuffer::make(4 * sizeof(Text));
  const std::span<Text> texts = make_texts(*memory);
  std::vector<TextOwner> owners;
  TextRows first(texts.data(), 0, owners), rest(texts.data() + 2, 2, owners);
  first.set(0, one, part(one, 2, 3)), first.set(1, one, part(one, 0, 0));
  rest.set(0, other, part(other, 1, 2)), rest.set(1, one, part(one, 5, 1));
  EXPECT_EQ(owners.size(), 3u);  // neighbours in a buffer have one
  const long before = one.use_count();
  const RowList rows(DType::str, memory, std::move(owners));
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

// When two owners begin at the same row, the later one counts: a row was put twice.
TEST(RowList, ARowThatWasPutTwiceIsWhereItWasPutLast) {
  const BufferPtr one = text_tensor("one").buffer, other = text_tensor("other").buffer;
  const MutableBufferPtr memory = HeapBuffer::make(2 * sizeof(Text));
  const std::span<Text> texts = make_texts(*memory);
  std::vector<TextOwner> owners;
  TextRows rows(texts.data(), 0, owners);
  rows.set(0, one, one->bytes()), rows.set(1, one, one->bytes()), rows.set(1, other, other->bytes());
  const RowList list(DType::bytes, memory, std::move(owners));
  EXPECT_EQ(list[0].buffer, one);
  EXPECT_EQ(list[1].buffer, other);
}

TEST(RowList, ManyThreadsMayWantTensorsAtOnce) {
  const BufferPtr buffer = text_tensor(std::string(1000, 'x')).buffer;
  const MutableBufferPtr memory = HeapBuffer::make(1000 * sizeof(Text));
  for (size_t i = 0; Text & text : make_texts(*memory)) text = part(buffer, i++, 1);
  const RowList rows(DType::bytes, memory, {{0, buffer}});
  std::vector<const Tensor*> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& tensor : seen) threads.emplace_back([&] { tensor = &rows[999]; });
  }
  for (const Tensor* tensor : seen) EXPECT_EQ(tensor, &rows[999]);
}

TEST(RowList, ASliceKeepsTheMemoryOfAll) {
  const BufferPtr buffer = text_tensor("abcd").buffer;
  const MutableBufferPtr memory = HeapBuffer::make(4 * sizeof(Text));
  for (size_t i = 0; Text & text : make_texts(*memory)) text = part(buffer, i++, 1);
  auto rows = std::make_shared<const RowList>(DType::bytes, memory, std::vector<TextOwner>{{0, buffer}});
  const RowListPtr some = rows->slice(1, 2), none = rows->slice(4, 0);
  rows = nullptr;
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ(text_of(some->bytes(0)), "b");
  EXPECT_EQ(text_of((*some)[1].view().bytes()), "c");
  EXPECT_EQ(some->memory(), memory);
  EXPECT_TRUE(none->empty());
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
