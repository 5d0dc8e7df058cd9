#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "headrace/codecs/packed/unpack.h"
#include "headrace/formats/array_record/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string zstd_packed(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

// Literals of up to 60 bytes, and a copy where a letter is repeated.
std::string snappy_packed(const std::string& bytes) {
  std::string out = riegeli_varint(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    size_t same = at;
    while (at > 0 && same < bytes.size() && same - at < 64 && bytes[same] == bytes[at - 1]) ++same;
    if (same - at >= 4) {
      out += static_cast<char>((same - at - 1) << 2 | 2), out += '\1', out += '\0';
      at = same;
    } else {
      out += '\0', out += bytes[at++];
    }
  }
  return out;
}

std::vector<std::string> letters(size_t count) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.emplace_back(i * 37 % 101, static_cast<char>('a' + i % 26));
  return out;
}

// All records of a file, or the first error.
std::vector<std::string> all_of(const std::string& bytes, const Value& options = {}) {
  MemoryStore store;
  store.add("x.array_record", bytes);
  const auto source = open_source(store, "x.array_record", "array_record", options);
  if (!source.ok()) return {std::string(source.status().text())};
  std::vector<std::string> out;
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const auto fields = read_sample(**source, i, store);
    if (!fields.ok()) return {std::string(fields.status().text())};
    const auto record = (*fields)[0].view().bytes();
    out.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
  }
  return out;
}
std::string failure(const std::string& bytes) { return all_of(bytes).front(); }

TEST(ArrayRecord, GroupsOfAnySizeAndPackingAreRead) {
  const std::vector<std::string> records = letters(10);
  for (const char packing : {'\0', 'z', 's'})
    for (const size_t group : {1, 3, 7, 100}) {
      std::vector<ArrayRecordTestChunk> chunks;
      for (size_t at = 0; at < records.size(); at += group) {
        const std::vector<std::string> some(
            records.begin() + static_cast<ptrdiff_t>(at),
            records.begin() + static_cast<ptrdiff_t>(std::min(at + group, records.size())));
        chunks.push_back({riegeli_records_bytes(some, packing, packing == 's' ? snappy_packed : zstd_packed),
                          some.size()});
      }
      EXPECT_EQ(all_of(array_record_file(chunks)), records) << static_cast<int>(packing) << " " << group;
    }
}

TEST(ArrayRecord, RecordsThatReachOverBlocksComeBackWhole) {
  for (const char packing : {'\0', 'z'}) {
    std::vector<std::string> records;
    std::vector<ArrayRecordTestChunk> chunks;
    uint32_t noise = 1;  // does not compress
    for (const size_t size :
         {size_t{65400}, size_t{10}, size_t{65536}, size_t{200000}, size_t{0}, size_t{131000}, size_t{100}}) {
      std::string& record = records.emplace_back();
      for (size_t i = 0; i < size; ++i)
        noise = noise * 1664525 + 1013904223, record += static_cast<char>(noise >> 24);
      chunks.push_back({riegeli_records_bytes({record}, packing, zstd_packed), 1, size});
    }
    EXPECT_EQ(all_of(array_record_file(chunks)), records) << static_cast<int>(packing);
  }
}

TEST(ArrayRecord, DamageIsToldByHashes) {
  const std::string chunk = riegeli_records_bytes({"one record"});
  std::string bytes = array_record_file({{chunk}});
  bytes[64 + 40 + 5] ^= 1;
  EXPECT_THAT(failure(bytes),
              HasSubstr("the data of a chunk do not match their hash: x.array_record, record 0 at byte 64"));
  Value unchecked;
  unchecked.set("verify", false);
  EXPECT_NE(all_of(bytes, unchecked), std::vector<std::string>{"one record"});
  bytes = array_record_file({{chunk}});
  bytes[64 + 9] ^= 1;
  EXPECT_THAT(failure(bytes), HasSubstr("the header of a chunk does not match its hash"));
  bytes = array_record_file({{riegeli_chunk_bytes('t', 1, 0, "x")}});
  EXPECT_THAT(failure(bytes), HasSubstr("written with transpose:true"));
}

