#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/zarr/cells.h"
#include "headrace/formats/zarr/json.h"
#include "headrace/formats/zarr/testing.h"

namespace headrace::zarr {
namespace {

using ::testing::HasSubstr;

using I32 = std::vector<int32_t>;

TEST(Zarr, ReadsAnArrayAtTheRoot) {
  const auto [got, why] = read_numbers<int32_t>(zarr_store({{".zarray", array_v2("[5]", "[2]", "<i4")},
                                                            {"0", as_bytes_of<int32_t>({1, 2})},
                                                            {"2", as_bytes_of<int32_t>({5, 99})},
                                                            {"02", as_bytes_of<int32_t>({7, 7})},
                                                            {"3", "no chunk of this array"}}));
  EXPECT_EQ(why, "");
  EXPECT_EQ(got, (I32{1, 2, 0, 0, 5}));
}

TEST(Zarr, BigEndianColumnsAndSeparators) {
  const auto store = zarr_store(
      {{".zarray",
        R"({"zarr_format":2,"order":"F","shape":[2,3],"chunks":[2,2],"dtype":">i2","compressor":null,)"
        R"("filters":null,"fill_value":-1,"dimension_separator":"/"})"},
       {"0/0", std::string("\0\1\0\2\0\3\0\4", 8)}});
  const auto [got, why] = read_numbers<int16_t>(store);
  EXPECT_EQ(why, "");
  EXPECT_EQ(got, (std::vector<int16_t>{1, 3, -1, 2, 4, -1}));
}

TEST(Zarr, FillValuesInAllTheirForms) {
  const std::pair<std::string, double> forms[] = {{"1.5", 1.5},
                                                  {"3", 3},
                                                  {R"("Infinity")", HUGE_VAL},
                                                  {"-Infinity", -HUGE_VAL},
                                                  {R"("0x3ff8000000000000")", 1.5}};
  for (const auto& [form, value] : forms) {
    const auto [got, why] = read_numbers<double>(
        zarr_store({{"zarr.json", array_v3("[2]", "[2]", "float64", "[" + kLittle + "]", form)}}));
    EXPECT_EQ(why, "");
    EXPECT_EQ(got, std::vector<double>(2, value)) << form;
  }
  const auto nan = read_numbers<float>(
      zarr_store({{".zarray", array_v2("[1]", "[1]", "<f4", R"("compressor":null,"fill_value":NaN)")}}));
  ASSERT_EQ(nan.second, "");
  EXPECT_TRUE(std::isnan(nan.first[0]));
}

TEST(Zarr, SaysWhatIsNotRead) {
  const std::pair<std::string, std::string> cases[] = {
      {array_v2("[2]", "[2]", "<c8"), "got \"<c8\"; write x.view(x.real.dtype)"},
      {array_v2("[2]", "[2]", "<M8[ns]"), "write x.view('i8')"},
      {array_v2("[2]", "[2]", "|O"), "of these, only vlen-utf8 and vlen-bytes are supported"},
      {array_v2("[2]", "[2]", "<i4", R"("compressor":{"id":"lzma"},"fill_value":0)"), "got 'lzma'"},
      {array_v2("[2]", "[2]", "<i4", R"("compressor":null,"filters":[{"id":"pickle"}],"fill_value":0)"),
       "got 'pickle'"},
      {array_v2("[2,2]", "[2,2]", "|S3"), "expected strings along one axis, got 2 axes"},
      {array_v2("[2,1,1,1,1,1,1,1,1,1]", "[2,1,1,1,1,1,1,1,1,1]", "|u1"), "expected at most 9 axes, got 10"},
  };
  for (const auto& [json, message] : cases)
    EXPECT_THAT(why_refused({{".zarray", json}}), HasSubstr(message)) << json;
  const std::string bytes = "[" + kLittle + "]";
  const std::pair<std::string, std::string> newer[] = {
      {array_v3("[2]", "[2]", "complex64", bytes), "got \"complex64\""},
      {array_v3("[2]", "[2]", "int32", R"([{"name":"bytes"},{"name":"numcodecs.bz2"}])"), "got 'bz2'"},
      {array_v3("[2]", "[2]", "int32", bytes.substr(0, 1) + kZstd + "]"),
       "expected the codec bytes before 'zstd'"},
  };
  for (const auto& [json, message] : newer)
    EXPECT_THAT(why_refused({{"zarr.json", json}}), HasSubstr(message)) << json;
  std::string strange = array_v3("[2]", "[2]", "int32", bytes);
  EXPECT_THAT(why_refused({{"zarr.json", strange.insert(1, R"("storage_transformers":[{"name":"x"}],)")}}),
              HasSubstr("no storage transformers"));
  strange = array_v3("[2]", "[2]", "int32", bytes);
  EXPECT_THAT(why_refused({{"zarr.json", strange.insert(1, R"("new":{"a":1},)")}}), HasSubstr("got 'new'"));
  strange = array_v3("[2]", "[2]", "int32", bytes);
  EXPECT_EQ(why_refused({{"zarr.json", strange.insert(1, R"("new":{"must_understand":false},)")}}), "");
}

TEST(Zarr, ChoosesAmongGroups) {
  const std::string one = array_v2("[2]", "[2]", "|u1"), other = array_v2("[3]", "[3]", "|u1");
  EXPECT_THAT(why_refused({{"a/x/.zarray", one}, {"b/x/.zarray", one}}),
              HasSubstr("arrays in several groups (a, b)"));
  EXPECT_THAT(why_refused({{"x/.zarray", one}, {"y/.zarray", other}}),
              HasSubstr("'x' of 2 rows and 'y' of 3 rows"));
  EXPECT_THAT(why_refused({{"a/.zgroup", "{}"}}), HasSubstr("zarr"));
  EXPECT_EQ(why_refused({{"deep/er/x/.zarray", one}, {".zgroup", "{}"}}), "");
  Value options{Value::Object()};
  options.set("fields", Value::List{"y"});
  const auto chosen = read_numbers<uint8_t>(zarr_store({{"x/.zarray", one}, {"y/.zarray", other}}), options);
  EXPECT_EQ(chosen.first.size(), 3u);
}

TEST(Zarr, StoresInAFolderAreOneSource) {
  const auto store = zarr_store({{"00000.zarr/x/.zarray", array_v2("[2]", "[2]", "|u1")},
                                 {"00000.zarr/x/0", "\1\2"},
                                 {"00001.zarr/x/.zarray", array_v2("[0]", "[2]", "|u1")},
                                 {"00002.zarr/x/.zarray", array_v2("[3]", "[2]", "|u1")},
                                 {"00002.zarr/x/0", "\3\4"}});
  EXPECT_THAT(read_numbers<uint8_t>(store).first, ::testing::ElementsAre(1, 2, 3, 4, 0));
}

// Counts calls to the file system.
class CountingStore final : public Store {
 public:
  explicit CountingStore(MemoryStore* store) : store_(store) {}
  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    return ++opened, store_->open(path);
  }
  Result<FileInfo> info(const std::string& path) override { return ++looked_at, store_->info(path); }
  Result<Listing> list(const std::string& root) override { return ++listed, store_->list(root); }
  int opened = 0, looked_at = 0, listed = 0;

