#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/npy/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"
#include "tests/sources/conformance.h"

namespace headrace {

std::string zip_file(const std::vector<ZipMember>& members, bool wide) {
  const auto number = [](uint64_t value, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  constexpr uint64_t kWide = 0xffffffff;
  std::string out, directory;
  for (const ZipMember& member : members) {
    const uint64_t crc =
        crc32(0, reinterpret_cast<const Bytef*>(member.data.data()), static_cast<uInt>(member.data.size()));
    const std::string gzip = member.deflated ? deflated(member.data, Wrap::gzip) : "";
    const std::string packed = member.deflated ? gzip.substr(10, gzip.size() - 18) : member.data;
    const uint64_t local = out.size();
    const std::string start =
        number(20, 2) + number(0, 2) + number(member.deflated ? 8 : 0, 2) + number(0, 4) + number(crc, 4);
    const auto sizes = [&](bool is_wide) {
      return is_wide ? number(kWide, 4) + number(kWide, 4)
                     : number(packed.size(), 4) + number(member.data.size(), 4);
    };
    const std::string both = number(member.data.size(), 8) + number(packed.size(), 8);
    const std::string extra = wide ? number(1, 2) + number(16, 2) + both : "";
    out += "PK\3\4" + start + sizes(wide) + number(member.name.size(), 2) + number(extra.size(), 2) +
           member.name + extra + packed;
    const std::string more = wide ? number(1, 2) + number(24, 2) + both + number(local, 8) : "";
    directory += "PK\1\2" + number(20, 2) + start + sizes(wide) + number(member.name.size(), 2) +
                 number(more.size(), 2) + std::string(10, '\0') + number(wide ? kWide : local, 4) +
                 member.name + more;
  }
  const uint64_t at = out.size(), count = members.size();
  out += directory;
  if (wide) {
    const uint64_t end = out.size();
    out += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) + number(count, 8) +
           number(count, 8) + number(directory.size(), 8) + number(at, 8);
    out += "PK\6\7" + number(0, 4) + number(end, 8) + number(1, 4);
  }
  return out + "PK\5\6" + number(0, 4) + number(wide ? 0xffff : count, 2) + number(wide ? 0xffff : count, 2) +
         number(wide ? kWide : directory.size(), 4) + number(wide ? kWide : at, 4) + number(0, 2);
}

namespace {

using ::testing::HasSubstr;

const std::string kRows = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ12345678";  // 3 of 20 bytes
std::string x_npy() { return npy_file("'|u1'", "False", "(3, 20)", kRows); }
std::string y_npy() { return npy_file("'>u2'", "False", "(3,)", "aAbBcC"); }

std::string schema_or_error(const std::string& zip, const Value& options = {}) {
  MemoryStore store;
  store.add("x.npz", zip);
  const auto source = open_source(store, "x.npz", "npz", options);
  return source.ok() ? (*source)->schema().text() : std::string(source.status().text());
}

Value fields(std::vector<std::string> names) {
  Value out;
  out.set("fields", Value(Value::List(names.begin(), names.end())));
  return out;
}

TEST(Npz, EachArrayIsAFieldAndFieldsChoose) {
  const std::string zip = zip_file({{"x.npy", x_npy()}, {"y.npy", y_npy(), true}});
  EXPECT_EQ(schema_or_error(zip), "x: uint8 (20), y: uint16 ()");
  EXPECT_EQ(schema_or_error(zip, fields({"y", "x"})), "y: uint16 (), x: uint8 (20)");
  EXPECT_THAT(schema_or_error(zip, fields({"z"})),
              HasSubstr("fields: expected names of arrays (x, y), got 'z'"));
  EXPECT_THAT(schema_or_error(zip, fields({"x", "x"})), HasSubstr("expected each array once, got 'x' twice"));
  MemoryStore store;
  store.add("any", zip);
  EXPECT_TRUE(open_source(store, "any").ok());
}

TEST(Npz, ArraysOfOtherLengthsAreNotGuessedAt) {
  const std::string scalar = npy_file("'<f8'", "False", "()", "12345678");
  const std::string two = npy_file("'|u1'", "False", "(2,)", "ab");
  EXPECT_EQ(schema_or_error(zip_file({{"s.npy", scalar, true}, {"two.npy", two}, {"note.txt", "hello"}})),
            "two: uint8 ()");
  const std::string zip = zip_file({{"x.npy", x_npy(), true}, {"two.npy", two}});
  EXPECT_THAT(schema_or_error(zip),
              HasSubstr("expected arrays with the same number of rows, got 'x': 3, 'two': 2; choose those"));
  EXPECT_EQ(schema_or_error(zip, fields({"two"})), "two: uint8 ()");
  EXPECT_THAT(schema_or_error(zip_file({{"s.npy", scalar}})), HasSubstr("got single numbers only"));
  EXPECT_THAT(schema_or_error(zip_file({{"s.npy", scalar}}), fields({"s"})),
              HasSubstr("'s': expected an array whose"));
}

TEST(Npz, SmallRowsAreKeptUpToASumForAllArrays) {
  constexpr size_t kRowsOfEach = 24 << 16;  // of 16 bytes: 24 MiB
  const std::string npy = npy_file("'|u1'", "False", "(1572864, 16)", std::string(kRowsOfEach * 16, 'a'));
  MemoryStore store;
  store.add("x.npz", zip_file({{"x.npy", npy}, {"y.npy", npy}, {"z.npy", npy}}));
  const auto source = open_source(store, "x.npz");
  ASSERT_TRUE(source.ok()) << source.status().text();
  const auto step = (*source)->open(0)->advance({});
  ASSERT_TRUE(step.ok()) << step.status().text();
  const auto* reads = std::get_if<std::vector<Extent>>(&*step);
  ASSERT_TRUE(reads);
  EXPECT_EQ(reads->size(), 1u);  // of z
  const auto fields = read_sample(**source, kRowsOfEach - 1, store);
  ASSERT_TRUE(fields.ok()) << fields.status().text();
  for (const Tensor& field : *fields) EXPECT_EQ(field.view().data[15], std::byte{'a'});
}

TEST(Npz, DamageIsNamed) {
  std::string zip = zip_file({{"x.npy", x_npy(), true}});
  const size_t crc = zip.find("PK\1\2") + 16;
  std::string other = zip;
  other[crc] ^= 1;
  EXPECT_THAT(schema_or_error(other), HasSubstr("'x': a zip member does not match its checksum"));
  other = zip, other[crc + 9] ^= 64;  // bytes it unpacks to
  EXPECT_THAT(schema_or_error(other), HasSubstr("'x': "));
  other = zip, other[zip.find("PK\1\2") + 10] = 12;
  EXPECT_THAT(schema_or_error(other),
              HasSubstr("expected a zip member that is stored, deflated or in zstd, got method 12 (bzip2)"));
  other = zip, other[zip.find("PK\1\2") + 8] = 1;
  EXPECT_THAT(schema_or_error(other), HasSubstr("encrypted zip members cannot be read"));
  EXPECT_THAT(schema_or_error(zip.substr(0, zip.size() - 1)), HasSubstr("there is no directory at its end"));
  EXPECT_THAT(schema_or_error(zip_file({{"x.npy", x_npy()}, {"x.npy", x_npy()}})),
              HasSubstr("got 'x' twice"));
  EXPECT_THAT(schema_or_error(zip_file({{"a.txt", "a"}})), HasSubstr("the zip has no .npy file"));
  EXPECT_THAT(schema_or_error(zip_file({})), HasSubstr("the zip has no .npy file"));
}

}  // namespace

namespace trial {
namespace {

SourceCase npz_of(bool deflated, bool wide) {
  SourceCase out;
  out.files = {{"d/a.npz", zip_file({{"x.npy", x_npy(), deflated}, {"y.npy", y_npy(), !deflated}}, wide)}};
  const std::string labels = "AaBbCc";
  for (size_t i = 0; i < 3; ++i)
    out.samples.push_back(field_text(DType::u8, {20}, kRows.substr(20 * i, 20)) +
                          field_text(DType::u16, {}, labels.substr(2 * i, 2)));
  out.open = by_registered_format("npz");
  return out;
}
SourceCase npz_stored() { return npz_of(false, false); }
SourceCase npz_deflated() { return npz_of(true, false); }
SourceCase npz_wide() { return npz_of(false, true); }
INSTANTIATE_TEST_SUITE_P(Npz, SourceConformance, ::testing::Values(npz_stored, npz_deflated, npz_wide));

}  // namespace
}  // namespace trial
}  // namespace headrace
