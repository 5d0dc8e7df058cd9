#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/ops/named_outputs.h"
#include "headrace/ops/testing.h"

namespace headrace {
namespace {

using testing::entry, testing::example, testing::field, testing::floats, testing::ints;
using ::testing::HasSubstr;

const std::string kNames = entry("names", 1, field(1, "ab") + field(1, "") + field(1, "cde"));
const std::string kParsedExample =
    example(entry("image", 1, field(1, "pixels")) + entry("label", 3, field(1, ints({7}))) +
            entry("box", 2, field(1, floats({1.5f, -2, 3, 4}))) + kNames + entry("none", 3, "") +
            field(1, field(1, "nothing") + field(2, "")));

std::string parse(const std::string& features, const std::string& bytes = kParsedExample) {
  return testing::call_on_bytes("parse_example", ("{\"features\": " + features + "}").c_str(), bytes);
}

struct Case {
  const char *features, *outputs;
};

TEST(ParseExample, GivesOutputsInTheOrderOfItsFeatures) {
  for (const auto& [features, outputs] :
       {Case{R"({"label": {"dtype": "i64"}, "image": {}})", "7 (); 'pixels'"},
        {R"({"box": {"dtype": "f32", "shape": [2, 2]}})", "1.5 -2.0 3.0 4.0 (2, 2)"},
        {R"({"box": {"kind": "var_len", "dtype": "f32"}})", "1.5 -2.0 3.0 4.0 (4)"},
        {R"({"box": {"kind": "fixed_len_sequence", "dtype": "f32", "shape": 2}})", "1.5 -2.0 3.0 4.0 (2, 2)"},
        {R"({"names": {"kind": "var_len", "dtype": "bytes"}})", "'abcde'; 2 0 3 (3)"},
        {R"({"names": {"dtype": "bytes", "shape": [3, 1]}})", "'abcde'; 2 0 3 (3, 1)"},
        {R"({"names": {"kind": "fixed_len_sequence", "dtype": "bytes"}, "label": {"dtype": "i64"}})",
         "'abcde'; 2 0 3 (3); 7 ()"},
        {R"({"none": {"kind": "var_len", "dtype": "i64"}})", "(0)"},
        {R"({"none": {"dtype": "i64", "shape": [0]}})", "(0)"}})
    EXPECT_EQ(parse(features), outputs) << features;
}

TEST(ParseExample, WhatIsMissingHasItsDefaultOrIsAnError) {
  for (const auto& [features, outputs] :
       {Case{R"({"no": {"dtype": "i64", "default_value": 9007199254740993}})", "9007199254740993 ()"},
        {R"({"no": {"dtype": "i64", "shape": [2], "default_value": [1, -1]}})", "1 -1 (2)"},
        {R"({"no": {"dtype": "f32", "shape": [2, 1], "default_value": [[1], [2.5]]}})", "1.0 2.5 (2, 1)"},
        {R"({"no": {"dtype": "f32", "shape": [2], "default_value": "inf"}})", "null null (2)"},
        {R"({"no": {"dtype": "bytes", "default_value": "none"}})", "'none'"},
        {R"({"no": {"dtype": "bytes", "shape": [2], "default_value": "ab"}})", "'abab'; 2 2 (2)"},
        {R"({"no": {"kind": "var_len", "dtype": "f32"}})", "(0)"},
        {R"({"no": {"kind": "var_len", "dtype": "bytes"}})", "''; (0)"},
        {R"({"no": {"kind": "fixed_len_sequence", "dtype": "f32", "shape": 3, "allow_missing": true}})",
         "(0, 3)"},
        {R"({"nothing": {"dtype": "i64", "default_value": 3}})", "3 ()"}})
    EXPECT_EQ(parse(features), outputs) << features;
  EXPECT_THAT(parse(R"({"no": {}})"), HasSubstr("the example has no feature 'no'"));
  EXPECT_THAT(parse(R"({"no": {"dtype": "i64"}})"), HasSubstr("the example has no feature 'no'"));
  EXPECT_THAT(parse(R"({"no": {"kind": "fixed_len_sequence", "dtype": "i64"}})"),
              HasSubstr("the example has no feature 'no'"));
}

TEST(ParseExample, MessagesInPiecesAreMergedAsProtocolBuffersAre) {
  const std::string first = field(1, ints({1})), second = field(1, ints({2, 3}));
  const std::string spec = R"({"x": {"kind": "var_len", "dtype": "i64"}})";
  // Two lists in one Feature, two Features in one entry: joined. Two entries, in one map or two: the last one
  // counts.
  EXPECT_EQ(parse(spec, example(field(1, field(1, "x") + field(2, field(3, first) + field(3, second))))),
            "1 2 3 (3)");
  EXPECT_EQ(
      parse(spec, example(field(1, field(1, "x") + field(2, field(3, first)) + field(2, field(3, second))))),
      "1 2 3 (3)");
  EXPECT_EQ(parse(spec, example(entry("x", 3, first) + entry("x", 3, second))), "2 3 (2)");
  EXPECT_EQ(parse(spec, example(entry("x", 3, first)) + example(entry("x", 3, second))), "2 3 (2)");
  EXPECT_EQ(parse(R"({"x": {"dtype": "i64"}, "y": {"dtype": "i64"}})",
                  example(entry("x", 3, first)) + example(entry("y", 3, first))),
            "1 (); 1 ()");
  // A list of another kind in between discards what came before it.
  const std::string three = field(3, first) + field(2, field(1, floats({1}))) + field(3, second);
  EXPECT_EQ(parse(spec, example(field(1, field(1, "x") + field(2, three)))), "2 3 (2)");
}

TEST(ParseExample, SaysWhatDoesNotFit) {
  for (const auto& [features, said] :
       {Case{R"({"label": {"dtype": "f32"}})", "expected 'label' of float32, got int64"},
        {R"({"box": {"dtype": "f32", "shape": 3}})", "expected 3 values of 'box' for shape (3), got 4"},
        {R"({"box": {"kind": "fixed_len_sequence", "dtype": "f32", "shape": 3}})",
         "a multiple of 3 values of 'box'"},
        {R"({"names": {}})", "expected 1 values of 'names' for shape (), got 3"},
        {R"({"none": {"dtype": "i64"}})", "got 0"},
        {R"({})", "features must not be empty"},
        {R"([1])", "features must be an object of features by name"},
        {R"({"a": 3})", "features: 'a': expected an object, got 3"},
        {R"({"a": {"dtype": "f64"}})", "dtype must be bytes, int64 or float32"},
        {R"({"a": {"shap": 3}})", "unknown key 'shap'"},
        {R"({"a": {"shape": -1}})", "no negative dimension"},
        {R"({"a": {"kind": "ragged"}})", "kind must be \"fixed_len\", \"var_len\" or \"fixed_len_sequence\""},
        {R"({"a": {"dtype": "i64", "default_value": 0.5}})",
         "default_value must hold values of dtype int64, got 0.5"},
        {R"({"a": {"dtype": "i64", "shape": 3, "default_value": [1, 2]}})",
         "one value, or 3 for shape (3), got 2"},
        {R"({"a": {"kind": "var_len", "dtype": "i64", "default_value": 1}})",
         "default_value needs fixed_len"},
        {R"({"a": {"kind": "fixed_len_sequence", "dtype": "i64", "shape": 0}})",
         "at most 7 dimensions, all above 0"}})
    EXPECT_THAT(parse(features), HasSubstr(said)) << features;
}

TEST(ParseExample, NamesItsOutputsAndWritesItsParameters) {
  const Value params = *Value::parse(
      R"({"features": {"a/b": {}, "names": {"kind": "var_len", "dtype": "bytes"},
          "x": {"dtype": "float32", "shape": 2, "default_value": "nan"}}})");
  EXPECT_EQ(*named_outputs().at("parse_example")(params),
            R"({"a/b":0,"names":{"values":1,"lengths":2},"x":3})");
  const Value written = (*make_op("parse_example", params))->params();
  EXPECT_EQ((*make_op("parse_example", *Value::parse(written.dump())))->params(), written);
  EXPECT_EQ(written.find("features")->find("x")->dump(),
            R"({"kind":"fixed_len","dtype":"f32","shape":[2],"default_value":"nan"})");
}

