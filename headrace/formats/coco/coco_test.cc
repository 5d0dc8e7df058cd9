#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/coco/annotation_reader.h"
#include "headrace/formats/coco/masks.h"
#include "headrace/formats/coco/outline.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T> std::string failure(const Result<T>& result) {
  return result.ok() ? "no error" : std::string(result.status().text());
}

std::string drawn(const std::vector<MaskRun>& runs, const MaskSize& size) {
  std::string out((size.width + 1) * size.height, '.');
  paint_runs<char>(runs, size, out.data(), size.width + 1, '#');
  for (size_t y = 0; y < size.height; ++y) out[y * (size.width + 1) + size.width] = '\n';
  return out;
}

std::string outline_of(const std::string& json, const MaskSize& size = {6, 10}) {
  uint64_t outline = kMostOutline;
  const auto runs = read_outline(json, size, outline);
  return runs.ok() ? "\n" + drawn(*runs, size) : failure(runs);
}

// Drawn by pycocotools 2.0.11.
TEST(CocoMasks, PolygonsAreThoseOfPycocotools) {
  EXPECT_EQ(outline_of("[[1, 1, 8, 1, 8, 5.5]]"), R"(
..........
..######..
...#####..
.....###..
......##..
..........
)");
  EXPECT_EQ(outline_of("[[-3.0, 2.0, 4.0, -2.0, 12.0, 3.0, 5.0, 7.0]]"), R"(
########..
##########
##########
##########
.########.
...#####..
)");
  EXPECT_EQ(outline_of("[[2.5, 1.5, 2.5, 1.5, 6.0, 1.5, 6.0, 4.0]]"), R"(
..........
..........
....##....
.....#....
..........
..........
)");
}

TEST(CocoMasks, SeveralPolygonsAreOneObject) {
  EXPECT_EQ(outline_of("[[0, 0, 4, 0, 4, 3, 0, 3], [2, 2, 8, 2, 8, 5, 2, 5]]"), R"(
####......
####......
########..
..######..
..######..
..........
)");
}

TEST(CocoMasks, RunsAreCountsOrText) {
  const std::string wanted = "\n.##\n.##\n..#\n";
  EXPECT_EQ(outline_of(R"({"size": [3, 3], "counts": [3, 2, 1, 3]})", {3, 3}), wanted);
  EXPECT_EQ(outline_of(R"({"counts": "3211", "size": [3, 3]})", {3, 3}), wanted);
  EXPECT_EQ(outline_of(R"({"size": [3, 3], "counts": [0, 9, 0]})", {3, 3}), "\n###\n###\n###\n");
}

TEST(CocoMasks, WhatIsNoOutlineIsRefused) {
  const struct {
    std::string json, wanted;
  } cases[] = {
      {R"({"size": [3, 3], "counts": [3, 2]})", "expected runs of 9 pixels, 3 x 3, got 5"},
      {R"({"size": [3, 3], "counts": [3, 18446744073709551615, 9]})", "got more"},
      {R"({"size": [3, 3], "counts": [-1, 10]})", "expected counts that are integers of at least 0, got -1"},
      {R"({"size": [3, 3], "counts": "32~"})",
       "expected compressed counts, got something else at character 2"},
      {R"({"size": [3, 3], "counts": "oooooooooooooooo"})", "something else at character 0"},
      {R"({"size": [3, 3], "counts": "3O"})", "expected counts of at least 0, got less at character 1"},
      {R"({"size": [9, 3], "counts": [27]})", "expected runs of the image's size, 3 x 3, got 9 x 3"},
      {R"({"counts": [9]})", "got no size"},
      {R"({"size": [3, 3]})", "expected 'counts'"},
      {"[[1, 2]]", "expected polygons of at least four numbers, got 2"},
      {"[[]]", "expected polygons of at least four numbers, got 0"},
      {"[[1, 2, NaN, 3, 4, 5]]", "expected polygons within 1e7 pixels, got (nan"},
      {"[[1, 2, 3, 1e300, 4, 5]]", "expected polygons within 1e7 pixels"},
      {"[[1, 2, \"3\", 4, 5, 6]]", "expected polygons of numbers"},
      {"[1, 2, 3]", "segmentation: expected a list"},
      {"[[0, 0, 5e6, 0, 0, 5e6, 5e6, 5e6]]", "expected outlines of at most 13 million pixels"},
      {"[[0, 0, 1, 1, 2, 0]", "segmentation: expected ',' or ']'"},
  };
  for (const auto& c : cases) EXPECT_THAT(outline_of(c.json, {3, 3}), HasSubstr(c.wanted)) << c.json;
}

