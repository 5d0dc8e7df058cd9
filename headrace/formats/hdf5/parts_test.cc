// The parsers below the reader, each on its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/hdf5/chunks/chunk_rows.h"
#include "headrace/formats/hdf5/chunks/filters.h"
#include "headrace/formats/hdf5/datatype.h"
#include "headrace/formats/hdf5/structures/checksum.h"
#include "headrace/formats/hdf5/structures/global_heap.h"

namespace headrace::hdf5 {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::span<std::byte> writable(std::string& text) { return std::as_writable_bytes(std::span(text)); }

std::string number(uint64_t value, size_t bytes) {
  return std::string(reinterpret_cast<const char*>(&value), bytes);
}

TEST(Hdf5Checksum, IsThatOfOthers) {
  EXPECT_EQ(lookup3(bytes_of("Four score and seven years ago")), 0x17770551u);  // from lookup3.c
  EXPECT_EQ(lookup3({}), 0xdeadbeefu);
  EXPECT_EQ(fletcher32(bytes_of(std::string("\x01\x02\x03\x04", 4))),
            (0x0102u + 0x0102u + 0x0304u) << 16 | 0x0406u);
}

TEST(Hdf5Filters, UndoWhatWasDone) {
  std::string shuffled(10, '\0');
  unshuffle(bytes_of("adgbehcfiX"), 3, writable(shuffled));
  EXPECT_EQ(shuffled, "abcdefghiX");
  std::string out(9, '\0');
  const std::string literal = std::string("\x02") + "abc";
  EXPECT_TRUE(unpack_lzf(bytes_of(literal + "\x80\x02"), writable(out)).ok());  // three, then six again
  EXPECT_EQ(out, "abcabcabc");
  for (const std::string& bad : {literal, std::string("\x80\x02"), std::string("\x02") + "ab",
                                 std::string("\xe0"), std::string("\x09") + "abcdefghij"})
    EXPECT_EQ(unpack_lzf(bytes_of(bad), writable(out)).code(), Code::corrupt) << bad;
}

Dataset deflated_chunk(uint64_t bytes) {
  Dataset out;
  out.dims = {bytes}, out.chunk = {bytes}, out.element = 1, out.storage = Storage::chunked;
  out.filters = {{1, {6}}};
  return out;
}

TEST(Hdf5Filters, NoMemoryIsTakenForWhatCannotBe) {
  const std::string packed = deflated(std::string(1000, 'x'), Wrap::zlib);
  const BufferPtr stored = std::make_shared<BorrowedBuffer>(bytes_of(packed), nullptr);
  const auto code = [&](uint64_t bytes, uint32_t mask = 0) {
    Chunk chunk;
    chunk.mask = mask;
    return unfilter(deflated_chunk(bytes), chunk, stored).status().code();
  };
  EXPECT_EQ(code(1000), Code::ok);
  EXPECT_EQ(code(999), Code::corrupt);
  EXPECT_EQ(code(1001), Code::corrupt);
  EXPECT_EQ(code(uint64_t{1} << 31), Code::exhausted);
  EXPECT_EQ(code(packed.size(), 1), Code::ok);  // the filter was skipped
}

// A chunk of an array with bytes 1, 2, 3 …; '!' beyond the array's end.
std::string plain_chunk(const Dataset& dataset, const std::vector<uint64_t>& origin) {
  std::string out;
  std::vector<uint64_t> at(3);
  for (at[0] = 0; at[0] < dataset.chunk[0]; ++at[0])
    for (at[1] = 0; at[1] < dataset.chunk[1]; ++at[1])
      for (at[2] = 0; at[2] < dataset.chunk[2]; ++at[2]) {
        uint64_t i = 0;
        bool is_inside = true;
        for (size_t k = 0; k < 3; ++k) {
          is_inside &= origin[k] + at[k] < dataset.dims[k];
          i = i * dataset.dims[k] + origin[k] + at[k];
        }
        out += is_inside ? static_cast<char>(i + 1) : '!';
      }
  return out;
}

// Reads every range of rows of a small array, for every chunk shape.
TEST(Hdf5Chunks, EveryPartIsPlaced) {
  Dataset dataset;
  dataset.dims = {5, 4, 3}, dataset.element = 1, dataset.storage = Storage::chunked;
  for (uint64_t code = 0; code < 6 * 5 * 4; ++code) {
    dataset.chunk = {code / 20 + 1, code / 4 % 5 + 1, code % 4 + 1};
    const auto count = [&](size_t i) { return (dataset.dims[i] + dataset.chunk[i] - 1) / dataset.chunk[i]; };
    dataset.chunks.clear();
    for (uint64_t i = 0; i < count(0) * count(1) * count(2); ++i) dataset.chunks.push_back({i});
    for (uint64_t begin = 0; begin < 5; ++begin)
      for (uint64_t end = begin + 1; end <= 5; ++end) {
        std::string out((end - begin) * 12, '?'), wanted;
        for (uint64_t i = begin * 12; i < end * 12; ++i) wanted += static_cast<char>(i + 1);
        for (const Chunk& chunk : chunks_of(dataset, {begin, end})) {
          const std::vector<uint64_t> origin = {chunk.index / count(2) / count(1) * dataset.chunk[0],
                                                chunk.index / count(2) % count(1) * dataset.chunk[1],
                                                chunk.index % count(2) * dataset.chunk[2]};
          const std::string plain = plain_chunk(dataset, origin);
          place_chunk(dataset, chunk, bytes_of(plain), {begin, end}, writable(out).data());
        }
        ASSERT_EQ(out, wanted) << code << ", rows " << begin << " to " << end;
      }
  }
}

std::string object(uint64_t index, std::string_view text, uint64_t claimed) {
  std::string out = number(index, 2) + number(1, 2) + number(0, 4) + number(claimed, 8) + std::string(text);
  out.resize((out.size() + 7) / 8 * 8);
  return out;
}

TEST(Hdf5Heap, ObjectsAreFoundOrNot) {
  std::string text = "GCOL" + number(1, 4) + number(4096, 8) + object(1, "one", 3) + object(2, "", 0) +
                     object(7, "seventh", 7) + object(3, "beyond", 5000);
  const auto heap = HeapCollection::read(bytes_of(text), {});
  ASSERT_TRUE(heap.ok());
  EXPECT_EQ(heap->size(), 4096u);
  const HeapObject* seventh = heap->find(7);
  ASSERT_NE(seventh, nullptr);
  EXPECT_EQ(text.substr(seventh->offset, seventh->length), "seventh");
  EXPECT_NE(heap->find(2), nullptr);
  for (const uint32_t absent : {0u, 3u, 4u, 8u}) EXPECT_EQ(heap->find(absent), nullptr) << absent;
  for (size_t length = 0; length < text.size(); ++length) {
    const auto cut = HeapCollection::read(bytes_of(text).first(length), {});
    const HeapObject* found = cut.ok() ? cut->find(7) : nullptr;
    if (found != nullptr) {
      EXPECT_LE(found->offset + found->length, length);
    }
  }
  text[0] = 'X';
  EXPECT_FALSE(HeapCollection::read(bytes_of(text), {}).ok());
}

TEST(Hdf5Datatype, WhatIsNotReadIsARefusalAndNotAGuess) {
  const auto refusal = [](const std::string& message) {
    Cursor cursor(bytes_of(message));
    const auto type = read_datatype(cursor);
    return std::string(type.ok() ? type->leaves[0].refusal.text() : type.status().text());
  };
  const std::string i32 = "\x10" + number(8, 3) + number(4, 4) + number(0, 2) + number(32, 2);
  const std::string i24 = "\x10" + number(8, 3) + number(4, 4) + number(0, 2) + number(24, 2);
  const std::string odd = "\x11" + number(0x1f20, 3) + number(4, 4) + number(0, 2) + number(32, 2) +
                          std::string("\x16\x09\x00\x16", 4) + number(127, 4);
  EXPECT_EQ(refusal(i32), "");
  EXPECT_EQ(refusal(i24), "cannot read integers of 24 bits in 4 bytes");
  EXPECT_EQ(refusal(odd), "cannot read floats of 4 bytes that are not IEEE 754");
  EXPECT_EQ(refusal("\x17" + number(0, 3) + number(8, 4)), "cannot read references");
  EXPECT_THAT(refusal(i32.substr(0, 9)), HasSubstr("ends in the middle"));
  std::string nested;
  for (int i = 0; i < 40; ++i) nested += "\x19" + number(0, 3) + number(16, 4);
  EXPECT_THAT(refusal(nested + i32), HasSubstr("nested at most 16 deep"));
}

}  // namespace
}  // namespace headrace::hdf5
