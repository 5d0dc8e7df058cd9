#include "headrace/formats/dataset/dataset_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "headrace/formats/dataset/unfinished.h"
#include "headrace/formats/opening/open.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Folder {
  fs::path path =
      fs::path(::testing::TempDir()) / ("headrace_writer_" + std::to_string(::getpid()) + "_" +
                                        ::testing::UnitTest::GetInstance()->current_test_info()->name());
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return path / name; }
  std::vector<std::string> names(const std::string& below = "") const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(path / below))
      out.push_back(fs::relative(entry.path(), path / below));
    std::ranges::sort(out);
    return out;
  }
};

using Names = std::vector<std::string>;

Schema records() { return Schema::of({"record"}, {{DType::bytes, {kAny}}}); }

std::string record(int i) { return std::string(static_cast<size_t>(10 * i), static_cast<char>('a' + i)); }

Status add(DatasetWriter& writer, int first, int last) {
  for (int i = first; i < last; ++i) {
    while (writer.is_shard_full()) HEADRACE_TRY(writer.end_shard(writer.position()));
    HEADRACE_TRY(writer.add({text_tensor(record(i), DType::bytes)}));
  }
  return {};
}

// What the reader returns for all samples.
std::string all_of(const std::string& path) {
  const auto store = file_store();
  auto source = open_source(*store, path);
  if (!source.ok()) return std::string(source.status().text());
  std::string out;
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const auto fields = read_sample(**source, i, *store);
    if (!fields.ok()) return std::string(fields.status().text());
    const auto bytes = (*fields)[0].view().bytes();
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()) += ' ';
  }
  return out;
}

std::string all_of(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += record(i) + ' ';
  return out;
}

WriterRequest wanted(DatasetOptions options = {}) {
  WriterRequest out;
  out.schema = records(), out.options = std::move(options), out.identity = "these samples";
  out.num_samples = 10;
  return out;
}

std::unique_ptr<DatasetWriter> made(const std::string& path, DatasetOptions options = {}) {
  auto out = DatasetWriter::make(path, wanted(std::move(options)));
  EXPECT_TRUE(out.ok()) << out.status().text();
  return out.ok() ? *std::move(out) : nullptr;
}

TEST(DatasetWriter, AFileAppearsWithItsManifestWhenItIsWhole) {
  const Folder folder;
  auto writer = made(folder / "out.tfrecord");
  ASSERT_TRUE(add(*writer, 0, 10).ok());
  ASSERT_TRUE(writer->close().ok());
  EXPECT_FALSE(fs::exists(folder / "out.tfrecord"));
  const auto written = writer->finish();
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_EQ(folder.names(), (Names{"out.tfrecord", "out.tfrecord.headrace.json"}));
  EXPECT_EQ(written->manifest.samples(), 10u);
  EXPECT_EQ(written->manifest.bytes(), fs::file_size(folder / "out.tfrecord"));
  EXPECT_EQ(all_of(folder / "out.tfrecord"), all_of(10));
}

TEST(DatasetWriter, ShardsEndWithTheSampleThatFillsThem) {
  const Folder folder;
  auto writer = made(folder / "out", {.format = "tfrecord", .shard_size = 150});
  ASSERT_TRUE(add(*writer, 0, 10).ok());
  const auto written = writer->finish();
  ASSERT_TRUE(written.ok()) << written.status().text();
  Names names;
  std::vector<uint64_t> counts;
  for (const ShardEntry& shard : written->manifest.shards)
    names.push_back(shard.name), counts.push_back(shard.samples);
  // Sizes are 10 i + 16: 16 + 26 + 36 + 46 + 56 >= 150, 66 + 76 + 86, 96 + 106.
  EXPECT_EQ(names, (Names{"00000.tfrecord", "00001.tfrecord", "00002.tfrecord"}));
  EXPECT_EQ(counts, (std::vector<uint64_t>{5, 3, 2}));
  EXPECT_EQ(folder.names("out"),
            (Names{"00000.tfrecord", "00001.tfrecord", "00002.tfrecord", "headrace.json"}));
  EXPECT_EQ(all_of(folder / "out"), all_of(10));
}

