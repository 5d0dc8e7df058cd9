#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headrace/core/little_endian.h"
#include "headrace/formats/meaning/attributes.h"
#include "headrace/formats/meaning/files_agree.h"
#include "headrace/formats/meaning/logical_type.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string shared(std::string_view a, std::string_view b) {
  const auto one = common_type(a, b), other = common_type(b, a);
  EXPECT_EQ(one, other);
  return one.value_or("none");
}

TEST(LogicalType, OfTwoUnitsTheFinerHoldsBoth) {
  EXPECT_EQ(shared("timestamp[us]", "timestamp[ns]"), "timestamp[ns]");
  EXPECT_EQ(shared("timestamp[s, tz=UTC]", "timestamp[ms, tz=UTC]"), "timestamp[ms, tz=UTC]");
  EXPECT_EQ(shared("timestamp[us, tz=Asia/Tokyo]", "timestamp[us, tz=+01:00]"), "timestamp[us, tz=UTC]");
  EXPECT_EQ(shared("duration[s]", "duration[ns]"), "duration[ns]");
  EXPECT_EQ(shared("time32[s]", "time32[ms]"), "time32[ms]");
  EXPECT_EQ(shared("time32[s]", "time64[us]"), "time64[us]");
  EXPECT_EQ(shared("date32[day]", "date64[ms]"), "date64[ms]");
  EXPECT_EQ(shared("decimal128(9, 2)", "decimal128(9, 4)"), "decimal128(11, 4)");
  EXPECT_EQ(shared("decimal128(38, 0)", "decimal128(9, 4)"), "decimal256(42, 4)");
  EXPECT_EQ(shared("decimal128(9, 2)", ""), "");
  EXPECT_EQ(shared("K", "K"), "K");
}

TEST(LogicalType, OtherTypesHaveNothingInCommon) {
  const std::vector<std::string> types{
      "",     "timestamp[us]", "timestamp[us, tz=UTC]", "date32[day]", "time32[s]", "duration[s]", "K",
      "degC", "timestamp[",    "timestamp[min]"};
  for (const std::string& a : types)
    for (const std::string& b : types) EXPECT_EQ(shared(a, b), a == b ? a : "none") << a << " " << b;
}

TEST(LogicalType, OfTwoDtypesOfAKindTheWiderHoldsBoth) {
  const auto wider = [](DType a, DType b) {
    EXPECT_EQ(common_dtype(a, b), common_dtype(b, a));
    const auto one = common_dtype(a, b);
    return one ? std::string(dtype_name(*one)) : "none";
  };
  EXPECT_EQ(wider(DType::i32, DType::i64), "int64");
  EXPECT_EQ(wider(DType::u8, DType::u32), "uint32");
  EXPECT_EQ(wider(DType::u8, DType::i8), "int16");
  EXPECT_EQ(wider(DType::u8, DType::i32), "int32");
  EXPECT_EQ(wider(DType::u32, DType::i32), "int64");
  EXPECT_EQ(wider(DType::u64, DType::i64), "none");
  EXPECT_EQ(wider(DType::f32, DType::f64), "float64");
  EXPECT_EQ(wider(DType::f16, DType::bf16), "float32");
  EXPECT_EQ(wider(DType::bf16, DType::f32), "float32");
  EXPECT_EQ(wider(DType::i8, DType::f64), "none");
  EXPECT_EQ(wider(DType::boolean, DType::u8), "none");
  EXPECT_EQ(wider(DType::str, DType::bytes), "none");
  EXPECT_EQ(wider(DType::str, DType::str), "str");
}

