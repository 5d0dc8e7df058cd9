#include "tests/sources/tfrecord.h"

#if HEADRACE_TEST_HAS_ZLIB
#include <zlib.h>
#endif

#include <cstring>

#include "headrace/core/value.h"
#include "tests/sources/conformance.h"
#include "tests/sources/crc32c.h"
#include "tests/sources/witness.h"

namespace headrace::trial {
namespace {

template <class T> std::string number_bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string crc_of(const std::string& bytes) {
  return number_bytes(masked(crc32c(std::as_bytes(std::span(bytes)))));
}

std::string framed(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) {
    const std::string length = number_bytes(uint64_t{record.size()});
    out += length + crc_of(length) + record + crc_of(record);
  }
  return out;
}

const std::vector<std::string> kFirst = {"headrace", "", std::string(300, 'x'), "a record",
                                         std::string(47, '\0')};
const std::vector<std::string> kSecond = {std::string(64 - 16, 'y'), "last"};

SourceCase two_files() {
  SourceCase out;
  out.files = {{"data/train-0.tfrecord", framed(kFirst)}, {"data/train-1.tfrecord", framed(kSecond)}};
  for (const auto* records : {&kFirst, &kSecond})
    for (const std::string& record : *records)
      out.samples.push_back(field_text(DType::bytes, {static_cast<int64_t>(record.size())}, record));
  out.is_checksummed = true;
  return out;
}

SourceCase plain_case() {
  SourceCase out = two_files();
  out.open = [](std::vector<SourceFile> files) { return open_tfrecord(std::move(files), {.window = 64}); };
  out.cut = Cut::may_be_an_ending;
  return out;
}
INSTANTIATE_TEST_SUITE_P(PlainTfrecord, SourceConformance, testing::Values(plain_case));

TEST(Tfrecord, FramingIsThatOfTheSpecification) {
  EXPECT_EQ(crc32c(std::as_bytes(std::span("123456789", 9))), 0xE3069283u);
  const unsigned char empty_record[] = {0,    0,    0,    0,    0,    0,    0,    0,
                                        0x29, 0x03, 0x98, 0x07, 0xd8, 0xea, 0x82, 0xa2};
  const std::string bytes = framed({""});
  ASSERT_EQ(bytes.size(), sizeof(empty_record));
  EXPECT_EQ(std::memcmp(bytes.data(), empty_record, sizeof(empty_record)), 0);
}

TEST(Tfrecord, ALengthBeyondTheFileIsAnErrorAtItsByte) {
  const std::string length = number_bytes(uint64_t{1} << 40);  // its CRC is right
  const std::string file = framed({"first"}) + length + crc_of(length) + std::string(8, '\0');
  SourceCase source_case = plain_case();
  source_case.files = {{"train.tfrecord", file}};
  MemoryStore store = stored(source_case);
  const auto source = open_source_case(source_case, store);
  EXPECT_EQ(source.status().text(),
            "tfrecord: wants a record of 1099511627776 bytes, only 4 are left at byte 21 of train.tfrecord");
}

TEST(Tfrecord, AnotherSizeThanTheFilesIsAnErrorAndNotFewerRecords) {
  SourceCase source_case = plain_case();
  MemoryStore store = stored(source_case);
  const auto files = sized(store, source_case);
  store.add("data/train-1.tfrecord", framed({kSecond[0]}));  // cut between two records
  const auto opening = source_case.open(files);
  ASSERT_TRUE(opening.ok());
  const auto source =
      drive(**opening, [&](uint64_t ordinal) { return source_case.files[ordinal].first; }, store);
  EXPECT_EQ(source.status().code(), Code::corrupt);
}

#if HEADRACE_TEST_HAS_ZLIB

// window_bits as zlib has them: 15 is zlib, 15 + 16 gzip.
std::string deflated(const std::string& in, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, in.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// One file is gzip, the other zlib.
SourceCase compressed_case() {
  SourceCase out = two_files();
  out.files[0].second = deflated(out.files[0].second, 15 + 16);
  out.files[1].second = deflated(out.files[1].second, 15);
  out.open = open_gzip_tfrecord;
  return out;
}
INSTANTIATE_TEST_SUITE_P(GzipTfrecord, SourceConformance, testing::Values(compressed_case));

Result<SourcePtr> open_gzip(const std::string& bytes) {
  SourceCase source_case = compressed_case();
  source_case.files = {{"train.gz", bytes}};
  MemoryStore store = stored(source_case);
  return open_source_case(source_case, store);
}

TEST(GzipTfrecord, SeveralMembersAreOneFile) {
  const std::string bytes = deflated(framed(kFirst), 31) + deflated(framed(kSecond), 31);
  const auto source = open_gzip(bytes);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->size(), kFirst.size() + kSecond.size());
}

TEST(GzipTfrecord, EverySizeAroundTheInflatersRoomIsReadWhole) {
  for (size_t size = (1 << 15) - 40; size < (1 << 15) + 40; ++size) {
    const auto source = open_gzip(deflated(framed({std::string(size, 'x')}), 31));
    ASSERT_TRUE(source.ok()) << size << ": " << source.status().text();
    ASSERT_EQ((*source)->size(), 1u);
  }
}

TEST(GzipTfrecord, ABlockSaysWhatItHolds) {
  SourceCase source_case = compressed_case();
  MemoryStore store = stored(source_case);
  const auto source = open_source_case(source_case, store);
  ASSERT_TRUE(source.ok());
  const auto block = drive(*(*source)->open(0), path_of(**source), store);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ((*block)->held_bytes(), framed(kFirst).size());
}

#endif

// TensorFlow 2.21's own files: the first of two plain ones, gzip and zlib hold the same ten records.
TEST(Tfrecord, ReadsWhatTensorFlowWrote) {
  const std::string folder = witness_folder();
  if (folder.empty()) GTEST_SKIP() << "HEADRACE_DATA is not set";
  const std::string path = "/tfrecord_imagenet/train-00000-of-00002";
  const auto plain =
      read_witness(folder + path, [](SourceFile file) { return open_tfrecord({std::move(file)}); });
  ASSERT_TRUE(plain.ok()) << plain.status().text();
  EXPECT_EQ(plain->size(), 10u);
#if HEADRACE_TEST_HAS_ZLIB
  for (const char* name :
       {"/tfrecord_imagenet/train-00000-of-00001.gz", "/tfrecord_imagenet/train-00000-of-00001.zlib"}) {
    const auto same =
        read_witness(folder + name, [](SourceFile file) { return open_gzip_tfrecord({std::move(file)}); });
    ASSERT_TRUE(same.ok()) << same.status().text();
    EXPECT_EQ(*same, *plain) << name;
  }
#endif
}

}  // namespace
}  // namespace headrace::trial