TEST(DatasetWriter, ItsManifestIsParsedOnceAProcessWhileItIsTheSame) {
  const Folder folder;
  auto writer = made(folder / "out", {.format = "tfrecord", .shards = 10});
  ASSERT_TRUE(add(*writer, 0, 10).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto store = file_store();
  const auto open_all = [&] {
    for (int i = 0; i < 10; ++i) {
      const std::string shard = "out/out-0000" + std::to_string(i) + "-of-00010.tfrecord";
      const auto source = open_source(*store, folder / shard);
      ASSERT_TRUE(source.ok()) << source.status().text();
      EXPECT_FALSE((*source)->metadata().find("missing"));
    }
  };
  const uint64_t before = num_manifests_parsed();
  open_all();
  EXPECT_EQ(num_manifests_parsed(), before + 1);
  open_all();
  EXPECT_EQ(num_manifests_parsed(), before + 1);
  std::ofstream(folder / "out/headrace.json", std::ios::app) << " ";
  open_all();
  EXPECT_EQ(num_manifests_parsed(), before + 2);
}

TEST(DatasetWriter, ANumberOfShardsDividesTheSamplesEvenlyAndNamesThem) {
  const Folder folder;
  for (const uint64_t shards : {3u, 12u}) {
    const std::string path = folder / ("train" + std::to_string(shards) + ".tfrecord");
    auto writer = made(path, {.shards = shards});
    ASSERT_TRUE(add(*writer, 0, 10).ok());
    const auto written = writer->finish();
    ASSERT_TRUE(written.ok()) << written.status().text();
    ASSERT_EQ(written->manifest.shards.size(), shards);
    EXPECT_EQ(all_of(path), all_of(10));
    if (shards == 3) {
      EXPECT_EQ(written->manifest.shards[2].name, "train3-00002-of-00003.tfrecord");
      EXPECT_EQ(written->manifest.shards[0].samples, 3u);
      EXPECT_EQ(written->manifest.shards[2].samples, 4u);
    }
  }
}

TEST(DatasetWriter, AStoppedRunGoesOnAfterItsLastFinishedShard) {
  const Folder folder;
  const DatasetOptions options{.format = "tfrecord", .shards = 5};
  {
    auto writer = made(folder / "out", options);
    ASSERT_TRUE(add(*writer, 0, 5).ok());  // shards 0 and 1, half of 2
  }
  EXPECT_FALSE(fs::exists(folder / "out"));
  EXPECT_THAT(all_of(folder / "out.partial"), HasSubstr("unfinished data set"));
  EXPECT_THAT(all_of(folder / "out.partial/.data"), HasSubstr("unfinished data set"));
  // How far the threads got before destruction varies: only finished shards count.
  auto writer = made(folder / "out", options);
  const auto after = writer->skip_finished();
  const auto first = static_cast<int>(writer->position());
  EXPECT_EQ(after.has_value(), first > 0);
  if (after) {
    EXPECT_EQ(*after, Value(static_cast<int64_t>(first)));
  }
  ASSERT_TRUE(add(*writer, first, 10).ok());
  const auto written = writer->finish();
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_EQ(written->reused_shards, static_cast<uint64_t>(first) / 2);
  uint64_t bytes = 0;
  for (size_t i = 0; i < written->reused_shards; ++i) bytes += written->manifest.shards[i].bytes;
  EXPECT_EQ(written->reused_bytes, bytes);
  EXPECT_EQ(all_of(folder / "out"), all_of(10));
  EXPECT_EQ(folder.names(""), (Names{"out", "out/headrace.json", "out/out-00000-of-00005.tfrecord",
                                     "out/out-00001-of-00005.tfrecord", "out/out-00002-of-00005.tfrecord",
                                     "out/out-00003-of-00005.tfrecord", "out/out-00004-of-00005.tfrecord"}));
}

TEST(DatasetWriter, WhatNoRunCanGoOnFromGoesWithItsWriter) {
  const Folder folder;
  for (const DatasetOptions& options :
       {DatasetOptions(), DatasetOptions{.format = "tfrecord", .shards = 2}}) {
    const std::string target = folder / (options.shards == 0 ? "out.tfrecord" : "out");
    {
      const auto writer = made(target, options);
      ASSERT_TRUE(add(*writer, 0, 3).ok());
      EXPECT_TRUE(fs::exists(target + ".partial"));
    }
    EXPECT_EQ(folder.names(), Names{});
  }
  {
    auto writer = made(folder / "out", {.format = "tfrecord", .shards = 2});
    ASSERT_TRUE(add(*writer, 0, 10).ok());
    ASSERT_TRUE(writer->close().ok());
  }
  auto other = DatasetWriter::make(folder / "out", [] {
    WriterRequest request = wanted({.format = "tfrecord", .shards = 2});
    request.identity = {};
    return request;
  }());
  ASSERT_TRUE(other.ok());  // it cannot use these shards, and leaves none
  *other = nullptr;
  EXPECT_EQ(folder.names(), Names{});
}

TEST(DatasetWriter, WhatWasNotedIsThereWithTheShardThatWasFinishedNext) {
  const Folder folder;
  const DatasetOptions options{.format = "tfrecord", .shard_size = 150};
  {
    WriterRequest request = wanted(options);
    request.threads = 1;  // the second shard waits for the first
    auto writer = DatasetWriter::make(folder / "out", request);
    ASSERT_TRUE(writer.ok()) << writer.status().text();
    (*writer)->note("before the first shard ends");
    ASSERT_TRUE(add(**writer, 0, 6).ok());  // five fill it
    (*writer)->note("after it");
  }
  auto writer = made(folder / "out", options);
  EXPECT_EQ(writer->notes(), (std::vector<Value>{"before the first shard ends"}));
  EXPECT_EQ(writer->skip_finished(), Value(5));
}

TEST(DatasetWriter, FinishedShardsOfOtherOptionsAreNotUsed) {
  const Folder folder;
  {
    auto writer = made(folder / "out", {.format = "tfrecord", .shards = 5});
    ASSERT_TRUE(add(*writer, 0, 10).ok());
    ASSERT_TRUE(writer->close().ok());
  }
  auto writer = made(folder / "out", {.format = "tfrecord", .shards = 2});
  EXPECT_FALSE(writer->skip_finished().has_value());
  ASSERT_TRUE(add(*writer, 0, 10).ok());
  const auto written = writer->finish();
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_EQ(written->discarded, "other samples or options");
  EXPECT_EQ(all_of(folder / "out"), all_of(10));
}

TEST(DatasetWriter, WhatIsThereIsRefusedUnlessItIsOursAndMayBeReplaced) {
  const Folder folder;
  const DatasetOptions options{.format = "tfrecord", .shards = 2, .overwrite = true};
  {
    auto writer = made(folder / "out", options);
    ASSERT_TRUE(add(*writer, 0, 10).ok());
    ASSERT_TRUE(writer->finish().ok());
  }
  const auto refused = [&](bool overwrite) {
    DatasetOptions given = options;
    given.overwrite = overwrite;
    const auto writer = DatasetWriter::make(folder / "out", wanted(given));
    return std::string(writer.status().text());
  };
  EXPECT_THAT(refused(false), HasSubstr("exists already; overwrite=True"));
  std::ofstream(folder / "out/notes.txt") << "mine";
  EXPECT_THAT(refused(true), HasSubstr("it has 3 files, not the 2 that were written"));
  EXPECT_THAT(refused(false), HasSubstr("it has 3 files, not the 2 that were written"));
  EXPECT_EQ(all_of(folder / "out"), all_of(10));
  fs::remove(folder / "out/notes.txt");
  fs::create_directory(folder / "out/kept");
  EXPECT_THAT(refused(true), HasSubstr("it has 3 files, not the 2 that were written"));
  fs::remove(folder / "out/kept");
  fs::create_symlink("nowhere", folder / "out/link");
  EXPECT_THAT(refused(true), HasSubstr("it has 3 files, not the 2 that were written"));
  fs::remove(folder / "out/link");
  const std::string shard = folder / "out/out-00001-of-00002.tfrecord";
  const auto bytes = fs::file_size(shard);
  std::ofstream(shard, std::ios::app) << "mine";
  EXPECT_THAT(refused(true), HasSubstr("'out-00001-of-00002.tfrecord' has " + std::to_string(bytes + 4) +
                                       " bytes, not the " + std::to_string(bytes)));
  fs::resize_file(shard, bytes);
  fs::create_directory(folder / "out/.headrace");  // indexes are ours
  std::ofstream(folder / "out/.headrace/points.hri") << "x";
  auto writer = made(folder / "out", options);
  ASSERT_TRUE(add(*writer, 0, 3).ok());
  EXPECT_EQ(all_of(folder / "out"), all_of(10));  // the old one, until
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(all_of(folder / "out"), all_of(3));
  EXPECT_FALSE(fs::exists(folder / "out.partial"));
}

// A writer that was stopped just before the exchange, over a data set of 10 samples, with its line in the
// journal.
void stop_before_the_exchange(const Folder& folder, const DatasetOptions& options) {
  auto old = made(folder / "out", options);
  ASSERT_TRUE(add(*old, 0, 10).ok() && old->finish().ok());
  auto writer = made(folder / "out", options);
  ASSERT_TRUE(add(*writer, 0, 3).ok() && writer->close().ok());
  struct stat info;
  ASSERT_EQ(::stat((folder / "out.partial/.data").c_str(), &info), 0);
  std::ofstream(folder / "out.partial/journal", std::ios::app)
      << "{\"committing\": " << info.st_ino << ", \"is_file\": false, \"replaces_file\": false}\n";
}

TEST(DatasetWriter, StoppedBetweenTheStepsOfAnExchangeTheOldDataSetComesBack) {
  const Folder folder;
  const DatasetOptions options{.format = "tfrecord", .shards = 2, .overwrite = true};
  stop_before_the_exchange(folder, options);
  fs::rename(folder / "out", folder / "out.partial/.old");
  auto writer = made(folder / "out", options);
  EXPECT_EQ(all_of(folder / "out"), all_of(10));
  ASSERT_TRUE(writer->discard().ok());
  EXPECT_EQ(all_of(folder / "out"), all_of(10));
  EXPECT_FALSE(fs::exists(folder / "out.partial"));
}

TEST(DatasetWriter, StoppedAfterAnExchangeTheNewDataSetStays) {
  const Folder folder;
  const DatasetOptions options{.format = "tfrecord", .shards = 2, .overwrite = true};
  stop_before_the_exchange(folder, options);
  fs::rename(folder / "out", folder / "out.partial/.old");
  fs::rename(folder / "out.partial/.data", folder / "out");
  EXPECT_FALSE(DatasetWriter::make(folder / "out", wanted(options)).ok());  // it has no manifest here
  EXPECT_EQ(all_of(folder / "out"), all_of(3));
}

TEST(DatasetWriter, TheOldDataSetIsNotTakenForFinishedShards) {
  const Folder folder;
  const DatasetOptions options{.format = "tfrecord", .shards = 2, .overwrite = true};
  stop_before_the_exchange(folder, options);
  fs::rename(folder / "out.partial/.data", folder / "elsewhere");
  fs::rename(folder / "out", folder / "out.partial/.data");
  auto writer = made(folder / "out", options);
  EXPECT_FALSE(writer->skip_finished().has_value());
  ASSERT_TRUE(add(*writer, 0, 3).ok() && writer->finish().ok());
  EXPECT_EQ(all_of(folder / "out"), all_of(3));
}

TEST(DatasetWriter, AFolderWhereTheDataSetWouldGrowIsOursWhenItsJournalIs) {
  const Folder folder;
  const auto refused = [&](const std::string& name, const std::string& text) {
    fs::create_directories(folder / "out.tfrecord.partial");
    std::ofstream(folder / ("out.tfrecord.partial/" + name)) << text;
    std::ofstream(folder / "out.tfrecord.partial/thesis.txt") << "mine";
    const auto writer = DatasetWriter::make(folder / "out.tfrecord", wanted());
    EXPECT_THAT(std::string(writer.status().text()), HasSubstr("something else is there; move it away"));
    EXPECT_EQ(folder.names("out.tfrecord.partial"), (Names{name, "thesis.txt"}));
    fs::remove_all(folder / "out.tfrecord.partial");
  };
  refused("lock", "");
  refused("journal", "Dear diary\n");
  refused("journal", "{\"day\": 1}\n");
  refused("journal.txt", "");
  // What a stop before the first line leaves, and files of others among ours.
  fs::create_directories(folder / "out.tfrecord.partial");
  std::ofstream(folder / "out.tfrecord.partial/lock");
  std::ofstream(folder / "out.tfrecord.partial/journal.123") << "{\"unfini";
  auto writer = made(folder / "out.tfrecord");
  std::ofstream(folder / "out.tfrecord.partial/thesis.txt") << "mine";
  ASSERT_TRUE(writer->discard().ok());
  EXPECT_EQ(folder.names("out.tfrecord.partial"), Names{"thesis.txt"});
}

std::string why_not(const std::string& path, DatasetOptions options = {}) {
  return std::string(DatasetWriter::make(path, wanted(std::move(options))).status().text());
}

TEST(DatasetWriter, FilesOfOthersBesideTheTargetStay) {
  const Folder folder;
  for (const std::string name : {"c.idx", "c.rec.headrace.json", "c.rec.quarantine.json"}) {
    std::ofstream(folder / name) << "mine";
    for (const bool overwrite : {false, true})
      EXPECT_THAT(why_not(folder / "c.rec", {.overwrite = overwrite}), HasSubstr(name + "' exists already"));
    EXPECT_EQ(folder.names(), Names{name});
    fs::remove(folder / name);
  }
  auto writer = made(folder / "c.rec");
  ASSERT_TRUE(add(*writer, 0, 3).ok() && writer->finish().ok());
  fs::remove(folder / "c.rec");  // our other files do not block a new data set
  EXPECT_EQ(why_not(folder / "c.rec"), "");
  EXPECT_EQ(why_not(folder / "c.rec", {.overwrite = true}), "");
}

TEST(DatasetWriter, LinksAndFoldersInTheWayAreRefusedBeforeAnythingIsMade) {
  const Folder folder;
  fs::create_directory(folder / "empty");
  fs::create_directory_symlink("empty", folder / "link");
  fs::create_symlink("nowhere", folder / "dangling");
  for (const bool overwrite : {false, true}) {
    DatasetOptions one{.format = "tfrecord", .overwrite = overwrite};
    EXPECT_THAT(why_not(folder / "empty", one), HasSubstr("is a folder, but the data set is a file"));
    DatasetOptions shards{.format = "tfrecord", .shards = 2, .overwrite = overwrite};
    EXPECT_THAT(why_not(folder / "link", shards), HasSubstr("is a link; write to its target 'empty'"));
    EXPECT_THAT(why_not(folder / "dangling", one), HasSubstr("is a link"));
  }
  EXPECT_EQ(folder.names().size(), 3u);
  EXPECT_EQ(why_not(folder / "empty", {.format = "tfrecord", .shards = 2}), "");
  EXPECT_EQ(why_not(folder / "empty", {.format = "lmdb"}), "");
  EXPECT_THAT(why_not(folder / "empty", {.format = "lmdb", .options = Value::Object{{"folder", false}}}),
              HasSubstr("but the data set is a file"));
}

TEST(DatasetWriter, TwoWritersOfOneTargetDoNotMix) {
  const Folder folder;
  auto writer = made(folder / "out.tfrecord");
  const auto second = DatasetWriter::make(folder / "out.tfrecord", wanted());
  EXPECT_THAT(std::string(second.status().text()), HasSubstr("is being written by another process"));
}

TEST(DatasetWriter, CompanionsFollowTheirDataAndGoWithIt) {
  const Folder folder;
  const auto write = [&](const std::string& path, DatasetOptions options, const std::string& report = "") {
    auto writer = made(path, std::move(options));
    ASSERT_TRUE(add(*writer, 0, 10).ok());
    const auto written = writer->finish(report);
    ASSERT_TRUE(written.ok()) << written.status().text();
    EXPECT_EQ(all_of(path), all_of(10));
  };
  // If the target has no ending of the format, and dots only in its folder.
  fs::create_directory(folder / "v1.0");
  write(folder / "v1.0/train", {.format = "recordio"});
  EXPECT_EQ(folder.names("v1.0"), (Names{"train", "train.headrace.json", "train.idx"}));
  write(folder / "data.v1", {.format = "recordio"});
  EXPECT_TRUE(fs::exists(folder / "data.v1.idx"));

  fs::create_directory(folder / "x");
  write(folder / "x/a.rec", {}, "{}");
  EXPECT_EQ(folder.names("x"), (Names{"a.idx", "a.rec", "a.rec.headrace.json", "a.rec.quarantine.json"}));
  write(folder / "x/a.rec", {.overwrite = true});
  EXPECT_EQ(folder.names("x"), (Names{"a.idx", "a.rec", "a.rec.headrace.json"}));
  write(folder / "x/a.rec", {.format = "tfrecord", .overwrite = true});
  EXPECT_EQ(folder.names("x"), (Names{"a.rec", "a.rec.headrace.json"}));
  write(folder / "x/a.rec", {.overwrite = true});
  write(folder / "x/a.rec", {.shards = 2, .overwrite = true}, "{}");
  EXPECT_EQ(folder.names("x"), (Names{"a.rec", "a.rec/a-00000-of-00002.idx", "a.rec/a-00000-of-00002.rec",
                                      "a.rec/a-00001-of-00002.idx", "a.rec/a-00001-of-00002.rec",
                                      "a.rec/headrace.json", "a.rec/quarantine.json"}));
  write(folder / "x/a.rec", {.overwrite = true});
  EXPECT_EQ(folder.names("x"), (Names{"a.idx", "a.rec", "a.rec.headrace.json"}));
}

TEST(DatasetWriter, SampleErrorsNameFieldAndType) {
  const Folder folder;
  auto writer = made(folder / "out.tfrecord");
  const Status status = writer->add({scalar(int64_t{7})});
  EXPECT_EQ(status.text(), "write: field 'record': expected bytes, got int64 ()");
  ASSERT_TRUE(writer->discard().ok());
  EXPECT_EQ(folder.names(), Names{});
}

TEST(DatasetWriter, EndingsNameFormatsAndOptions) {
  EXPECT_EQ(choose_writer("x.tfrecord.gz", "", {})->options.find("compression")->dump(), "\"gzip\"");
  EXPECT_EQ(choose_writer("x", "tfrecord", {})->info->name, "tfrecord");
  EXPECT_THAT(std::string(choose_writer("x.unknown", "", {}).status().text()),
              HasSubstr("tfrecord (.tfrecord)"));
  const auto unknown = choose_writer("x.tfrecord", "", Value::Object{{"speed", 1}});
  EXPECT_EQ(unknown.status().text(),
            "tfrecord: the writer has no option 'speed'; it has compression, level, round");
}

}  // namespace
}  // namespace headrace