constexpr char kInstances[] = R"({"info": {"year": 2017}, "images": [
  {"id": 7, "file_name": "a.jpg", "height": 3, "width": 4},
  {"id": 5, "width": 2, "height": 2, "file_name": "b \u00e9.jpg"}, {"id": 9, "file_name": "c.jpg"}],
 "annotations": [
  {"id": 1, "image_id": 5, "category_id": 3, "bbox": [0, 1, 2, 1], "area": 2, "iscrowd": 0,
   "segmentation": [[0, 1, 2, 1, 2, 2, 0, 2]]},
  {"id": 2, "image_id": 7, "category_id": 90, "bbox": [1.5, 0, 2, 3], "area": 5.5, "iscrowd": 1,
   "segmentation": {"size": [3, 4], "counts": [3, 6, 3]}},
  {"id": 3, "image_id": 5, "category_id": 90, "bbox": [0, 0, 1, 1], "area": 1},
  {"id": 4, "image_id": 6, "category_id": 3, "bbox": [0, 0, 1, 1]}],
 "categories": [{"id": 90, "name": "dog", "supercategory": "animal"}, {"id": 3, "name": "cat"}]})";

MemoryStore store_of(const std::string& json,
                     const std::string& path = "coco/annotations/instances_val.json") {
  MemoryStore store;
  store.add(path, json);
  store.add("coco/val/a.jpg", "A"), store.add("coco/val/b é.jpg", "BB"), store.add("coco/val/c.jpg", "CCC");
  return store;
}

TEST(Coco, GivesImagesAndTheirObjects) {
  MemoryStore store = store_of(kInstances);
  const auto source = open_source(store, "coco/annotations/instances_val.json");
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_EQ((*source)->schema().text(),
            "image: bytes, image_id: int64 (), boxes: float32 (?, 4), labels: int64 (?), area: float32 (?), "
            "iscrowd: bool (?)");
  EXPECT_EQ((*source)->metadata().dump(),
            R"({"classes":["cat","dog"],"category_ids":[3,90],"images":"coco/val","annotations":4,)"
            R"("annotations_without_image":1,)"
            R"("notes":["annotations whose image_id is not that of an image in the file are left out: 1"]})");
  ASSERT_EQ((*source)->size(), 3u);
  EXPECT_EQ((*source)->where(1).text(), "coco/val/b é.jpg, image 5 of coco/annotations/instances_val.json");
  const auto sample = *read_sample(**source, 1, store);
  EXPECT_EQ(sample[0].shape, (Shape{2}));
  EXPECT_EQ(*sample[1].view().as<int64_t>(), 5);
  ASSERT_EQ(sample[2].shape, (Shape{2, 4}));
  const float* boxes = sample[2].view().as<float>();
  EXPECT_THAT(std::vector<float>(boxes, boxes + 8), ElementsAre(0, 1, 2, 2, 0, 0, 1, 1));
  EXPECT_EQ(sample[3].view().as<int64_t>()[0], 0);
  EXPECT_EQ(sample[3].view().as<int64_t>()[1], 1);
  EXPECT_TRUE((*read_sample(**source, 0, store))[5].view().as<bool>()[0]);
  const auto empty = *read_sample(**source, 2, store);
  EXPECT_EQ(empty[2].shape, (Shape{0, 4}));
  EXPECT_EQ((*open_described(store, (*source)->describe()))->fingerprint(), (*source)->fingerprint());
}

