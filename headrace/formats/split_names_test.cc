#include "headrace/formats/split_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

struct NameCase {
  const char* entry;
  bool is_folder;
  const char* name;  // "": no split
  const char* rest;
};

std::string text_of(const NameCase& one) {
  const auto found = split_name(one.entry, one.is_folder);
  return found ? found->name + " of " + found->rest : "";
}

TEST(SplitNames, AreWordsOfNames) {
  constexpr NameCase cases[] = {
      {"train.jsonl", false, "train", "*"},
      {"train.jsonl.gz", false, "train", "*"},
      {"validation-00000-of-00002.parquet", false, "validation", "*"},
      {"mnist-train.tfrecord-00000-of-00010", false, "train", "mnist_*"},
      {"imagenet-val-000003.tar", false, "val", "imagenet_*"},
      {"train_0.parquet", false, "train", "*"},
      {"x_test.npy", false, "test", "x_*"},
      {"data.dev.csv", false, "dev", "*"},
      {"t10k-images-idx3-ubyte.gz", false, "t10k", "*_images_idx_ubyte"},
      {"train-images.idx3-ubyte", false, "train", "*_images"},
      {"instances_train2017.json", false, "train2017", "instances_*"},
      {"validation_matched.tsv", false, "validation", "*_matched"},
      {"train.en.txt", false, "train", "*_en"},
      {"KDDTrain+.csv", false, "Train", "kdd_*"},
      {"VOCtrainval_06-Nov-2007", true, "trainval", "voc_*_nov"},
      {"env=dev", true, "", ""},
      {"split=dev", true, "dev", "*"},
      {"trainImages.npy", false, "train", "*_images"},
      {"TEST.CSV", false, "TEST", "*"},
      {"v1.0-trainval", true, "trainval", "v_*"},
      {"seg_train", true, "train", "seg_*"},
      {"train_set", true, "train", "*"},
      {"trainset", true, "train", "*"},
      {"testing_data", true, "testing", "*"},
      {"train2017", true, "train2017", "*"},
      {"test1", true, "test1", "*"},
      {"trainA", true, "trainA", "*_a"},
      {"testB", true, "testB", "*_b"},
      {"train.lmdb", true, "train", "*"},
      {"train_extra", true, "train_extra", "*"},
      {"unlabeled", true, "unlabeled", "*"},
      {"trainer.csv", false, "", ""},
      {"contest", true, "", ""},
      {"training_log2", false, "training", "*_log"},
      {"train_test_split.csv", false, "", ""},
      {"retrain", true, "", ""},
      {"latest", true, "", ""},
      {"devkit", true, "", ""},
      {"n01440764", true, "", ""},
      {"attestation.txt", false, "", ""},
      {"übertest", true, "", ""},
      {"", false, "", ""},
      {".train", true, "train", "*"},
  };
  for (const NameCase& one : cases)
    EXPECT_EQ(text_of(one), *one.name ? std::string(one.name) + " of " + one.rest : "") << one.entry;
}

TEST(SplitNames, OfAKindStandForEachOther) {
  for (const char* word : {"val", "valid", "validation", "dev", "Val"})
    EXPECT_EQ(split_kind(word), SplitKind::validation) << word;
  EXPECT_EQ(split_kind("t10k"), SplitKind::test);
  for (const char* word : {"x_train", "train2017", "trainval", "train[:10%]", "!train", ""})
    EXPECT_EQ(split_kind(word), std::nullopt) << word;
  EXPECT_EQ(split_kind("cat"), std::nullopt);
}

}  // namespace
}  // namespace headrace
