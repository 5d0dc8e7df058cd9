#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "headrace/formats/hdf5/structure.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// Files that tests/sources/data/make.py wrote.
std::string small(const std::string& name) {
  std::ifstream in(std::string(HEADRACE_TEST_SOURCES_DATA) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Value fields(std::initializer_list<const char*> names) {
  Value out{Value::Object()};
  out.set("fields", Value::List(names.begin(), names.end()));
  return out;
}

std::string error_of(const std::string& bytes, const Value& options = {}) {
  MemoryStore store;
  store.add("x", bytes);
  const auto source = open_source(store, "x", "hdf5", options);
  return source.ok() ? "" : std::string(source.status().text());
}

FileIndex index_of(const std::string& bytes) {
  MemoryStore store;
  store.add("x", bytes);
  const auto opening = hdf5::index_hdf5({"x", bytes.size()});
  auto index = drive(*opening, [](uint64_t) { return "x"; }, store);
  EXPECT_TRUE(index.ok()) << index.status().text();
  return index.ok() ? *std::move(index) : FileIndex();
}

TEST(Hdf5, IsRecognisedBehindAUsersBlock) {
  for (const char* name : {"vlen.h5", "vlen_old.h5"})
    for (const size_t block : {0, 512, 1024, 2048}) {
      MemoryStore store;
      store.add("x", std::string(block, 'u') + small(name));
      const auto source = open_source(store, "x", {}, fields({"image", "thumb"}));
      ASSERT_TRUE(source.ok()) << source.status().text();
      EXPECT_EQ((*source)->describe().find("format")->dump(), "\"hdf5\"");
      const auto sample = read_sample(**source, 7, store);
      ASSERT_TRUE(sample.ok()) << sample.status().text();
      EXPECT_EQ((*sample)[1].view().as<float>()[0], 42);
    }
}

TEST(Hdf5, ErrorsSayWhatIsThereAndWhatIsNot) {
  const std::string bytes = small("vlen.h5");
  EXPECT_THAT(error_of(bytes, fields({"elsewhere"})),
              HasSubstr("'elsewhere': cannot follow a link to another file"));
  EXPECT_THAT(error_of(bytes, fields({"nowhere"})), HasSubstr("it has class, elsewhere, image, thumb"));
  EXPECT_THAT(error_of(bytes.substr(0, bytes.size() - 1)), HasSubstr("the file may be incomplete"));
  EXPECT_THAT(error_of(std::string(5000, 'x')), HasSubstr("expected an HDF5 signature at byte 0, 512"));
}

TEST(Hdf5, ASampleIsNamedByFileRowAndDataset) {
  MemoryStore store;
  store.add("x", small("vlen.h5"));
  const auto source = open_source(store, "x", {}, fields({"image", "class"}));
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->where(7).text(), "x, row 7 of /image");
  EXPECT_EQ((*source)->schema().text(), "image: bytes, class: uint16 ()");
}

TEST(Hdf5, RowsThatShareAHeapAreOneRead) {
  MemoryStore store;
  store.add("x", small("vlen.h5"));
  const auto source = open_source(store, "x", {}, fields({"image"}));
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->place(1).block, (*source)->place(10).block);
  const auto step = (*source)->open((*source)->place(10).block)->advance({});
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(std::get<std::vector<Extent>>(*step).size(), 1u);  // references were kept
}

TEST(Hdf5, AKeptIndexIsNotBelieved) {
  for (const char* name : {"vlen.h5", "vlen_old.h5"}) {
    const std::string bytes = small(name);
    const FileIndex index = index_of(bytes);
    ASSERT_TRUE(hdf5::unpack(index.extra, bytes.size()).ok());
    EXPECT_FALSE(hdf5::unpack(index.extra, 100).ok());  // the index of a larger file
    for (size_t length = 0; length < index.extra.size(); ++length)
      EXPECT_FALSE(hdf5::unpack(index.extra.substr(0, length), bytes.size()).ok()) << length;
    for (size_t i = 0; i < index.extra.size(); ++i) {
      std::string damaged = index.extra;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
      (void)hdf5::unpack(damaged, bytes.size());  // must not crash
    }
  }
}

TEST(Hdf5, ADamagedObjectCostsItsRowOnly) {
  std::string bytes = small("vlen_old.h5");
  constexpr size_t kHead = 16;  // of a heap; the first object's number follows
  bytes[bytes.find("GCOL") + kHead] = 99;
  MemoryStore store;
  store.add("x", bytes);
  const auto source = open_source(store, "x", {}, fields({"image", "class"}));
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_TRUE(read_sample(**source, 0, store).ok());  // an empty value has no object
  const auto damaged = read_sample(**source, 1, store);
  ASSERT_FALSE(damaged.ok());
  EXPECT_THAT(std::string(damaged.status().text()), HasSubstr("'image': no object 1"));
  for (uint64_t row = 2; row < 11; ++row) EXPECT_TRUE(read_sample(**source, row, store).ok()) << row;
}

}  // namespace
}  // namespace headrace
