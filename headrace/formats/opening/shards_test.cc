#include "headrace/formats/opening/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/shard_names.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Listing listing(std::initializer_list<const char*> names) {
  Listing out;
  for (const char* name : names) out.files.add(name);
  return out;
}

TEST(Shards, AreOfTheKindTheirNamesSay) {
  for (const auto& [name, kind] : {std::pair{"train-00012-of-00100", ""},
                                   {"train-00012-of-00100.gz", ""},
                                   {"train-00012-of-00100.tfrecord", ".tfrecord"},
                                   {"mnist-train.tfrecord-00000-of-00001", ".tfrecord"},
                                   {"a.TAR.gz", ".tar"},
                                   {"a.tar", ".tar"},
                                   {"x-of-y.rec", ".rec"},
                                   {".hidden", ""}})
    EXPECT_EQ(shard_kind(name), kind) << name;
}

TEST(Shards, TheCommonestKindIsTakenAndTheRestIsCounted) {
  const auto shards = shards_of(listing({".cache", "_SUCCESS", "a.idx", "a.tar", "b.idx", "b.idx2", "b.tar",
                                         "deep/c.tar", "notes.txt", "x.json", "y.json", "z.json"}));
  ASSERT_TRUE(shards.ok()) << shards.status().text();
  EXPECT_THAT(shards->names, ElementsAre("a.tar", "b.tar"));
  EXPECT_EQ(shards->left_out.dump(),
            R"({"files":8,"endings":{".json":3,".idx":2,".idx2":1,".tar":1,".txt":1}})");
}

TEST(Shards, AFolderOfFoldersIsRefusedByTheirNames) {
  const auto shards = shards_of(listing({"readme.md", "train/a.tar", "val/a.tar"}));
  EXPECT_THAT(std::string(shards.status().text()), HasSubstr("pass one of them, such as 'train', 'val'"));
  EXPECT_FALSE(shards_of(listing({"readme.md"})).ok());
}

TEST(Shards, NumberedDatabasesAreShardsAndOthersAreNot) {
  const auto shards =
      shards_of(listing({"a-00000-of-00002.lmdb/data.mdb", "a-00000-of-00002.lmdb/lock.mdb",
                         "a-00001-of-00002.lmdb/data.mdb", "b.lmdb/data.mdb", "headrace.json"}));
  ASSERT_TRUE(shards.ok()) << shards.status().text();
  EXPECT_THAT(shards->names, ElementsAre("a-00000-of-00002.lmdb/data.mdb", "a-00001-of-00002.lmdb/data.mdb"));
  EXPECT_EQ(shards->left_out.dump(), R"({"files":1,"endings":{".mdb":1}})");
  EXPECT_THAT(std::string(shards_of(listing({"train_lmdb/data.mdb", "val_lmdb/data.mdb"})).status().text()),
              HasSubstr("pass one of them, such as 'train_lmdb', 'val_lmdb'"));
}

TEST(Shards, ThoseThatAreMissingAreTold) {
  const auto missing = [](std::vector<std::string> paths) { return missing_shards(paths); };
  EXPECT_EQ(missing({"d/x-00000-of-00003.tar", "d/x-00001-of-00003.tar", "d/x-00002-of-00003.tar"}), "");
  EXPECT_EQ(missing({"d/x-00000-of-00003.tar", "d/x-00002-of-00003.tar", "d/y-0-of-1"}),
            "1 of 3 shards is missing: 'd/x-00001-of-00003.tar'");
  EXPECT_EQ(missing({"a/train-2-of-7.rec", "b/train-00000-of-00002"}),
            "6 of 7 shards are missing: 'a/train-0-of-7.rec', 'a/train-1-of-7.rec', 'a/train-3-of-7.rec', …; "
            "1 of 2 shards is missing: 'b/train-00001-of-00002'");
  EXPECT_EQ(missing({"a/x-0-of-2.lmdb/data.mdb"}), "1 of 2 shards is missing: 'a/x-1-of-2.lmdb/data.mdb'");
  EXPECT_EQ(missing({"fold-1-of-5/a.tar", "fold-1-of-5/b.tar"}), "") << "a folder is no shard";
  EXPECT_EQ(missing({"x-1-of-2.tar", "x-2-of-2.tar"}), "") << "counted from 1";
  EXPECT_EQ(missing({"x-1-of-99999999999999999999.tar", "x-1-of-999999999.tar", "one-of-us", "part-7.tar"}),
            "");
}

}  // namespace
}  // namespace headrace
