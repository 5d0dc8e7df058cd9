// Loaders save the entropy points that they find, and stop at once even while saving them.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "headrace/formats/index/point_index.h"
#include "headrace/formats/opening/open.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/io/testing/temporary_folder.h"
#include "tests/oracle/encode_jpeg.h"

namespace headrace {
namespace {

constexpr int kPointFiles = 1000;  // enough to be worth a sidecar
constexpr auto kLimit = std::chrono::milliseconds(100);

class LoaderPoints : public ::testing::Test {
 protected:
  LoaderPoints() {
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    const std::string image = testing::encode_jpeg({20, 24, 3, 2, 2, false, 0});
    for (int i = 0; i < kPointFiles; ++i) {
      const std::string comment = std::to_string(kPointFiles + i);  // four bytes
      store_->add("images/" + std::to_string(i) + ".jpg",
                  image.substr(0, 2) + std::string("\xff\xfe\0\6", 4) + comment + image.substr(2));
    }
    source_ = *open_source(*store_, "images", "images");
  }
  ~LoaderPoints() override { ::unsetenv("XDG_CACHE_HOME"); }

  std::unique_ptr<Loader> make(bool repeats = false) const {
    Dataset data = from_source(source_);
    if (repeats) data = data.repeat();
    data = data.map([](const Fields& s) -> Outputs {
                 const Symbol image = s["image"].apply("decode_image");
                 return {{"image", image.apply("resize", {{"size", Value::List{8, 8}}})}};
               })
               .batch(100);
    LoaderOptions options;
    options.workers = 2;
    auto loader = Loader::make(*data.node(), options, store_);
    EXPECT_TRUE(loader.ok()) << loader.status().text();
    return *std::move(loader);
  }
  size_t remembered() const { return PointIndex({{source_->fingerprint()}}, {}).files(); }
  std::string key() const { return "entropy points " + source_->fingerprint() + "\n"; }

  const TemporaryFolder folder_;
  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  SourcePtr source_;
};

// All batches of an epoch, but not its end.
void take_all(Loader& loader) {
  Sample batch;
  for (int i = 0; i < kPointFiles / 100; ++i) ASSERT_TRUE(*loader.next(batch));
}

int drain_loader(Loader& loader) {
  Sample batch;
  int batches = 0;
  while (*loader.next(batch)) ++batches;
  return batches;
}

TEST_F(LoaderPoints, AreThereForTheNextLoader) {
  const auto loader = make();
  EXPECT_EQ(drain_loader(*loader), kPointFiles / 100);
  EXPECT_EQ(remembered(), size_t{kPointFiles});
}

// Another process locks the sidecar, so that the save lasts until it is given up.
TEST_F(LoaderPoints, StoppingDoesNotWaitForTheirSave) {
  const auto held = SidecarLock::take(key(), nullptr);
  ASSERT_TRUE(held.ok());
  const auto loader = make();
  take_all(*loader);
  Sample batch;
  const auto last = loader->next_within(batch, 20);
  ASSERT_TRUE(last.ok());
  EXPECT_FALSE(last->has_value());  // the end is not reached yet
  std::thread consumer([&] { EXPECT_FALSE(*loader->next(batch)); });
  const auto begin = std::chrono::steady_clock::now();
  loader->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLimit);
  consumer.join();
  EXPECT_EQ(remembered(), 0u);
}

// A slow disk may take longer than stopping may: then nothing is written, and the next run tries again.
TEST_F(LoaderPoints, AreThereAfterARunThatWasStopped) {
  for (int attempt = 0; attempt < 20 && remembered() == 0; ++attempt) {
    const auto loader = make();
    take_all(*loader);
    loader->stop();
  }
  EXPECT_EQ(remembered(), size_t{kPointFiles});
}

TEST_F(LoaderPoints, AreThereAfterALoaderThatWasDropped) {
  for (int attempt = 0; attempt < 20 && remembered() == 0; ++attempt) take_all(*make());
  EXPECT_EQ(remembered(), size_t{kPointFiles});
}

TEST_F(LoaderPoints, OfTooFewFilesAreNotWrittenByARunThatWasBrokenOff) {
  const auto loader = make();
  Sample batch;
  ASSERT_TRUE(*loader->next(batch));
  loader->stop();
  EXPECT_EQ(remembered(), 0u);
}

TEST_F(LoaderPoints, StoppingWaitsForTheirSaveForAMomentOnly) {
  const auto held = SidecarLock::take(key(), nullptr);
  const auto loader = make();
  take_all(*loader);
  const auto begin = std::chrono::steady_clock::now();
  loader->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLimit);
  EXPECT_EQ(remembered(), 0u);
}

TEST_F(LoaderPoints, AreSavedAtEachPassOfARunWithoutAnEnd) {
  const auto loader = make(true);
  Sample batch;
  for (int i = 0; i < 100 * kPointFiles / 100 && remembered() == 0; ++i) ASSERT_TRUE(*loader->next(batch));
  EXPECT_EQ(remembered(), size_t{kPointFiles});
}

TEST_F(LoaderPoints, ThatCouldNotBeSavedAreSavedAfterTheNextEpoch) {
  const auto loader = make();
  {
    const auto held = SidecarLock::take(key(), nullptr);
    take_all(*loader);
    Sample batch;
    EXPECT_FALSE(loader->next_within(batch, 20)->has_value());
    loader->stop();
  }
  EXPECT_EQ(remembered(), 0u);
  ASSERT_TRUE(loader->begin().ok());
  EXPECT_EQ(drain_loader(*loader), kPointFiles / 100);
  EXPECT_EQ(remembered(), size_t{kPointFiles});
}

}  // namespace
}  // namespace headrace
