// Batches whose bytes are in mapped files: the same as when they are read, on any schedule and in any budget;
// and an error, never a signal or wrong bytes, when the file is truncated in the meantime.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "headrace/formats/lmdb/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/tfrecord/testing.h"
#include "headrace/headrace.h"
#include "headrace/io/file_map.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

constexpr size_t kMappedRecords = 60;

struct MapOutcome {
  std::vector<std::string> rows;
  std::string failure;
  size_t mapped = 0;     // mapped rows
  bool is_torn = false;  // a row was handed out and was gone when it was read
};

class LoaderMaps : public ::testing::Test {
 protected:
  LoaderMaps() {
    std::signal(SIGBUS, SIG_DFL);  // sanitizers install a handler, which would be respected
    for (size_t i = 0; i < kMappedRecords; ++i)
      records_.emplace_back(10'000 + i * 7919 % 200'000, static_cast<char>('a' + i % 26));
    write();
  }
  virtual std::string path() const { return folder_ / "x.tfrecord"; }
  virtual int field() const { return 0; }
  virtual void write() const { folder_.write("x.tfrecord", framed(records_)); }

  MapOutcome run(
      LoaderOptions options, const std::function<Dataset(Dataset)>& verbs,
      const std::function<void()>& once_open = [] {}) const {
    MapOutcome out;
    const auto source = open_source(*file_store(), path());
    if (!source.ok()) return out.failure = source.status().text(), out;
    auto loader = Loader::make(*verbs(from_source(*source)).node(), options, file_store());
    if (!loader.ok()) return out.failure = loader.status().text(), out;
    once_open();
    Sample sample;
    for (auto more = (*loader)->next(sample);; more = (*loader)->next(sample)) {
      if (!more.ok()) out.failure = more.status().text();
      if (!more.ok() || !*more || !take(sample.fields[static_cast<size_t>(field())], out)) return out;
    }
  }

  static bool take(const Tensor& column, MapOutcome& out) {
    for (const Tensor& row : *column.rows) {
      const View view = row.view();
      out.mapped += is_mapped(view.data);
      std::string text(reinterpret_cast<const char*>(view.data), view.size_bytes());
      out.is_torn = !check_intact(view.bytes()).ok();
      if (out.is_torn) return false;
      out.rows.push_back(std::move(text));
    }
    return true;
  }

  TemporaryFolder folder_;
  std::vector<std::string> records_;
};

LoaderOptions map_options(std::optional<uint64_t> seed, bool maps, size_t budget_for = size_t{64} << 20) {
  LoaderOptions o;
  o.virtual_seed = seed, o.workers = 1 + seed.value_or(2) % 4, o.io = 1 + seed.value_or(1) % 3;
  o.ready = 1 + seed.value_or(2) % 4, o.memory_budget = budget_for, o.map_files = maps;
  return o;
}

Dataset mapped_batches(Dataset d) { return d.shuffle({.seed = 3}).repeat(2).batch(7); }

TEST_F(LoaderMaps, AreTheSameOnEverySchedule) {
  const MapOutcome read = run(map_options(0, false), mapped_batches);
  ASSERT_EQ(read.rows.size(), 2 * kMappedRecords) << read.failure;
  EXPECT_EQ(read.mapped, 0u);
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const MapOutcome seen = run(map_options(seed, true), mapped_batches);
    ASSERT_TRUE(seen.rows == read.rows && seen.failure == read.failure) << seed;
    EXPECT_GT(seen.mapped, kMappedRecords) << seed;
    EXPECT_LT(seen.mapped, 2 * kMappedRecords) << seed;  // the short ones are read
  }
  EXPECT_TRUE(run(map_options(std::nullopt, true), mapped_batches).rows == read.rows);
}

TEST_F(LoaderMaps, AreTheSameInAnyBudget) {
  const auto verbs = [](Dataset d) { return d.batch(7); };
  for (const size_t budget_for : {100 << 10, 900 << 10, 2 << 20})
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const MapOutcome read = run(map_options(seed, false, budget_for), verbs),
                       seen = run(map_options(seed, true, budget_for), verbs);
      EXPECT_TRUE(seen.rows == read.rows) << budget_for << " " << seed << " " << seen.rows.size();
      // Which of the missing records is reported depends on timing.
      EXPECT_EQ(seen.failure.substr(0, 13), read.failure.substr(0, 13));
    }
}

