#include "headrace/formats/images/voc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"
#include "tests/real_files.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string voc_failure(const Result<SourcePtr>& result) {
  return result.ok() ? "no error" : std::string(result.status().text());
}

std::string object(const std::string& name, const std::string& box, const std::string& more = "") {
  int numbers[4];
  std::sscanf(box.c_str(), "%d %d %d %d", &numbers[0], &numbers[1], &numbers[2], &numbers[3]);
  const char* tags[] = {"xmin", "ymin", "xmax", "ymax"};
  std::string out = "<object><name>" + name + "</name><bndbox>";
  for (int i = 0; i < 4; ++i)
    out += std::string("<") + tags[i] + ">" + std::to_string(numbers[i]) + "</" + tags[i] + ">";
  return out + "</bndbox>" + more + "</object>";
}
std::string annotation(const std::string& objects) {
  return "<annotation><size/>" + objects + "</annotation>";
}

TEST(Voc, BoxesStartAtZeroAndEndBehindTheLastPixel) {
  const std::string xml =
      annotation(object("cat", "1 1 1 1") + object("dog", "71 1 192 180", "<difficult>1</difficult>"));
  const auto objects = *parse_voc(xml);
  EXPECT_THAT(objects[0].box, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(objects[1].box, ElementsAre(70, 0, 192, 180));
  EXPECT_TRUE(objects[1].difficult);
  EXPECT_THAT((*parse_voc(xml, 0))[0].box, ElementsAre(1, 1, 2, 2));
  EXPECT_THAT((*parse_voc(annotation(object("x", "0 0 9 9"))))[0].box, ElementsAre(0, 0, 9, 9));
  EXPECT_TRUE(parse_voc(annotation(""))->empty());
}

TEST(Voc, PartsOfAnObjectAreNotItsBox) {
  const auto objects =
      parse_voc(annotation(object("person", "1 2 3 4", "<part>" + object("head", "5 6 7 8") + "</part>")));
  ASSERT_TRUE(objects.ok());
  ASSERT_EQ(objects->size(), 1u);
  EXPECT_THAT((*objects)[0].box, ElementsAre(0, 1, 3, 4));
}

TEST(Voc, HostileXmlIsAnErrorAndExpandsNothing) {
  std::string laughs = "<!DOCTYPE lolz [<!ENTITY lol \"lol\">";
  for (int i = 1; i < 10; ++i) {
    laughs += "<!ENTITY lol" + std::to_string(i) + " \"";
    for (int j = 0; j < 10; ++j) laughs += "&lol" + (i == 1 ? "" : std::to_string(i - 1)) + ";";
    laughs += "\">";
  }
  laughs += "]>" + annotation(object("&lol9;", "1 1 2 2"));
  const auto laughed = parse_voc(laughs);
  if (laughed.ok()) {
    EXPECT_EQ((*laughed)[0].name, "&lol9;");
  }

  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "<a>";
  const std::string file =
      "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>" + annotation(object("&x;", "1 1 2 2"));
  const auto local = parse_voc(file);
  if (local.ok()) {
    EXPECT_EQ((*local)[0].name, "&x;");
  }

  const struct {
    std::string text, wanted;
  } cases[] = {
      {"", "not XML"},
      {deep, "not XML"},
      {"<annotation>", "not XML"},
      {"<a/>", "expected an <annotation>"},
      {std::string("\0<annotation/>", 14), "not XML"},
      {"plain text", "XML"},
      {annotation("<object/>"), "object 1: expected a <name>"},
      {annotation("<object><name>x</name></object>"), "object 1: expected a <bndbox>"},
      {annotation("<object><name>x</name><bndbox><xmin>nan</xmin></bndbox></object>"),
       "expected a number in <xmin>, got 'nan'"},
      {annotation("<object><name>x</name><bndbox><xmin>1e300</xmin></bndbox></object>"),
       "expected a number in <xmin>"},
      {annotation("<object><name>x</name><bndbox><xmin>1</xmin></bndbox></object>"),
       "expected a number in <ymin>, got ''"},
      {std::string((16 << 20) + 1, ' '), "expected at most 16 MiB"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(std::string(parse_voc(c.text).status().text()), HasSubstr(c.wanted)) << c.text.substr(0, 80);
}

TEST(Voc, PairsByNameAndFolder) {
  const struct {
    std::vector<std::string> images, xmls;
    bool two_roots;
    std::vector<std::string> pairs;
  } cases[] = {
      {{"a/x.jpg", "b/x.jpg"}, {"a/x.xml", "b/x.xml"}, false, {"a/x.jpg a/x.xml", "b/x.jpg b/x.xml"}},
      {{"JPEGImages/x.jpg"}, {"Annotations/x.xml"}, false, {"JPEGImages/x.jpg Annotations/x.xml"}},
      {{"x.jpg"}, {"annotations/x.xml"}, false, {"x.jpg annotations/x.xml"}},
      {{"Data/C/train/n1/x.JPEG"},
       {"Annotations/C/train/n1/x.xml"},
       false,
       {"Data/C/train/n1/x.JPEG Annotations/C/train/n1/x.xml"}},
      {{"train/1.jpg"}, {"val/1.xml"}, false, {}},
      {{"a/x.jpg"}, {"x.xml", "c/x.xml"}, true, {"a/x.jpg x.xml"}},
      {{"a/x.jpg"}, {"c/x.xml"}, true, {}},
      {{"x.y.jpg", "._x.jpg"}, {"x.y.xml", "._x.xml", "x.xml"}, false, {"x.y.jpg x.y.xml"}},
      {{"p/x.jpg"}, {"xml/x.xml", "labels/x.xml"}, false, {}},  // ambiguous
      {{"V/JPEGImages/x.jpg", "V/SegmentationClass/x.png", "V/SegmentationObject/x.png", "V/masks/x.png"},
       {"V/Annotations/x.xml"},
       false,
       {"V/JPEGImages/x.jpg V/Annotations/x.xml"}},
  };
  for (const auto& c : cases) {
    Names images, xmls;
    for (const auto& name : c.images) images.add(name);
    for (const auto& name : c.xmls) xmls.add(name);
    std::vector<std::string> pairs;
    for (const VocPair& pair : pair_voc(images, xmls, c.two_roots).pairs)
      pairs.push_back(std::string(images[pair.image]) + ' ' + std::string(xmls[pair.xml]));
    EXPECT_EQ(pairs, c.pairs) << c.images[0];
  }
}

TEST(VocXml, GivesImageBoxesAndLabelsFromTwoFiles) {
  MemoryStore store;
  store.add("d/JPEGImages/1.jpg", "one"), store.add("d/JPEGImages/2.jpg", "two"),
      store.add("d/JPEGImages/3.jpg", "three");
  store.add("d/Annotations/1.xml", annotation(object("dog", "1 2 3 4") + object("cat", "5 6 7 8")));
  store.add("d/Annotations/2.xml", annotation(""));
  const auto source = open_source(store, "d");
  ASSERT_TRUE(source.ok()) << voc_failure(source);
  EXPECT_EQ((*source)->schema().text(), "image: bytes, boxes: float32 (?, 4), labels: int64 (?)");
  EXPECT_THAT((*source)->metadata().dump(),
              AllOf(HasSubstr(R"({"classes":["cat","dog"],"images_without_annotation":1,)"),
                    HasSubstr("images without an XML file of the same name are left out: 1; missing=")));
  const auto first = *read_sample(**source, 0, store);
  EXPECT_EQ(first[1].shape, (Shape{2, 4}));
  EXPECT_EQ(first[1].view().as<float>()[4], 4);
  EXPECT_EQ(first[2].view().as<int64_t>()[0], 1);
  const auto second = *read_sample(**source, 1, store);
  EXPECT_EQ(second[1].shape, (Shape{0, 4}));
  EXPECT_EQ(second[2].shape, (Shape{0}));
  const auto again = open_described(store, (*source)->describe());
  EXPECT_EQ((*again)->fingerprint(), (*source)->fingerprint());
}

TEST(VocXml, ARootOfVocIsItsJpegImages) {
  MemoryStore store;
  for (const char* name : {"JPEGImages/1.jpg", "JPEGImages/2.jpg", "JPEGImages/3.jpg", "JPEGImages/4.jpg",
                           "SegmentationClass/1.png", "SegmentationClass/2.png", "SegmentationObject/1.png"})
    store.add(std::string("voc/") + name, name);
  EXPECT_THAT(
      voc_failure(open_source(store, "voc")),
      HasSubstr(
          "contains the folders of PASCAL VOC without their XML files, not classes; open 'voc/JPEGImages'"));
  store.add("voc/Annotations/1.xml", annotation(object("dog", "1 2 3 4")));
  const auto source = open_source(store, "voc");
  ASSERT_TRUE(source.ok()) << voc_failure(source);
  EXPECT_THAT((*source)->metadata().dump(),
              HasSubstr(R"({"classes":["dog"],"images_without_annotation":3,"masks_left_out":3,)"));
  EXPECT_EQ((*source)->where(0).text(), "voc/JPEGImages/1.jpg");
}

TEST(VocXml, FoldersThatDoNotMeetAreNamed) {
  MemoryStore store;
  store.add("voc/JPEGImages/1.jpg", "");
  store.add("voc/Annotations/1.xml", annotation(""));
  EXPECT_EQ(voc_failure(open_source(store, "voc", "voc_xml", *Value::parse(R"({"images":"JPEGImages"})"))),
            "voc_xml: 'voc': expected images with an XML file of the same name; 'voc/JPEGImages' contains 1 "
            "images, 'voc' contains 1 XML files; set both images= and annotations= to their folders");
  EXPECT_EQ(voc_failure(open_source(store, "voc", "voc_xml",
                                    *Value::parse(R"({"images":"Annotations","annotations":"JPEGImages"})"))),
            "voc_xml: 'voc': expected images with an XML file of the same name; 'voc/Annotations' contains 0 "
            "images, 'voc/JPEGImages' contains 0 XML files");
}

TEST(VocXml, OptionsNameFoldersAndClasses) {
  MemoryStore store;
  store.add("d/img/1.jpg", "one");
  store.add("d/boxes/1.xml", annotation(object("dog", "1 2 3 4", "<difficult>1</difficult>")));
  const auto options = [](const char* json) { return *Value::parse(json); };
  EXPECT_FALSE(open_source(store, "d", "voc_xml").ok());
  const auto source = open_source(
      store, "d", "voc_xml",
      options(R"({"images":"img","annotations":"boxes","classes":["x","dog"],"difficult":true})"));
  ASSERT_TRUE(source.ok()) << voc_failure(source);
  const auto sample = *read_sample(**source, 0, store);
  EXPECT_EQ(sample[2].view().as<int64_t>()[0], 1);
  EXPECT_TRUE(sample[3].view().as<bool>()[0]);
  const auto other = open_source(store, "d", "voc_xml",
                                 options(R"({"images":"img","annotations":"boxes","classes":["cat"]})"));
  EXPECT_EQ(read_sample(**other, 0, store).status().text(),
            "'d/boxes/1.xml': class 'dog' is not one of the known classes: d/img/1.jpg");
}

TEST(VocXml, SplitsAndMasksLieInFoldersOfTheirOwn) {
  MemoryStore store;
  for (const char* name : {"a", "b", "c"}) {
    store.add(std::string("v/JPEGImages/") + name + ".jpg", name);
    store.add(std::string("v/Annotations/") + name + ".xml",
              annotation(
                  object(std::string("of ") + name, "1 2 3 4", "<pose>Left</pose><truncated>1</truncated>")));
  }
  store.add("v/ImageSets/Main/train.txt", "a\r\nc 1\rb -1\n\ngone");
  store.add("v/ImageSets/Segmentation/train.txt", "b\n");
  store.add("v/SegmentationClass/b.png", "B"), store.add("v/SegmentationObject/b.png", "BB");
  const auto opened = [&](const char* options) {
    return open_source(store, "v", "voc_xml", *Value::parse(options));
  };
  const auto train = opened(R"({"split":"train","truncated":true,"pose":true})");
  ASSERT_TRUE(train.ok()) << voc_failure(train);
  EXPECT_EQ((*train)->size(), 2u);
  EXPECT_EQ((*train)->metadata().find("classes")->dump(), R"(["of a","of b","of c"])");
  EXPECT_EQ((*train)->metadata().find("missing_of_split")->dump(), "1");
  EXPECT_EQ((*train)->schema().structure, R"({"image":0,"boxes":1,"labels":2,"truncated":3,)"
                                          R"("pose":{"values":4,"lengths":5}})");
  const auto sample = *read_sample(**train, 1, store);
  EXPECT_EQ(sample[2].view().as<int64_t>()[0], 2);
  EXPECT_TRUE(sample[3].view().as<bool>()[0]);
  EXPECT_EQ(sample[4].size_bytes(), 4u);
  const auto masks = opened(R"({"split":"train","masks":true})");
  ASSERT_TRUE(masks.ok()) << voc_failure(masks);
  EXPECT_EQ((*masks)->size(), 1u);
  EXPECT_EQ((*read_sample(**masks, 0, store))[4].size_bytes(), 2u);
  EXPECT_NE((*masks)->fingerprint(), (*train)->fingerprint());
  EXPECT_THAT(voc_failure(opened(R"({"split":"val"})")),
              HasSubstr("has no split 'val' (no ImageSets/Main/val.txt); there are 'Main/train', "
                        "'Segmentation/train'"));
}

TEST(VocXml, ADamagedFileIsADamagedSample) {
  MemoryStore store;
  store.add("d/1.jpg", ""), store.add("d/2.jpg", "");
  store.add("d/1.xml", "<annotation>"), store.add("d/2.xml", annotation(object("dog", "1 2 3 4")));
  const auto source = open_source(store, "d");
  ASSERT_TRUE(source.ok()) << voc_failure(source);
  EXPECT_EQ(read_sample(**source, 0, store).status().code(), Code::corrupt);
  EXPECT_TRUE(read_sample(**source, 1, store).ok());
}

TEST(RealFiles, VocDatasetsAreReadWhole) {
  const std::string data = testing::data_folder();
  if (data.empty()) GTEST_SKIP() << "HEADRACE_DATA is not set";
  const struct {
    const char* folder;
    const char* classes;
  } cases[] = {{"Shenggan__BCCD_Dataset/BCCD", R"(["Platelets","RBC","WBC"])"},
               {"datitran__raccoon_dataset", R"(["raccoon"])"}};
  for (const auto& c : cases) {
    const auto source = open_source(*file_store(), data + "/annotations/" + c.folder, "",
                                    *Value::parse(R"({"split":"all"})"));
    ASSERT_TRUE(source.ok()) << voc_failure(source);
    EXPECT_EQ((*source)->describe().find("format")->dump(), "\"voc_xml\"");
    EXPECT_EQ((*source)->metadata().find("classes")->dump(), c.classes);
    EXPECT_GT((*source)->size(), 0u);
    for (uint64_t i = 0; i < (*source)->size(); ++i) {
      const auto sample = read_sample(**source, i, *file_store());
      ASSERT_TRUE(sample.ok()) << sample.status().text();
      EXPECT_EQ((*sample)[1].shape[0], (*sample)[2].shape[0]);
    }
  }
}

TEST(RealFiles, ImageNetBoxesAreRead) {
  const std::string data = testing::data_folder();
  if (data.empty()) GTEST_SKIP() << "HEADRACE_DATA is not set";
  const std::string folder = data + "/annotations/ilsvrc_xml_quoted/";
  const struct {
    const char* file;
    size_t objects;
  } cases[] = {
      {"n02814533_62180_noobject.xml", 0}, {"n02085620_7.xml", 1}, {"ILSVRC2012_val_00000001.xml", 1}};
  for (const auto& c : cases) {
    const auto bytes = read_bytes(**file_store()->open(folder + c.file), 0, ~uint64_t{0});
    ASSERT_TRUE(bytes.ok());
    const auto objects = parse_voc({reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()});
    ASSERT_TRUE(objects.ok()) << objects.status().text();
    EXPECT_EQ(objects->size(), c.objects) << c.file;
  }
}

}  // namespace
}  // namespace headrace
