#include "headrace/graph/passes/planar.h"

#include <gtest/gtest.h>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/graph/node.h"

namespace headrace {
namespace {

const Schema kFiles = Schema::of({"image"}, {{DType::bytes, {kAny}}});

// Builds a program of operators applied to values, in order.
class Writer {
 public:
  Writer() : builder_(kFiles, "") { file = *builder_.field("image"); }
  std::vector<int> add(const char* op, Value::Object params, std::vector<int> inputs) {
    const auto made = builder_.add(op, Value(std::move(params)), inputs);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return *made;
  }
  int decode(const char* match = "fast") { return add("decode_image", {{"match", match}}, {file})[0]; }
  std::vector<int> crop(std::vector<int> images) {
    return add("random_resized_crop", {{"size", 8}}, std::move(images));
  }
  std::vector<int> flip(std::vector<int> images) { return add("random_flip", {}, std::move(images)); }
  int crop(int image) { return crop(std::vector{image})[0]; }
  int flip(int image) { return flip(std::vector{image})[0]; }
  int normalize(int image) { return add("normalize", {}, {image})[0]; }
  Program finish(std::vector<int> outputs) {
    std::vector<std::string> names;
    for (size_t i = 0; i < outputs.size(); ++i) names.push_back("x" + std::to_string(i));
    Program out = *builder_.finish(names, std::move(outputs));
    for (size_t s = 0; s < out.steps.size(); ++s) out.steps[s].ordinal = static_cast<uint32_t>(s);
    return out;
  }
  int file = 0;