TEST(ParseExample, ManyFeaturesAreFoundByName) {
  std::string entries, features, wanted;
  for (int i = 0; i < 60; ++i) {
    const std::string name = std::string(static_cast<size_t>(i % 7), 'n') + std::to_string(i);
    entries += entry(name, 3, field(1, ints({i})));
    features = "\"" + name + "\": {\"dtype\": \"i64\"}" + (i ? ", " : "") + features;
    wanted = std::to_string(i) + " ()" + (i ? "; " : "") + wanted;
  }
  EXPECT_EQ(parse("{" + features + "}", example(entries)), wanted);
}

TEST(ParseExample, AnyBytesAreReadOrRefused) {
  const char* features = R"({"image": {"default_value": ""}, "label": {"dtype": "i64", "default_value": 0},
      "box": {"kind": "var_len", "dtype": "f32"}, "names": {"kind": "var_len", "dtype": "bytes"}})";
  for (size_t length = 0; length < kParsedExample.size(); ++length)
    (void)parse(features, kParsedExample.substr(0, length));
  for (size_t i = 0; i < kParsedExample.size(); ++i)
    for (const int flip : {1, 2, 8, 0x80, 0xff}) {
      std::string bytes = kParsedExample;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      (void)parse(features, bytes);
    }
}

// A FeatureList of these steps, each a serialised list of a kind; kind 0 is a Feature without a list.
std::string list(const std::string& key, int kind, const std::vector<std::string>& steps) {
  std::string features;
  for (const std::string& step : steps) features += field(1, kind ? field(kind, step) : "");
  return field(1, field(1, key) + field(2, features));
}