TEST(Coco, ClassesOfTheUserNumberTheLabels) {
  MemoryStore store = store_of(kInstances);
  const auto open = [&](const char* options) {
    return open_source(store, "coco/annotations/instances_val.json", "coco", *Value::parse(options));
  };
  const auto source = open(R"({"classes": ["dog", "ant", "cat"]})");
  ASSERT_TRUE(source.ok()) << failure(source);
  const Value metadata = (*source)->metadata();
  EXPECT_EQ(metadata.find("classes")->dump(), R"(["dog","ant","cat"])");
  EXPECT_EQ(metadata.find("category_ids"), nullptr);
  const auto sample = *read_sample(**source, 1, store);
  const auto* labels = sample[3].view().as<int64_t>();
  EXPECT_THAT(std::vector<int64_t>(labels, labels + 2), ElementsAre(2, 0));
  EXPECT_NE((*source)->fingerprint(), (*open("{}"))->fingerprint());
  EXPECT_EQ((*open_described(store, (*source)->describe()))->fingerprint(), (*source)->fingerprint());
  EXPECT_THAT(failure(open(R"({"classes": ["dog"]})")),
              HasSubstr("expected all categories that annotations have, got a list without 'cat'"));
  EXPECT_THAT(failure(open(R"({"classes": ["cat", "dog"], "labels": "category_id"})")),
              HasSubstr("got both"));
}

// The annotations of both splits, with the categories of each: only those of one have a dog.
TEST(Coco, SplitsWhoseCategoriesDifferAreNumberedAlike) {
  const auto json = [](const char* image, const char* categories, int category) {
    return R"({"images": [{"id": 1, "file_name": ")" + std::string(image) +
           R"(", "height": 1, "width": 1}], "annotations": [{"image_id": 1, "bbox": [0, 0, 1, 1], )"
           R"("category_id": )" +
           std::to_string(category) + R"(}], "categories": [)" + categories + "]}";
  };
  MemoryStore store;
  store.add("coco/annotations/instances_train.json",
            json("a.jpg", R"({"id": 2, "name": "dog"}, {"id": 7, "name": "cat"})", 7));
  store.add("coco/annotations/instances_val.json", json("b.jpg", R"({"id": 7, "name": "cat"})", 7));
  store.add("coco/train/a.jpg", "A"), store.add("coco/val/b.jpg", "B");
  for (const char* split : {R"("train")", R"("val")", R"("all")", R"(["val", "train"])"}) {
    const auto source =
        open_source(store, "coco", "", *Value::parse(R"({"split": )" + std::string(split) + "}"));
    ASSERT_TRUE(source.ok()) << failure(source);
    EXPECT_EQ((*source)->metadata().find("classes")->dump(), R"(["dog","cat"])") << split;
    for (uint64_t i = 0; i < (*source)->size(); ++i)
      EXPECT_EQ(*(*read_sample(**source, i, store))[3].view().as<int64_t>(), 1) << split;
    const auto again = open_described(store, (*source)->describe());
    EXPECT_EQ(again.ok() ? (*again)->fingerprint() : failure(again), (*source)->fingerprint()) << split;
  }
}

TEST(Coco, MasksArePlanesOrAMap) {
  MemoryStore store = store_of(kInstances);
  const auto read = [&](const char* options, uint64_t index) {
    const auto source =
        open_source(store, "coco/annotations/instances_val.json", "coco", *Value::parse(options));
    EXPECT_TRUE(source.ok()) << failure(source);
    return read_sample(**source, index, store);
  };
  const Tensor planes = (*read(R"({"masks": true})", 1)).back();
  EXPECT_EQ(planes.shape, (Shape{2, 2, 2}));
  const auto* bytes = planes.view().as<uint8_t>();
  EXPECT_THAT(std::vector<int>(bytes, bytes + 8), ElementsAre(0, 0, 1, 1, 0, 0, 0, 0));
  const Tensor map = (*read(R"({"masks": "map"})", 0)).back();
  EXPECT_EQ(map.shape, (Shape{3, 4}));
  const auto* places = map.view().as<int32_t>();
  EXPECT_THAT(std::vector<int>(places, places + 12), ElementsAre(0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0));
  EXPECT_THAT(failure(read(R"({"masks": true})", 2)),
              HasSubstr("image 9: masks: expected height and width of at most"));
  EXPECT_EQ(read(R"({"boxes": "xywh", "labels": "category_id"})", 1)->at(3).view().as<int64_t>()[0], 3);
  EXPECT_EQ(read(R"({"empty": "drop"})", 1)->size(), 6u);
}