 private:
  MemoryStore* store_;
};

// Number of extents that a block reads: one for each array that is not kept.
size_t reads_of_block(const Source& source, uint64_t block) {
  const auto opening = source.open(block);
  const auto step = opening->advance({});
  EXPECT_TRUE(step.ok()) << step.status().text();
  const auto* wanted = std::get_if<std::vector<Extent>>(&*step);
  return wanted ? wanted->size() : 0;
}

TEST(Zarr, LabelsAreKeptUpToASumForAllArrays) {
  const std::string chunk(65536 * 8, 'a');
  Files files;
  for (const char* name : {"a", "b", "c"}) {  // 24 MiB each, of which little exists
    files.emplace_back(std::string(name) + "/.zarray", array_v2("[3145728]", "[65536]", "<i8"));
    files.emplace_back(std::string(name) + "/0", chunk);
  }
  files.emplace_back("small/.zarray", array_v2("[3145728]", "[65536]", "|u1"));
  files.emplace_back("small/0", chunk.substr(0, 65536));
  MemoryStore store = zarr_store(files);
  const auto source = open_source(store, "x.zarr");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ(reads_of_block(**source, 0), 1u);  // of c
  for (const uint64_t row : {0, 65'535, 65'536, 3'145'727}) {
    const auto fields = read_sample(**source, row, store);
    ASSERT_TRUE(fields.ok()) << fields.status().text();
    for (const Tensor& field : *fields)
      EXPECT_EQ(field.view().data[0], row < 65'536 ? std::byte{'a'} : std::byte{0}) << row;
  }
}

TEST(Zarr, ManyChunksAreFoundByOneListing) {
  Files files{{".zarray", array_v2("[20000,17]", "[1,17]", "|u1")}};
  for (int row = 0; row < 20'000; row += 2)
    files.emplace_back(std::to_string(row) + ".0", std::string(17, 'a'));
  MemoryStore memory = zarr_store(files);
  CountingStore store(&memory);
  const auto source = open_source(store, "x.zarr");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ(store.listed, 1);
  EXPECT_EQ(store.opened, 1);     // its metadata
  EXPECT_LE(store.looked_at, 2);  // the folder
  for (const uint64_t row : {0, 19'998, 19'999}) {
    const auto fields = read_sample(**source, row, store);
    ASSERT_TRUE(fields.ok()) << fields.status().text();
    EXPECT_EQ((*fields)[0].view().data[0], row % 2 == 0 ? std::byte{'a'} : std::byte{0}) << row;
  }
}

TEST(Zarr, N5IsRefusedByName) {
  const std::string n5 =
      R"({"dataType":"uint8","dimensions":[2],"blockSize":[2],"compression":{"type":"raw"}})";
  EXPECT_THAT(why_refused({{"attributes.json", n5}, {"0", "xx"}}), HasSubstr("got an N5 store"));
  EXPECT_THAT(why_refused({{"attributes.json", "{}"}, {"a.txt", "xx"}}), Not(HasSubstr("N5")));
}

TEST(ZarrJson, WordsOfPythonAndDepth) {
  const auto value =
      parse_json(R"({"a": [NaN, Infinity, -Infinity, "NaN \" Infinity", -1, 18446744073709551615]})");
  ASSERT_TRUE(value.ok()) << value.status().text();
  EXPECT_EQ(value->dump(), R"({"a":["NaN","Infinity","-Infinity","NaN \" Infinity",-1,-1]})");
  EXPECT_FALSE(parse_json("{").ok());
  EXPECT_FALSE(parse_json("").ok());
  EXPECT_FALSE(parse_json("Nan").ok());
}