 private:
  ProgramBuilder builder_;
};

struct Planar {
  explicit Planar(const Program& before) : program(with_planar_chains(before, followed, notes)) {
    EXPECT_EQ(program.schema.text(), before.schema.text());
  }
  // "decode_image.0 random_resized_crop.1 decode_resampled.0": each step and its ordinal.
  std::string steps() const {
    std::string out;
    for (const Call& call : program.steps)
      out += (out.empty() ? "" : " ") + std::string(call.op->name()) + "." + std::to_string(call.ordinal);
    return out;
  }
  std::set<uint32_t> followed;
  std::set<std::string> notes;
  Program program;
};

TEST(Planar, AChainBecomesItsGeometryAndOneDecode) {
  Writer w;
  const Planar planar(w.finish({w.normalize(w.flip(w.crop(w.decode())))}));
  EXPECT_EQ(planar.steps(),
            "decode_image.0 random_resized_crop.1 random_flip.2 decode_resampled.0 normalize.3");
  EXPECT_EQ(planar.followed, (std::set<uint32_t>{0, 1, 2}));
  EXPECT_EQ(
      *planar.notes.begin(),
      "decode_image + random_resized_crop + random_flip: one step: a plain JPEG is decoded only where needed "
      "and resampled plane by plane, any other file as with match=\"exact\"");
}

TEST(Planar, SeveralPicturesOfAnImageAreDecodedOnce) {
  Writer w;
  const int image = w.decode(), large = w.crop(image), small = w.crop(image);
  const Planar planar(w.finish({w.normalize(large), w.flip(small), small}));
  EXPECT_EQ(planar.steps(),
            "decode_image.0 random_resized_crop.1 random_resized_crop.2 random_flip.4 decode_resampled.0 "
            "normalize.3");
  EXPECT_EQ(planar.program.steps[4].outputs, 3);
}

TEST(Planar, APictureOnWhichThePlaceOfAnotherDependsIsDecodedFirst) {
  Writer w;
  const int image = w.decode(), first = w.crop(image);
  Program program = w.finish({first, w.flip(w.crop(image))});
  Call& flip = program.steps.back();
  const std::string bound[] = {"p"};
  flip.op = *make_op("random_flip", {}, bound);
  flip.inputs.push_back(first);  // not a scalar, but the pass does not check that
  const Planar planar(program);
  EXPECT_EQ(planar.steps(),
            "decode_image.0 random_resized_crop.1 random_resized_crop.2 decode_resampled.0 random_flip.3 "
            "decode_resampled.0");
}

TEST(Planar, AnImageThatIsShownItselfIsDecodedForItselfToo) {
  Writer w;
  const int image = w.decode();
  const Planar planar(w.finish({w.crop(image), image}));
  EXPECT_EQ(planar.steps(), "decode_image.0 decode_image.0 random_resized_crop.1 decode_resampled.0");
}

TEST(Planar, MasksAreCutWhereTheirImageIs) {
  Writer w;
  const auto crop = w.crop(std::vector{w.decode(), w.decode("exact"), w.decode("exact")});
  const auto flip = w.flip(crop);
  const Planar planar(w.finish({w.normalize(flip[0]), flip[1], flip[2]}));
  EXPECT_EQ(planar.steps(),
            "decode_image.0 decode_image.1 decode_image.2 random_resized_crop.3 random_resized_crop.3 "
            "random_flip.4 random_flip.4 decode_resampled.0 normalize.5");
  EXPECT_TRUE(planar.program.steps[3].op->counted() != planar.program.steps[4].op->counted());
  EXPECT_EQ(planar.followed, (std::set<uint32_t>{0, 3, 4}));
}

TEST(Planar, AMaskThatIsWantedAloneNeedsNoPixelOfItsImage) {
  Writer w;
  const auto flip = w.flip(std::vector{w.decode(), w.decode("exact")});
  const auto crop = w.crop(flip);
  const Planar planar(w.finish({crop[1]}));
  EXPECT_EQ(planar.steps(),
            "decode_image.0 decode_image.1 random_flip.2 random_flip.2 random_resized_crop.3");
  EXPECT_TRUE(planar.program.steps.back().op->counted());
}

TEST(Planar, AMaskThatNobodyWantsIsNotMade) {
  Writer w;
  const auto crop = w.crop(std::vector{w.decode(), w.decode("exact")});
  const Planar planar(w.finish({crop[0]}));
  EXPECT_EQ(planar.steps(), "decode_image.0 random_resized_crop.2 decode_resampled.0");
}

TEST(Planar, AMaskGoesWithPixelsWhereNothingResamples) {
  Writer w;
  const auto flip = w.flip(std::vector{w.decode(), w.decode("exact")});
  const Program program = w.finish(flip);
  EXPECT_EQ(Planar(program).program.steps, program.steps);
}

TEST(Planar, NothingHappensWithoutAResamplingOrWithExact) {
  Writer flipped, exact, nearest;
  for (const Program& program :
       {flipped.finish({flipped.flip(flipped.decode())}), exact.finish({exact.crop(exact.decode("exact"))}),
        nearest.finish(
            {nearest.add("resize", {{"size", 8}, {"interpolation", "nearest"}}, {nearest.decode()})[0]})}) {
    const Planar planar(program);
    EXPECT_EQ(planar.program.steps, program.steps);
    EXPECT_TRUE(planar.notes.empty() && planar.followed.empty());
  }
}

TEST(Planar, TheSecondResamplingIsOutside) {
  Writer w;
  const Planar planar(w.finish({w.crop(w.crop(w.decode()))}));
  EXPECT_EQ(planar.steps(), "decode_image.0 random_resized_crop.1 decode_resampled.0 random_resized_crop.2");
}

// A program between maps that produces other fields: the maps below it are unrelated to those above.
TEST(Planar, AScanBetweenMapsEndsTheRun) {
  const auto map_of = [](const NodePtr& input, const std::vector<std::string>& names) {
    ProgramBuilder builder(input->schema, "");
    std::vector<int> outputs;
    for (const std::string& name : names) outputs.push_back(*builder.field(name));
    return *make_node(Map{*builder.finish(names, outputs)}, {input});
  };
  const NodePtr numbers = *make_node(Read{*range_source(0, 4)}, {});
  const NodePtr below = map_of(numbers, numbers->schema.names);
  const Tensor state = scalar(int64_t{0});
  ProgramBuilder builder(scan_schema({&state, 1}, below->schema), "");
  const int carried = *builder.field("state/0"), number = *builder.field(numbers->schema.names[0]);
  const Program scan = *builder.finish({"state/0", "a", "b", "c"}, {carried, number, number, number});
  const NodePtr scanned = *make_node(Scan{scan, {state}}, {below});
  std::set<std::string> notes;
  EXPECT_EQ(with_planar_chains(map_of(scanned, {"c"}), notes)->schema.names, std::vector<std::string>{"c"});
  EXPECT_TRUE(notes.empty());
}

}  // namespace
}  // namespace headrace