TEST(Coco, AFewBytesMakeNoLargeMasks) {
  MemoryStore store =
      store_of(R"({"images": [{"id": 1, "file_name": "a.jpg", "height": 12000, "width": 12000}],
    "annotations": [{"image_id": 1, "bbox": [0, 0, 1, 1], "segmentation": [[0, 0, 1, 1, 2, 0]]},
                    {"image_id": 1, "bbox": [0, 0, 1, 1]}]})");
  const auto source =
      open_source(store, "coco/annotations/instances_val.json", "coco", *Value::parse(R"({"masks": true})"));
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_THAT(failure(read_sample(**source, 0, store)),
              HasSubstr("image 1: expected masks of at most 268435456 bytes, got (2, 12000, 12000)"));
}

TEST(Coco, TheFileMayComeInAnyPieces) {
  MemoryStore store = store_of(kInstances);
  const SourceFile file{"coco/annotations/instances_val.json", sizeof kInstances - 1};
  const auto walked = [&](size_t window) {
    const auto opening = walk_coco(file, window);
    const auto index = drive(*opening, [&](uint64_t) { return file.path; }, store);
    return index.ok() ? index->extra : failure(index);
  };
  const std::string whole = walked(1 << 20);
  EXPECT_TRUE(CocoTable::unpack(whole).has_value());
  for (const size_t window : {1, 2, 3, 7, 30, 100}) EXPECT_EQ(walked(window), whole) << window;
}

TEST(Coco, CaptionsAreAListOrASampleEach) {
  MemoryStore store =
      store_of(R"({"images": [{"id": 7, "file_name": "a.jpg"}, {"id": 5, "file_name": "c.jpg"}],
    "annotations": [{"id": 1, "image_id": 5, "caption": "one \u00e9"}, {"id": 2, "image_id": 7, "caption": "two"},
                    {"id": 3, "image_id": 5, "caption": ""}, {"id": 4, "image_id": 5, "caption": "four\n"}]})",
               "coco/annotations/captions_val.json");
  const auto source = open_source(store, "coco/annotations/captions_val.json");
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_EQ((*source)->schema().structure, R"({"image":0,"image_id":1,"captions":{"values":2,"lengths":3}})");
  const auto sample = *read_sample(**source, 1, store);
  EXPECT_EQ(sample[2].size_bytes(), 11u);
  EXPECT_THAT(std::vector<int64_t>(sample[3].view().as<int64_t>(), sample[3].view().as<int64_t>() + 3),
              ElementsAre(6, 0, 5));
  const auto each = open_source(store, "coco/annotations/captions_val.json", "coco",
                                *Value::parse(R"({"each": "caption"})"));
  ASSERT_TRUE(each.ok()) << failure(each);
  EXPECT_EQ((*each)->size(), 4u);
  const auto last = *read_sample(**each, 3, store);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(last[2].view().data), last[2].size_bytes()), "four\n");
  EXPECT_EQ((*each)->where(3).text(), "coco/val/c.jpg, image 5 of coco/annotations/captions_val.json");
}

