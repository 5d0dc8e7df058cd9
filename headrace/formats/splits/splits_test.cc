#include "headrace/formats/splits/splits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Splits splits_of_files(std::vector<std::string> files) {
  std::ranges::sort(files);
  Listing listing;
  for (const std::string& file : files) listing.files.add(file);
  return find_splits(listing);
}

// "test: test.csv", with "?" where reading all as one is not refused.
std::vector<std::string> split_lines(const Splits& splits) {
  std::vector<std::string> out;
  for (const Split& split : splits.all) {
    std::string line = split.name + (splits.are_certain ? ":" : "?");
    for (const std::string& path : split.paths) line += " " + path;
    for (const auto& [option, value] : split.options) line += " " + option + "=" + value.dump();
    out.push_back(line);
  }
  for (const std::string& folder : splits.data_sets) out.push_back("set " + folder);
  return out;
}
std::vector<std::string> lines_of_files(std::vector<std::string> files) {
  return split_lines(splits_of_files(std::move(files)));
}

TEST(Splits, AreFilesSideBySide) {
  EXPECT_THAT(lines_of_files({"test.csv", "train.csv", "README.md"}),
              ElementsAre("test: test.csv", "train: train.csv"));
  EXPECT_THAT(lines_of_files({"train_0.parquet", "train_1.parquet", "val_0.parquet"}),
              ElementsAre("train: train_0.parquet train_1.parquet", "val: val_0.parquet"));
  EXPECT_THAT(
      lines_of_files({"train-00000-of-00002.parquet", "train-00001-of-00002.parquet", "test.parquet"}),
      ElementsAre("test: test.parquet", "train: train-00000-of-00002.parquet train-00001-of-00002.parquet"));
  EXPECT_THAT(lines_of_files({"train.csv", "test.csv", "sample_submission.csv"}),
              ElementsAre("test: test.csv", "train: train.csv"));
  EXPECT_THAT(
      lines_of_files({"README.md", "data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"}),
      ElementsAre("test: data/test-00000-of-00001.parquet", "train: data/train-00000-of-00001.parquet"));
  // GLUE's MNLI.
  EXPECT_THAT(lines_of_files({"train.tsv", "dev_matched.tsv", "dev_mismatched.tsv", "test_matched.tsv",
                              "test_mismatched.tsv"}),
              ElementsAre("dev_matched: dev_matched.tsv", "dev_mismatched: dev_mismatched.tsv",
                          "test_matched: test_matched.tsv", "test_mismatched: test_mismatched.tsv",
                          "train: train.tsv"));
}

TEST(Splits, AreFoldersSideBySideAtAnyLevel) {
  EXPECT_THAT(lines_of_files({"train/cat/1.jpg", "val/cat/2.jpg"}), ElementsAre("train: train", "val: val"));
  EXPECT_THAT(lines_of_files({"d/train/cat/1.jpg", "d/test/cat/2.jpg", "license.txt"}),
              ElementsAre("test: d/test", "train: d/train"));
  // Intel's scenes and others of Kaggle's.
  EXPECT_THAT(
      lines_of_files(
          {"seg_train/seg_train/sea/1.jpg", "seg_test/seg_test/sea/2.jpg", "seg_pred/seg_pred/3.jpg"}),
      ElementsAre("pred: seg_pred/seg_pred", "test: seg_test/seg_test", "train: seg_train/seg_train"));
  EXPECT_THAT(lines_of_files({"training_set/training_set/cats/1.jpg", "test_set/test_set/cats/2.jpg"}),
              ElementsAre("test: test_set/test_set", "training: training_set/training_set"));
  // ImageNet's challenge.
  EXPECT_THAT(
      lines_of_files({"ILSVRC/Data/CLS-LOC/train/n01/n01_1.JPEG", "ILSVRC/Data/CLS-LOC/val/v_1.JPEG",
                      "ILSVRC/Data/CLS-LOC/test/t_1.JPEG", "ILSVRC/Annotations/CLS-LOC/train/n01/n01_1.xml",
                      "ILSVRC/Annotations/CLS-LOC/val/v_1.xml", "ILSVRC/ImageSets/CLS-LOC/train_cls.txt",
                      "ILSVRC/ImageSets/CLS-LOC/val.txt", "LOC_val_solution.csv", "LOC_train_solution.csv"}),
      ElementsAre("test: ILSVRC/Data/CLS-LOC/test", "train: ILSVRC/Data/CLS-LOC/train",
                  "val: LOC_val_solution.csv root=\"ILSVRC/Data/CLS-LOC/val\" classes=[\"n01\"]"));
  // YOLO's and CycleGAN's.
  EXPECT_THAT(
      lines_of_files({"images/train/1.jpg", "images/val/2.jpg", "labels/train/1.txt", "labels/val/2.txt"}),
      ElementsAre("train: images/train", "val: images/val"));
  EXPECT_THAT(lines_of_files({"trainA/1.jpg", "trainB/1.jpg", "testA/1.jpg", "testB/1.jpg"}),
              ElementsAre("testA: testA", "testB: testB", "trainA: trainA", "trainB: trainB"));
  EXPECT_THAT(lines_of_files({"train.lmdb/data.mdb", "train.lmdb/lock.mdb", "val.lmdb/data.mdb"}),
              ElementsAre("train: train.lmdb", "val: val.lmdb"));
}