TEST(LogicalType, FactorsAreThoseOfTheUnits) {
  EXPECT_EQ(factor_between("timestamp[s]", "timestamp[ns]"), 1'000'000'000);
  EXPECT_EQ(factor_between("timestamp[us, tz=Asia/Tokyo]", "timestamp[us, tz=UTC]"), 1);
  EXPECT_EQ(factor_between("time32[ms]", "time64[us]"), 1000);
  EXPECT_EQ(factor_between("date32[day]", "date64[ms]"), 86'400'000);
  EXPECT_EQ(factor_between("date64[ms]", "date64[ms]"), 1);
  EXPECT_EQ(factor_between("decimal128(9, 2)", "decimal128(9, 4)"), 1);
  EXPECT_EQ(factor_between("K", "K"), 1);
}

int64_t number_in(const Tensor& tensor) { return *tensor.view().as<int64_t>(); }

TEST(FieldChange, ProductsBeyondInt64AreErrorsAndNeverWrapAround) {
  const FieldChange change = in_unit(1000, "timestamp[us]", "timestamp[ns]");
  EXPECT_EQ(number_in(*change(scalar(int64_t{-7}))), -7000);
  const int64_t last = std::numeric_limits<int64_t>::max() / 1000;
  EXPECT_EQ(number_in(*change(scalar(last))), last * 1000);
  for (const int64_t beyond : {last + 1, -last - 2}) {
    const Status status = change(scalar(beyond)).status();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_THAT(std::string(status.text()), HasSubstr("timestamp[us] is beyond the range of timestamp[ns]"));
  }
}

TEST(FieldChange, ClassNumbersAreReplacedAndMinusOneStays) {
  const FieldChange change = renumbered({2, 0});
  EXPECT_EQ(number_in(*change(scalar(int64_t{0}))), 2);
  EXPECT_EQ(number_in(*change(scalar(int64_t{1}))), 0);
  EXPECT_EQ(number_in(*change(scalar(int64_t{-1}))), -1);
  EXPECT_THAT(std::string(change(scalar(int64_t{2})).status().text()),
              HasSubstr("one of 2 classes, or -1, got 2"));
}

const Schema kRow = Schema::of({"t", "label"}, {{DType::i64, {}}, {DType::i64, {}}});

FileFields file(std::string path, std::string type, const char* about = "null") {
  return {std::move(path), kRow, {std::move(type), ""}, *Value::parse(about)};
}

TEST(FilesAgree, AnyFileMayHaveTheFinestUnit) {
  FilesAgree agree("column", false);
  EXPECT_TRUE(agree.add(file("a", "timestamp[us]")).ok());
  EXPECT_TRUE(agree.add(file("b", "timestamp[ns]")).ok());
  EXPECT_TRUE(agree.add(file("c", "timestamp[s]")).ok());
  agree.add_like_last();
  const auto agreed = agree.finish();
  EXPECT_EQ(agreed->types.dump(), R"({"t":"timestamp[ns]"})");
  EXPECT_TRUE(agreed->has_changes);
  const std::vector<int64_t> factors{1000, 1, 1'000'000'000, 1'000'000'000};
  for (size_t i = 0; i < factors.size(); ++i) {
    const FieldChangesPtr changes = agree.changes(i);
    ASSERT_EQ(changes == nullptr, factors[i] == 1);
    if (!changes) continue;
    EXPECT_EQ(number_in(*changes->changes[0](scalar(int64_t{3}))), 3 * factors[i]);
    EXPECT_FALSE(changes->changes[1]);
  }
}

TEST(FilesAgree, AnErrorNamesTheFileThatDeterminesTheUnitAndBothTypes) {
  FilesAgree agree("column", false);
  EXPECT_TRUE(agree.add(file("a", "timestamp[us]")).ok());
  EXPECT_TRUE(agree.add(file("b", "timestamp[ns]")).ok());
  const Status status = agree.add(file("c", "timestamp[ns, tz=UTC]"));
  EXPECT_THAT(std::string(status.text()),
              HasSubstr("expected column 't' as timestamp[ns], as in 'b', got timestamp[ns, tz=UTC]"));
  EXPECT_THAT(std::string(agree.add(file("d", "")).text()), HasSubstr("got a plain number"));
}

TEST(FilesAgree, FilesThatAreAlikeAreNotChanged) {
  FilesAgree agree("column", false);
  for (const char* path : {"a", "b"})
    EXPECT_TRUE(agree.add(file(path, "timestamp[us]", R"({"classes":["x"],"k":1})")).ok());
  const auto agreed = agree.finish();
  EXPECT_FALSE(agreed->has_changes);
  EXPECT_EQ(agreed->stable_text, "");
  EXPECT_EQ(agreed->about.dump(), R"({"classes":["x"],"k":1})");
  EXPECT_THAT(agreed->notes, IsEmpty());
}

// The classes of all files and the numbers that `labels` of the last one become; or the error.
std::string joined(const std::vector<const char*>& abouts, bool align, std::vector<int64_t> labels = {}) {
  FilesAgree agree("column", align);
  for (size_t i = 0; i < abouts.size(); ++i)
    if (const Status status = agree.add(file(std::string(1, static_cast<char>('a' + i)), "", abouts[i]));
        !status.ok())
      return std::string(status.text());
  const auto agreed = agree.finish();
  if (!agreed.ok()) return std::string(agreed.status().text());
  std::string out = agreed->about.dump();
  const FieldChangesPtr changes = agree.changes(abouts.size() - 1);
  for (const int64_t label : labels)
    out += " " + std::to_string(
                     changes && changes->changes[1] ? number_in(*changes->changes[1](scalar(label))) : label);
  for (const std::string& note : agreed->notes) out += " note: " + note;
  return out;
}

TEST(FilesAgree, ClassListsThatDifferAreMappedByNameWhereAsked) {
  const char *a = R"({"classes":["cat","dog"]})", *b = R"({"classes":["ant","cat","dog"]})";
  EXPECT_THAT(joined({a, b}, false), HasSubstr("expected that class 0 is 'cat' as in 'a'"));
  EXPECT_THAT(joined({a, b}, false), HasSubstr("got 'ant' (3 classes ['ant', 'cat', 'dog'])"));
  EXPECT_THAT(joined({a, b}, false), HasSubstr("of field 'label'; align_labels=True"));
  EXPECT_EQ(joined({a, b}, true, {0, 1, 2, -1}), R"({"classes":["cat","dog","ant"]} 2 0 1 -1)");
  EXPECT_EQ(joined({b, a}, true, {0, 1}), R"({"classes":["ant","cat","dog"]} 1 2)");
}

TEST(FilesAgree, OfListsThatContinueEachOtherTheLongestHolds) {
  const char *a = R"({"classes":["cat"]})", *b = R"({"classes":["cat","dog"]})";
  EXPECT_EQ(joined({a, b}, false, {0, 1}), R"({"classes":["cat","dog"]} 0 1)");
  EXPECT_EQ(joined({b, a}, false, {0}), R"({"classes":["cat","dog"]} 0)");
}

TEST(FilesAgree, ListsOfSomeFilesOnlyHoldForNone) {
  const char* a = R"({"classes":["cat"],"k":1})";
  EXPECT_THAT(joined({a, R"({"k":1})"}, false), HasSubstr(R"({"k":1} note: 'b' has no list of classes)"));
  EXPECT_THAT(joined({"null", a}, false), HasSubstr("note: 'b' has a list of classes"));
}

TEST(FilesAgree, ListsOfSeveralFieldsAreJoinedEach) {
  EXPECT_EQ(joined({R"({"classes":["x"],"classes_of":{"t":["x"],"label":["p","q"]}})",
                    R"({"classes":["y"],"classes_of":{"t":["y"],"label":["q","p"]}})"},
                   true, {0, 1}),
            R"({"classes":["x","y"],"classes_of":{"t":["x","y"],"label":["p","q"]}} 1 0)");
  EXPECT_THAT(
      joined({R"({"classes":["x"],"classes_of":"other"})", R"({"classes":["y"],"classes_of":"other"})"},
             true),
      HasSubstr("no field is known to have the labels"));
}

TEST(FilesAgree, ANameThatIsTwiceInAListCannotBeMapped) {
  EXPECT_THAT(joined({R"({"classes":["a","b"]})", R"({"classes":["b","b"]})"}, true),
              HasSubstr("expected each class once, got 'b' twice"));
}

TEST(ClassLists, HuggingFaceNamesTheFieldUnlessItIsCalledLabel) {
  const auto said = [](const std::string& features) {
    return huggingface_classes(R"({"info":{"features":{)" + features + "}}}").dump();
  };
  const std::string names = R"(:{"_type":"ClassLabel","names":["no","yes"]})";
  EXPECT_EQ(said(R"("label")" + names), R"({"classes":["no","yes"]})");
  EXPECT_EQ(said(R"("mood")" + names), R"({"classes":["no","yes"],"classes_of":"mood"})");
  EXPECT_EQ(said(R"("a")" + names + R"(,"label")" + names),
            R"({"classes":["no","yes"],"classes_of":{"a":["no","yes"],"label":["no","yes"]}})");
  EXPECT_EQ(said(R"("a":{"_type":"Value"})"), "null");
  EXPECT_TRUE(huggingface_classes("{").is_null());
}

Attribute number(std::string name, double value, DType dtype = DType::f64) {
  return {std::move(name), dtype, {value}};
}

template <class T> std::string decoded(T value, const std::vector<Attribute>& attributes, DType stored) {
  const auto decoding = decoding_of(stored, attributes);
  if (!decoding) return "as stored";
  const View view{stored, {}, reinterpret_cast<const std::byte*>(&value)};
  const auto out = decoding->change(make_tensor(view));
  std::string text(short_name(decoding->dtype));
  const View made = out->view();
  visit_dtype(decoding->dtype, [&]<class D>() {
    if constexpr (std::is_arithmetic_v<D>)
      text += " " + Value(static_cast<double>(load<D>(made.data))).dump();
  });
  return text;
}

TEST(Attributes, PackedNumbersAreDecodedInXarraysDtypes) {
  const auto scale = number("scale_factor", 0.5), offset = number("add_offset", 10);
  EXPECT_EQ(decoded<int16_t>(4, {scale, offset}, DType::i16), "f64 12.0");
  EXPECT_EQ(
      decoded<int16_t>(4, {number("scale_factor", 0.5, DType::f32), number("add_offset", 10, DType::f32)},
                       DType::i16),
      "f32 12.0");
  EXPECT_EQ(
      decoded<int32_t>(4, {number("scale_factor", 0.5, DType::f32), number("add_offset", 10, DType::f32)},
                       DType::i32),
      "f64 12.0");
  EXPECT_EQ(decoded<int16_t>(4, {number("scale_factor", 0.5, DType::f32)}, DType::i16), "f32 2.0");
  EXPECT_EQ(decoded<int16_t>(4, {number("add_offset", 10, DType::f32)}, DType::i16), "f64 14.0");
  EXPECT_EQ(decoded<int16_t>(-1, {scale, {"_FillValue", DType::i16, {int64_t{-1}}}}, DType::i16), "f64 null");
  EXPECT_EQ(decoded<int16_t>(7, {{"missing_value", DType::i16, {int64_t{6}, int64_t{7}}}}, DType::i16),
            "f32 null");
  EXPECT_EQ(decoded<int32_t>(7, {{"_FillValue", DType::i32, {int64_t{6}}}}, DType::i32), "f64 7.0");
  EXPECT_EQ(decoded<float>(-9, {number("_FillValue", -9)}, DType::f32), "f32 null");
}

TEST(Attributes, UnsignedNumbersAndTheirFillValue) {
  const Attribute is_unsigned{"_Unsigned", DType::str, {}, {"true"}};
  EXPECT_EQ(decoded<int8_t>(-2, {is_unsigned}, DType::i8), "u8 254.0");
  EXPECT_EQ(decoded<int8_t>(-2, {is_unsigned, {"_FillValue", DType::i8, {int64_t{-2}}}}, DType::i8),
            "f32 null");
  EXPECT_EQ(decoded<int8_t>(-2, {is_unsigned, {"_FillValue", DType::u8, {uint64_t{254}}}}, DType::i8),
            "f32 null");
  EXPECT_EQ(decoded<int8_t>(-2, {is_unsigned, number("scale_factor", 2)}, DType::i8), "f64 508.0");
}

TEST(Attributes, WhatChangesNothingIsNotDecoded) {
  EXPECT_EQ(decoded<float>(1, {number("_FillValue", std::nan(""))}, DType::f32), "as stored");
  EXPECT_EQ(decoded<int16_t>(1, {number("_FillValue", 0.5)}, DType::i16), "as stored");
  EXPECT_EQ(decoded<int16_t>(1, {number("units", 5)}, DType::i16), "as stored");
  EXPECT_EQ(decoded<int16_t>(1, {{"scale_factor", DType::f64, {1.0, 2.0}}}, DType::i16), "as stored");
  EXPECT_FALSE(decoding_of(DType::str, {{number("scale_factor", 2)}}));
}

TEST(Attributes, UnitsAndPackingAreTexts) {
  const std::vector<Attribute> all{{"units", DType::str, {}, {"days since 1900-01-01"}},
                                   {"calendar", DType::str, {}, {"noleap"}},
                                   number("scale_factor", 0.5)};
  EXPECT_EQ(unit_text(all), "days since 1900-01-01, calendar noleap");
  EXPECT_EQ(packing_text(all), "packed with scale_factor 0.5");
  EXPECT_EQ(packing_text({all.data(), 2}), "");
  EXPECT_EQ(value_of({"x", DType::i64, {int64_t{1}}, {}, false}).dump(), "[1]");
}

}  // namespace
}  // namespace headrace