TEST(Coco, WhatIsWrongIsNamed) {
  const auto opened = [](const std::string& json) {
    MemoryStore store = store_of(json);
    return open_source(store, "coco/annotations/instances_val.json", "coco");
  };
  const std::string deep(200, '['), image = R"({"images": [{"id": 1, "file_name": "a.jpg"}], )";
  const struct {
    std::string json, wanted;
  } files[] = {
      {"", "ends inside a value"},
      {"[]", "expected a JSON object at byte 0"},
      {"{}", "expected at least one image"},
      {R"({"images": 5})", "expected a list of images, annotations or categories at byte 11"},
      {R"({"images": [{"file_name": "x"}]})", "expected an image with an integer 'id', got none at byte 12"},
      {R"({"images": [{"id": 1}, {"id": 1}]})", "got image 1 twice"},
      {image + R"("annotations": [{"id": 1}]})", "with an integer 'image_id'"},
      {image + R"("annotations": [{"image_id": 1, "segmentation": )" + deep,
       "expected at most 128 nested lists and objects"},
      {image + R"("x": )" + deep, "expected at most 128 nested lists"},
      {image + R"("annotations": [)", "ends inside a value"},
      {image + R"("annotations": [] "x")", "expected ',' or '}' after a value at byte"},
      {image + R"("annotations": []} x)", "expected nothing after the object at byte"},
      {image + R"("categories": [{"id": 1}, {"id": 1}]})", "got category 1 twice"},
  };
  for (const auto& c : files)
    EXPECT_THAT(failure(opened(c.json)), HasSubstr(c.wanted)) << c.json.substr(0, 90);

  const auto read = [](const std::string& annotation, const std::string& name = "a.jpg") {
    MemoryStore store =
        store_of(R"({"categories": [{"id": 1, "name": "x"}], "images": [{"id": 1, "file_name": ")" + name +
                 R"("}], "annotations": [)" + annotation + "]}");
    const auto source = open_source(store, "coco/annotations/instances_val.json", "coco");
    return source.ok() ? failure(read_sample(**source, 0, store)) : failure(source);
  };
  const std::string good = R"({"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]})";
  EXPECT_EQ(read(good), "no error");
  EXPECT_EQ(read(good + R"(, {"id": 17, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1]})"),
            "'coco/annotations/instances_val.json': annotation 17 of image 1: expected a bbox of four "
            "numbers below 1e9, got something else: coco/val/a.jpg, image 1 of "
            "coco/annotations/instances_val.json");
  EXPECT_THAT(read(good + R"(, {"id": 17, "image_id": 1, "category_id": 8, "bbox": [0, 0, 1, 1]})"),
              HasSubstr("annotation 17 of image 1: expected one of the file's categories, got 8"));
  EXPECT_THAT(read(good, "../secret"), HasSubstr("image 1: expected a file_name below the images' folder"));
  EXPECT_THAT(read(good, "gone.jpg"), HasSubstr("gone.jpg, image 1 of coco/annotations/instances_val.json"));
}

TEST(Coco, AFolderIsNoFile) {
  MemoryStore store = store_of(kInstances);
  EXPECT_EQ(failure(open_source(store, "coco")),
            "coco: 'coco': expected an annotation file, got a folder; there are "
            "'coco/annotations/instances_val.json'");
}

TEST(Coco, FindsImagesWhereOthersPutThem) {
  const auto found = [](const std::string& json, const std::string& image, const std::string& name) {
    MemoryStore store;
    store.add(json, R"({"images": [{"id": 1, "file_name": ")" + name + R"("}], "annotations": []})");
    store.add(image, "I");
    const auto source = open_source(store, json);
    return source.ok() ? failure(read_sample(**source, 0, store)) : failure(source);
  };
  EXPECT_EQ(found("c/annotations/instances_val2017.json", "c/val2017/1.jpg", "1.jpg"), "no error");
  EXPECT_EQ(found("c/annotations/instances_val.json", "c/images/val/1.jpg", "1.jpg"), "no error");
  EXPECT_EQ(found("c/annotations/x.json", "c/images/1.jpg", "images/1.jpg"), "no error");
  EXPECT_EQ(found("c/annotations_val/y_val.json", "c/val/1.jpg", "val/1.jpg"), "no error");
  EXPECT_EQ(found("c/labels.json", "c/data/1.jpg", "1.jpg"), "no error");
  EXPECT_EQ(found("c/train/_annotations.coco.json", "c/train/1.jpg", "1.jpg"), "no error");
}

}  // namespace
}  // namespace headrace