TEST(Splits, AsTheyAreDownloaded) {
  EXPECT_THAT(lines_of_files({"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                              "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}),
              ElementsAre("t10k: t10k-images-idx3-ubyte.gz labels=\"t10k-labels-idx1-ubyte.gz\"",
                          "train: train-images-idx3-ubyte.gz labels=\"train-labels-idx1-ubyte.gz\""));
  // torchvision keeps both.
  EXPECT_THAT(lines_of_files({"MNIST/raw/train-images-idx3-ubyte.gz", "MNIST/raw/train-images-idx3-ubyte",
                              "MNIST/raw/train-labels-idx1-ubyte", "MNIST/raw/t10k-images-idx3-ubyte"}),
              ElementsAre("t10k: MNIST/raw/t10k-images-idx3-ubyte",
                          "train: MNIST/raw/train-images-idx3-ubyte "
                          "labels=\"MNIST/raw/train-labels-idx1-ubyte\""));
  EXPECT_THAT(lines_of_files({"emnist-mnist-train-images-idx3-ubyte", "emnist-mnist-test-images-idx3-ubyte",
                              "emnist-digits-train-images-idx3-ubyte"}),
              ElementsAre("emnist-digits-train: emnist-digits-train-images-idx3-ubyte",
                          "emnist-mnist-test: emnist-mnist-test-images-idx3-ubyte",
                          "emnist-mnist-train: emnist-mnist-train-images-idx3-ubyte"));
  EXPECT_THAT(
      lines_of_files({"c/data_batch_1.bin", "c/data_batch_2.bin", "c/test_batch.bin", "c/batches.meta.txt"}),
      ElementsAre("test: c/test_batch.bin classes=10",
                  "train: c/data_batch_1.bin c/data_batch_2.bin classes=10"));
  EXPECT_THAT(lines_of_files({"train.bin", "test.bin", "fine_label_names.txt"}),
              ElementsAre("test: test.bin classes=100", "train: train.bin classes=100"));
  EXPECT_THAT(
      lines_of_files({"annotations/instances_train2017.json", "annotations/captions_train2017.json",
                      "annotations/person_keypoints_val2017.json", "train2017/1.jpg", "val2017/2.jpg"}),
      ElementsAre("train2017: annotations/instances_train2017.json",
                  "val2017: annotations/person_keypoints_val2017.json"));
}

TEST(Splits, NamesThatMeanSomethingElse) {
  EXPECT_THAT(lines_of_files({"en.jsonl", "de.jsonl"}), IsEmpty());
  EXPECT_THAT(lines_of_files({"a.csv", "dev-board.csv"}), ElementsAre("dev? dev-board.csv"));
  EXPECT_THAT(lines_of_files({"dev-board.csv", "test-bench.csv"}),
              ElementsAre("dev? dev-board.csv", "test? test-bench.csv"));
  // CIFAR-100 has a class "train".
  EXPECT_THAT(lines_of_files({"bus/1.jpg", "train/2.jpg", "tram/3.jpg"}), ElementsAre("train? train"));
  const Splits doubtful = splits_of_files({"bus/1.jpg", "train/2.jpg", "test/3.jpg"});
  EXPECT_THAT(split_lines(doubtful), ElementsAre("test? test", "train? train"));
  EXPECT_EQ(doubtful.beside, "bus");
  EXPECT_EQ(splits_of_files({"train.jsonl", "test.jsonl", "more.jsonl"}).beside, "more.jsonl");
  // Text beside images is no data.
  EXPECT_THAT(lines_of_files({"train.txt", "val.txt", "images/1.jpg"}), IsEmpty());
  EXPECT_THAT(lines_of_files({"cat/1.jpg", "dog/2.jpg", "train.csv", "test.csv"}), IsEmpty());
  EXPECT_THAT(lines_of_files({}), IsEmpty());
}

TEST(Splits, OfSeveralDataSetsAreNotGuessed) {
  const Splits found = splits_of_files({"a/train.jsonl", "a/test.jsonl", "b/train.jsonl", "b/test.jsonl"});
  EXPECT_THAT(split_lines(found), ElementsAre("set a", "set b"));
  EXPECT_THAT(std::string(choose_splits(found, Value("train")).status().text()),
              HasSubstr("contains the splits of several data sets; open one of them: 'a', 'b'"));
}