const std::string kSequence =
    field(1, entry("id", 3, field(1, ints({5})))) +
    field(2, list("frames", 1, {field(1, "one"), field(1, "three")}) +
                 list("boxes", 2,
                      {field(1, floats({1, 2})), field(1, floats({3, 4})), field(1, floats({5, 6}))}) +
                 list("words", 3, {field(1, ints({1, 2})), "", field(1, ints({3}))}));

std::string sequence(const std::string& params, const std::string& bytes = kSequence) {
  return testing::call_on_bytes("parse_sequence_example", params.c_str(), bytes);
}

TEST(ParseSequenceExample, GivesContextThenSteps) {
  for (const auto& [params, outputs] :
       {Case{R"({"context_features": {"id": {"dtype": "i64"}}})", "5 ()"},
        {R"({"sequence_features": {"boxes": {"kind": "fixed_len_sequence", "dtype": "f32", "shape": 2}},
                "context_features": {"id": {"dtype": "i64"}}})",
         "5 (); 1.0 2.0 3.0 4.0 5.0 6.0 (3, 2)"},
        {R"({"sequence_features": {"frames": {"kind": "fixed_len_sequence", "dtype": "bytes"}}})",
         "'onethree'; 3 5 (2)"},
        {R"({"sequence_features": {"words": {"kind": "var_len", "dtype": "i64"}}})", "1 2 3 (3); 2 0 1 (3)"},
        {R"({"sequence_features": {"no": {"kind": "var_len", "dtype": "i64"}}})", "(0); (0)"},
        {R"({"sequence_features": {"no": {"kind": "fixed_len_sequence", "dtype": "f32", "shape": 4,
                "allow_missing": true}}})",
         "(0, 4)"}})
    EXPECT_EQ(sequence(params), outputs) << params;
}

TEST(ParseSequenceExample, SaysWhatDoesNotFit) {
  for (const auto& [params, said] :
       {Case{R"({})", "expected at least one feature in context_features or sequence_features"},
        {R"({"context_features": {"no": {}}})", "the example has no feature 'no'"},
        {R"({"sequence_features": {"no": {"kind": "fixed_len_sequence", "dtype": "f32"}}})",
         "the example has no feature 'no'"},
        {R"({"sequence_features": {"words": {"dtype": "i64"}}})",
         "must be var_len or fixed_len_sequence, got fixed_len"},
        {R"({"sequence_features": {"frames": {"kind": "var_len", "dtype": "bytes"}}})",
         "must have one value per step"},
        {R"({"sequence_features": {"words": {"kind": "fixed_len_sequence", "dtype": "i64", "shape": 2}}})",
         "expected 2 values of 'words' in each step for shape (2), got 0 in step 1"},
        {R"({"sequence_features": {"boxes": {"kind": "fixed_len_sequence", "dtype": "f32"}}})",
         "expected 1 values of 'boxes' in each step for shape (), got 2 in step 0"},
        {R"({"sequence_features": {"boxes": {"kind": "var_len", "dtype": "i64"}}})",
         "expected 'boxes' of int64, got float32"}})
    EXPECT_THAT(sequence(params), HasSubstr(said)) << params;
}

TEST(ParseSequenceExample, AnyBytesAreReadOrRefused) {
  const char* params = R"({"sequence_features": {"words": {"kind": "var_len", "dtype": "i64"},
      "frames": {"kind": "fixed_len_sequence", "dtype": "bytes", "allow_missing": true},
      "boxes": {"kind": "fixed_len_sequence", "dtype": "f32", "shape": 2, "allow_missing": true}}})";
  for (size_t length = 0; length < kSequence.size(); ++length)
    (void)sequence(params, kSequence.substr(0, length));
  for (size_t i = 0; i < kSequence.size(); ++i)
    for (const int flip : {1, 2, 8, 0x80, 0xff}) {
      std::string bytes = kSequence;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      (void)sequence(params, bytes);
    }
}

}  // namespace
}  // namespace headrace