// Compares any two boxes and any order of axes with the definition.
TEST(ZarrCells, PlaceIsAsTheCoordinatesSay) {
  const Dims shape{5, 4, 3};
  for (const std::vector<size_t>& order : {std::vector<size_t>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}})
    for (const Dims& size : {Dims{2, 4, 3}, Dims{3, 3, 2}, Dims{1, 1, 1}, Dims{5, 4, 2}})
      for (uint64_t at = 0; at < 8; ++at) {
        const Box cell{{at & 1 ? size[0] : 0, at & 2 ? size[1] : 0, at & 4 ? size[2] : 0}, size};
        const Box target{{1, 0, 0}, {3, 4, 3}};
        Chain chain;
        chain.order = order;
        const Dims strides = strides_of(chain, size, 2);
        std::string plain(2 * product(size), '?'), out(72, '-'), wanted = out;
        for (uint64_t i = 0; i < size[0]; ++i)
          for (uint64_t j = 0; j < size[1]; ++j)
            for (uint64_t k = 0; k < size[2]; ++k) {
              const uint64_t a = cell.origin[0] + i, b = cell.origin[1] + j, c = cell.origin[2] + k;
              const std::string value{static_cast<char>('a' + a), static_cast<char>('a' + 3 * b + c)};
              plain.replace(i * strides[0] + j * strides[1] + k * strides[2], 2, value);
              if (a >= 1 && a < 4 && b < 4 && c < 3) wanted.replace(2 * ((a - 1) * 12 + b * 3 + c), 2, value);
            }
        place_cell(cell, strides, target, 2, std::as_bytes(std::span(plain)),
                   reinterpret_cast<std::byte*>(out.data()));
        EXPECT_EQ(out, wanted);
      }
}

}  // namespace
}  // namespace headrace::zarr