TEST(Splits, OfOneKindOrOfSeveralFormats) {
  EXPECT_THAT(lines_of_files({"val.csv", "dev.csv"}), ElementsAre("dev: dev.csv", "val: val.csv"));
  EXPECT_THAT(lines_of_files({"train.csv", "test.parquet"}),
              ElementsAre("test: test.parquet", "train: train.csv"));
  EXPECT_THAT(lines_of_files({"train.parquet", "train.csv"}), ElementsAre("train? train.parquet"));
  EXPECT_THAT(lines_of_files({"train.json", "test.json", "config.json"}),
              ElementsAre("test: test.json", "train: train.json"));
  EXPECT_THAT(lines_of_files({"train.json", "config.json"}), IsEmpty());
  EXPECT_THAT(lines_of_files({"train.csv", "train.csv.gz", "test.csv.gz"}),
              ElementsAre("test: test.csv.gz", "train: train.csv"));
  EXPECT_THAT(lines_of_files({"train2017.csv", "train2018.csv"}),
              ElementsAre("train2017? train2017.csv", "train2018? train2018.csv"));
  EXPECT_THAT(lines_of_files({"train.csv", "test/0.csv"}), ElementsAre("test: test", "train: train.csv"));
  EXPECT_THAT(lines_of_files({"train.csv", "test.csv", "videos/0.mp4"}),
              ElementsAre("test: test.csv", "train: train.csv"));
  EXPECT_THAT(lines_of_files({"train.csv", "test.csv", "data/train.parquet", "data/test.parquet"}),
              ElementsAre("test: data/test.parquet", "train: data/train.parquet"));
  EXPECT_THAT(lines_of_files({"train/a/1.jpg", "val/a/1.heic"}), ElementsAre("train: train", "val: val"));
  EXPECT_THAT(lines_of_files({"train.txt", "unlabeled.txt"}),
              ElementsAre("train: train.txt", "unlabeled: unlabeled.txt"));
  EXPECT_THAT(lines_of_files({"train.txt", "query_log.txt"}),
              ElementsAre("query? query_log.txt", "train? train.txt"));
  EXPECT_TRUE(splits_of_files({"train/1.jpg", "train_blurred/1.jpg"}).are_likely);
  EXPECT_THAT(lines_of_files({"dev.txt", "devtest.txt"}),
              ElementsAre("dev: dev.txt", "devtest: devtest.txt"));
  EXPECT_THAT(lines_of_files({"train/1.jpg", "final_test/1.jpg"}),
              ElementsAre("test: final_test", "train: train"));
}

TEST(Splits, AreWordsJoinedToOthers) {
  EXPECT_THAT(lines_of_files({"mytrain.csv", "mytest.csv"}),
              ElementsAre("test: mytest.csv", "train: mytrain.csv"));
  EXPECT_THAT(lines_of_files({"contest.csv", "latest.csv", "strain.csv"}), IsEmpty());
  EXPECT_THAT(lines_of_files({"train/1.jpg", "trainannot/1.png", "val/1.jpg", "valannot/1.png"}),
              ElementsAre("train: train", "trainannot: trainannot", "val: val", "valannot: valannot"));
}

TEST(Splits, AreImagesInOneFolder) {
  EXPECT_THAT(lines_of_files({"train_0.jpg", "train_1.jpg", "val_0.jpg"}),
              ElementsAre("train: train_0.jpg train_1.jpg", "val: val_0.jpg"));
  EXPECT_THAT(lines_of_files({"train_0.jpg", "val_0.jpg", "logo.png"}),
              ElementsAre("train? train_0.jpg", "val? val_0.jpg"));
  EXPECT_THAT(lines_of_files({"train_0.jpg", "train_1.jpg", "n_0.jpg"}), IsEmpty());
  EXPECT_THAT(lines_of_files({"cat_train_0.jpg", "cat_test_0.jpg", "dog_train_0.jpg"}),
              ElementsAre("test: cat_test_0.jpg", "train: cat_train_0.jpg dog_train_0.jpg"));
}

std::string chosen(const Splits& splits, const char* json) {
  const auto found = choose_splits(splits, *Value::parse(json));
  if (!found.ok()) return std::string(found.status().text());
  std::string out;
  for (const Split& split : *found) out += (out.empty() ? "" : " ") + split.name;
  return out;
}

TEST(Splits, AreChosenByNameOrKind) {
  const Splits splits = splits_of_files({"train.csv", "validation.csv", "test.csv"});
  EXPECT_EQ(chosen(splits, "\"train\""), "train");
  EXPECT_EQ(chosen(splits, "\"Train\""), "train");
  EXPECT_EQ(chosen(splits, "\"val\""), "validation");
  EXPECT_EQ(chosen(splits, "[\"validation\", \"train\"]"), "validation train");
  EXPECT_EQ(chosen(splits, "\"all\""), "test train validation");
  EXPECT_EQ(chosen(splits, "\"other\""),
            "split: there is no \"other\", only \"test\", \"train\", \"validation\"");
  EXPECT_EQ(chosen(splits, "[\"train\", \"training\"]"), "split: \"training\" is given twice");
  EXPECT_THAT(chosen(splits, "3"), HasSubstr("expected a name, a list of names or \"all\", got 3"));
  EXPECT_THAT(chosen(splits, "[]"), HasSubstr("got []"));
  const Splits years = splits_of_files({"train2014/1.jpg", "train2017/1.jpg", "val2017/1.jpg"});
  EXPECT_EQ(chosen(years, "\"val\""), "val2017");
  EXPECT_THAT(chosen(years, "\"train\""), HasSubstr("there is no \"train\", only \"train2014\""));
}

}  // namespace
}  // namespace headrace