TEST(ArrayRecord, NumbersAreCheckedBeforeMemoryIsTaken) {
  const auto chunk = [](const std::string& data, uint64_t records = 1, uint64_t decoded = 3) {
    return failure(array_record_file({{riegeli_chunk_bytes('r', records, decoded, data), records}}));
  };
  const std::string huge = riegeli_varint(~uint64_t{0});
  EXPECT_EQ(chunk(std::string("\0\1\3abc", 6)), "abc");
  EXPECT_THAT(
      chunk(std::string("\0\1\4abc", 6)),
      HasSubstr("expected records of 3 bytes in total, got sizes that add up to 4, and 3 bytes of data"));
  EXPECT_THAT(
      chunk(std::string("\0\1\2abc", 6)),
      HasSubstr("expected records of 3 bytes in total, got sizes that add up to 2, and 3 bytes of data"));
  EXPECT_THAT(chunk(std::string("\0", 1) + huge), HasSubstr("expected sizes of 18446744073709551615 bytes"));
  EXPECT_THAT(chunk("q\1\3abc"), HasSubstr("got type 113"));
  EXPECT_THAT(chunk(std::string("\0\1\3abc", 6), 2),
              HasSubstr("expected the sizes of 2 records, got 1 bytes"));
  EXPECT_THAT(chunk("z" + riegeli_varint(10) + huge + "abc"), HasSubstr("to unpack to at most"));
  EXPECT_THAT(chunk(std::string("\0\1\3abc", 6), uint64_t{1} << 50), HasSubstr("to unpack to at most"));
  EXPECT_THAT(failure(array_record_file({{riegeli_records_bytes({"a"})}}, 7)),
              HasSubstr("expected 7 records, but its chunks have 1"));
  EXPECT_THAT(failure(array_record_file({{riegeli_records_bytes({"abc"}), 1, 2}})),
              HasSubstr("expected a chunk of at most 2 bytes as the footer states, got 3"));
}

TEST(ArrayRecord, AFileThatWasNotClosedIsRefused) {
  const std::string bytes = array_record_file({{riegeli_records_bytes({"a"})}});
  EXPECT_THAT(failure(bytes.substr(0, 65536)),
              HasSubstr("expected blocks of 64 KiB, at least two, got 65536 bytes"));
  EXPECT_THAT(failure(bytes.substr(0, 65536) + std::string(65536, '\0')),
              HasSubstr("the file was not closed"));
}

TEST(ArrayRecord, SnappyIsUnpackedAndItsNumbersChecked) {
  const auto unpacked = [](const std::string& bytes, size_t size) {
    std::string out(size, '?');
    const Status status = unpack_snappy(text_bytes(bytes), std::as_writable_bytes(std::span(out)));
    return status.ok() ? out : std::string(status.text());
  };
  EXPECT_EQ(unpacked(snappy_packed("abbbbbbbbcc"), 11), "abbbbbbbbcc");
  EXPECT_EQ(unpacked(std::string("\x06\x04"
                                 "ab"
                                 "\x01\x02",
                                 6),
                     6),
            "ababab");  // one byte of offset
  EXPECT_EQ(unpacked(std::string("\x04\xf0\x03"
                                 "abcd",
                                 7),
                     4),
            "abcd");  // a length of its own
  EXPECT_EQ(unpacked(std::string("\x04\x04"
                                 "ab\x07\x02\0\0\0",
                                 9),
                     4),
            "abab");  // four bytes of offset
  EXPECT_THAT(unpacked(std::string("\x04\x04"
                                   "ab\x06\x03\0",
                                   7),
                       4),
              HasSubstr("from before its beginning"));
  EXPECT_THAT(unpacked(std::string("\x04\x04"
                                   "ab\x06\0\0",
                                   7),
                       4),
              HasSubstr("from before its beginning"));
  EXPECT_THAT(unpacked("\x04\x0c"
                       "ab",
                       4),
              HasSubstr("ends inside its bytes"));
  EXPECT_THAT(unpacked("\x02\x0c"
                       "abcd",
                       2),
              HasSubstr("holds more than it states"));
  EXPECT_THAT(unpacked("\x05\x0c"
                       "abcd",
                       5),
              HasSubstr("holds less than it states"));
  EXPECT_THAT(unpacked("\xff\xff\xff\xff\xff", 5), HasSubstr("expected a size first"));
}

}  // namespace
}  // namespace headrace