TEST_F(LoaderMaps, OfAFileThatIsCutAreAnErrorOrWhatItHad) {
  const MapOutcome whole = run(map_options(0, false), mapped_batches);
  int failed = 0;
  for (unsigned i = 0; i < 40; ++i) {
    const auto cut = static_cast<off_t>(i * 150'001 % 6'000'000);
    // Not before it is open: a file that is short then has fewer records, in another order.
    std::thread other;
    const MapOutcome seen = run(map_options(std::nullopt, true), mapped_batches, [&] {
      other = std::thread([&] {
        ::usleep(i * 150);
        EXPECT_EQ(::truncate(path().c_str(), cut), 0);
      });
    });
    other.join();
    failed += seen.is_torn || !seen.failure.empty();
    ASSERT_LE(seen.rows.size(), whole.rows.size());
    EXPECT_TRUE(std::equal(seen.rows.begin(), seen.rows.end(), whole.rows.begin())) << i;
    EXPECT_TRUE(seen.is_torn || !seen.failure.empty() || seen.rows.size() == whole.rows.size()) << i;
    write();
  }
  EXPECT_GT(failed, 0);
}

// Records that are copied out of maps by several threads at once; also with shuffle(blocks=).
// TFRecord and LMDB.
class LoaderMapsOfLittle : public LoaderMaps, public ::testing::WithParamInterface<bool> {
 protected:
  LoaderMapsOfLittle() {
    records_.clear();
    for (size_t i = 0; i < 900; ++i)
      records_.emplace_back(1 + i * 79 % 9'000, static_cast<char>('a' + i % 26));
    write();
  }
  std::string path() const override { return GetParam() ? folder_ / "x.mdb" : LoaderMaps::path(); }
  int field() const override { return GetParam() ? 1 : 0; }
  void write() const override {
    LmdbMaker::Pairs pairs;
    for (const std::string& record : records_)
      pairs.emplace_back(std::to_string(1000 + pairs.size()), record);
    if (GetParam())
      folder_.write("x.mdb", LmdbMaker(4096).make(pairs));
    else
      LoaderMaps::write();
  }
  static LoaderOptions threads(bool maps) {
    LoaderOptions o;
    o.workers = 3, o.io = 3, o.ready = 4, o.memory_budget = size_t{64} << 20, o.map_files = maps;
    return o;
  }
  static Dataset verbs(Dataset d) {
    return d.concatenate(d).shuffle({.seed = 3, .blocks = 2}).repeat(3).batch(7);
  }
};

TEST_P(LoaderMapsOfLittle, AreTheSameAsThoseThatAreRead) {
  const MapOutcome read = run(threads(false), verbs);
  ASSERT_EQ(read.rows.size(), 6 * records_.size()) << read.failure;
  for (int i = 0; i < 3; ++i) {
    const MapOutcome copied = run(threads(true), verbs);
    EXPECT_TRUE(copied.rows == read.rows) << copied.failure;
    EXPECT_EQ(copied.mapped, 0u);
  }
  for (uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_TRUE(run(map_options(seed, true), verbs).rows == read.rows);
}

TEST_P(LoaderMapsOfLittle, OfAFileThatIsCutAreAnErrorOrWhatItHad) {
  const MapOutcome whole = run(threads(false), verbs);
  int failed = 0;
  for (unsigned i = 0; i < 20; ++i) {
    std::thread other;
    const MapOutcome seen = run(threads(true), verbs, [&] {
      other = std::thread([&] {
        ::usleep(i * 400);
        EXPECT_EQ(::truncate(path().c_str(), static_cast<off_t>(i * 150'001 % 4'000'000)), 0);
      });
    });
    other.join();
    failed += !seen.failure.empty();
    ASSERT_LE(seen.rows.size(), whole.rows.size());
    EXPECT_TRUE(std::equal(seen.rows.begin(), seen.rows.end(), whole.rows.begin())) << i;
    EXPECT_TRUE(!seen.failure.empty() || seen.rows.size() == whole.rows.size()) << i;
    write();
  }
  EXPECT_GT(failed, 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, LoaderMapsOfLittle, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Lmdb" : "TfRecord"; });

TEST(PoolLend, IsChargedUntilItIsDroppedOrHandedOver) {
  const auto pool = Pool::make(1000);
  const std::vector<std::byte> bytes(600);
  const auto owner = std::make_shared<int>(0);
  BufferPtr lent = pool->lend(bytes, bytes.size(), owner, Use::encoded);
  ASSERT_TRUE(lent);
  EXPECT_EQ(lent->data(), bytes.data());
  EXPECT_EQ(lent->size(), 600u);
  EXPECT_EQ(pool->ledger().in_use, 600u);
  EXPECT_FALSE(pool->lend(bytes, bytes.size(), owner, Use::encoded));
  EXPECT_EQ(owner.use_count(), 2);
  pool->hand_over(std::array<const Buffer*, 1>{lent.get()});
  EXPECT_EQ(pool->ledger().in_use, 0u);
  EXPECT_EQ(pool->ledger().handed_over, 600u);
  lent = nullptr;
  EXPECT_EQ(pool->ledger().handed_over, 0u);
  EXPECT_EQ(owner.use_count(), 1);
  lent = pool->lend(bytes, bytes.size(), owner, Use::encoded);
  lent = nullptr;
  EXPECT_EQ(pool->ledger().in_use + pool->ledger().retained, 0u);
}

}  // namespace
}  // namespace headrace
