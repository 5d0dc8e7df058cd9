// The executor over data that must be read: delays, short reads, errors, and a budget that is too small for
// everything at once.
#include <gtest/gtest.h>

#include "headrace/formats/opening/open.h"
#include "headrace/formats/tfrecord/testing.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/faulty_store.h"
#include "headrace/io/testing/memory_store.h"
#include "tests/oracle/small_images.h"

namespace headrace {
namespace {

constexpr int kFiles = 60;

std::shared_ptr<MemoryStore> files() {
  auto store = std::make_shared<MemoryStore>();
  for (int i = 0; i < kFiles; ++i)
    store->add("data/" + std::to_string(i % 3) + "/" + std::to_string(100 + i) + ".jpg",
               std::string(100 + (i * 7919) % 30000, char('a' + i % 26)));
  return store;
}

struct Outcome {
  std::vector<std::string> elements;
  Status failure;
  Value report;
  bool operator==(const Outcome& o) const {
    return elements == o.elements && failure.text() == o.failure.text();
  }
};

Outcome run_io(const std::shared_ptr<Store>& opened, std::shared_ptr<Store> store,
               const std::function<Dataset(Dataset)>& verbs, LoaderOptions options) {
  Outcome out;
  auto source = open_source(*opened, opened->info("data").ok() ? "data" : "records");
  EXPECT_TRUE(source.ok()) << source.status().text();
  const Dataset dataset = verbs(from_source(*source));
  EXPECT_TRUE(dataset.node().ok()) << dataset.node().status().text();
  auto loader = Loader::make(*dataset.node(), options, std::move(store));
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  Sample sample;
  while (true) {
    const auto more = (*loader)->next(sample);
    out.failure = more.status();
    if (!more.ok() || !*more) break;
    std::string text;
    for (const Tensor& field : sample.fields) {
      if (field.rows)
        for (const Tensor& row : *field.rows)
          text.append(reinterpret_cast<const char*>(row.view().data), row.view().size_bytes());
      else
        text.append(reinterpret_cast<const char*>(field.view().data), field.view().size_bytes());
    }
    out.elements.push_back(text);
    sample = {};
  }
  out.report = (*loader)->report();
  return out;
}

LoaderOptions io_options(std::optional<uint64_t> seed, size_t budget = size_t{64} << 20) {
  LoaderOptions o;
  o.virtual_seed = seed, o.workers = 1 + seed.value_or(2) % 4, o.io = 1 + seed.value_or(1) % 3,
  o.ready = 1 + seed.value_or(2) % 4;
  o.memory_budget = budget;
  return o;
}

Dataset batches(Dataset d) { return d.shuffle({.seed = 3}).batch(7); }

TEST(ExecutorReading, ShortReadsAndSchedulesChangeNothing) {
  const auto store = files();
  const Outcome expected = run_io(store, store, batches, io_options(0));
  ASSERT_EQ(expected.elements.size(), 9u);
  for (uint64_t seed = 1; seed < 60; ++seed) {
    auto faulty = std::make_shared<FaultyStore>(store, Faults{.seed = seed, .short_reads = 400});
    ASSERT_TRUE(run_io(store, faulty, batches, io_options(seed)) == expected) << seed;
  }
  ASSERT_TRUE(run_io(store, store, batches, io_options(std::nullopt)) == expected);
}

TEST(ExecutorReading, AnErrorIsTheSameOneOnEverySchedule) {
  const auto store = files();
  auto faulty = std::make_shared<FaultyStore>(store, Faults{.seed = 5, .errors = 60});
  const Outcome expected = run_io(store, faulty, batches, io_options(0));
  ASSERT_FALSE(expected.failure.ok());
  EXPECT_NE(expected.failure.text().find("data/"), std::string_view::npos) << expected.failure.text();
  EXPECT_NE(expected.failure.text().find("sample "), std::string_view::npos) << expected.failure.text();
  for (uint64_t seed = 1; seed < 40; ++seed)
    ASSERT_TRUE(run_io(store, faulty, batches, io_options(seed)) == expected) << seed;
}

TEST(ExecutorReading, SkipAndReplaceDeliverTheRestOnEverySchedule) {
  const auto store = files();
  auto faulty = std::make_shared<FaultyStore>(store, Faults{.seed = 5, .errors = 60});
  for (const OnErrorPolicy policy : {OnErrorPolicy::skip, OnErrorPolicy::replace}) {
    const auto verbs = [&](Dataset d) { return d.shuffle({.seed = 3}).on_error(policy).batch(7); };
    const Outcome expected = run_io(store, faulty, verbs, io_options(0));
    ASSERT_TRUE(expected.failure.ok()) << expected.failure.text();
    const char* counter = policy == OnErrorPolicy::skip ? "skipped" : "replaced";
    EXPECT_GT(*expected.report.find(counter)->integer(), 0);
    if (policy == OnErrorPolicy::replace) {
      EXPECT_EQ(expected.elements.size(), 9u);
    }
    for (uint64_t seed = 1; seed < 40; ++seed)
      ASSERT_TRUE(run_io(store, faulty, verbs, io_options(seed)) == expected) << seed;
  }
}

// Batches of 7 files of up to 30 kB: about 100 kB per batch. With 300 kB little can be read ahead, but all
// batches are delivered.
TEST(ExecutorReading, ATightBudgetChangesNothingButTheSpeed) {
  const auto store = files();
  const Outcome expected = run_io(store, store, batches, io_options(0));
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Outcome got = run_io(store, store, batches, io_options(seed, size_t{300} << 10));
    ASSERT_TRUE(got == expected) << seed << ": " << got.failure.text();
    EXPECT_LE(*got.report.find("memory")->find("peak")->integer(), 300 << 10);
  }
}

TEST(ExecutorReading, ASampleOverTheBudgetIsAClearError) {
  const auto store = files();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome got = run_io(store, store, batches, io_options(seed, size_t{20} << 10));
    ASSERT_EQ(got.failure.code(), Code::exhausted) << got.failure.text();
    EXPECT_NE(got.failure.text().find("memory budget is 20480"), std::string_view::npos)
        << got.failure.text();
  }
}

// Small records, which are read together, in one file with larger ones, which are not.
std::vector<std::string> records() {
  std::vector<std::string> out;
  for (int i = 0; i < 90; ++i) {
    const int size = i % 9 == 0 ? 17'000 + 100 * i : i % 7 == 0 ? 4000 + i : i % 5 * 40;
    out.push_back(std::to_string(i) + std::string(static_cast<size_t>(size), char('a' + i % 26)));
  }
  return out;
}

std::shared_ptr<MemoryStore> record_file(const std::string& bytes) {
  auto store = std::make_shared<MemoryStore>();
  store->add("records", bytes);
  return store;
}

std::vector<std::string> in_batches(const std::vector<std::string>& records, size_t size) {
  std::vector<std::string> out;
  for (size_t i = 0; i < records.size(); ++i) {
    if (i % size == 0) out.emplace_back();
    out.back() += records[i];
  }
  return out;
}

TEST(ExecutorReading, RecordsReadTogetherAreTheSameOnEverySchedule) {
  const auto store = record_file(framed(records()));
  const auto ordered = [](Dataset d) { return d.batch(32); };
  const auto shuffled = [](Dataset d) { return d.shuffle({.seed = 3}).batch(32); };
  const auto single = [](Dataset d) { return d.shuffle({.seed = 3}); };
  const Outcome expected = run_io(store, store, shuffled, io_options(0));
  const Outcome alone = run_io(store, store, single, io_options(0));
  EXPECT_EQ(in_batches(alone.elements, 32), expected.elements);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    auto faulty = std::make_shared<FaultyStore>(store, Faults{.seed = seed, .short_reads = 400});
    const size_t budget = seed % 2 == 0 ? size_t{64} << 20 : size_t{400} << 10;
    const Outcome got = run_io(store, faulty, ordered, io_options(seed, budget));
    ASSERT_TRUE(got.failure.ok()) << seed << ": " << got.failure.text();
    ASSERT_EQ(got.elements, in_batches(records(), 32)) << seed;
    ASSERT_TRUE(run_io(store, faulty, shuffled, io_options(seed, budget)) == expected) << seed;
    ASSERT_TRUE(run_io(store, faulty, single, io_options(seed, budget)) == alone) << seed;
  }
}

TEST(ExecutorReading, RecordsThatFitOneByOneNeedNotFitTogether) {
  const std::vector<std::string> many(42, std::string(5000, 'x'));  // 5120 bytes each, 16384 for three
  const auto store = record_file(framed(many));
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Outcome got = run_io(store, store, [](Dataset d) { return d.batch(3); }, io_options(seed, 15'900));
    ASSERT_TRUE(got.failure.ok()) << seed << ": " << got.failure.text();
    ASSERT_EQ(got.elements, in_batches(many, 3)) << seed;
  }
}

// One record is damaged, and the file is truncated after the 60th once it was opened: samples read together
// with those are delivered.
TEST(ExecutorReading, DamageCostsNoNeighboursOnAnySchedule) {
  const std::vector<std::string> all = records();
  const std::string whole = framed(all);
  const std::vector<std::string> before(all.begin(), all.begin() + 60);
  std::string damaged = whole.substr(0, framed(before).size() + 5);
  damaged[framed(std::vector(all.begin(), all.begin() + 12)).size() + 13] ^= 1;
  std::vector<std::string> good = before;
  good.erase(good.begin() + 12);
  const auto store = record_file(whole), cut = record_file(damaged);
  const auto skipping = [](Dataset d) { return d.on_error(OnErrorPolicy::skip).batch(16); };
  const Outcome raised = run_io(store, cut, [](Dataset d) { return d.batch(16); }, io_options(0));
  EXPECT_NE(raised.failure.text().find("record 12 at byte"), std::string_view::npos) << raised.failure.text();
  for (uint64_t seed = 0; seed < 40; ++seed) {
    ASSERT_EQ(run_io(store, cut, skipping, io_options(seed)).elements, in_batches(good, 16)) << seed;
    ASSERT_TRUE(run_io(
                    store, cut, [](Dataset d) { return d.batch(16); }, io_options(seed)) == raised)
        << seed;
  }
}

// A filter before the batch: two stages share a budget of a few batches.
// Two rows of a batch that do not fit together: one finds no memory while the other is being processed, and
// its failure is reported when that one is already done.
TEST(ExecutorReading, ASampleThatFitsAloneIsNeverTooLarge) {
  auto store = std::make_shared<MemoryStore>();
  for (int i = 0; i < 12; ++i)
    store->add("data/a/" + std::to_string(10 + i) + ".jpg",
               std::string(testing::kGrayJpeg) + std::string(60'000, '\0'));
  const auto decoded = [](Dataset d) {
    return d.map([](const Fields& s) { return Outputs{{"image", s["image"].apply("decode_image", {})}}; })
        .batch(4);
  };
  const Outcome expected = run_io(store, store, decoded, io_options(0));
  ASSERT_TRUE(expected.failure.ok()) << expected.failure.text();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    LoaderOptions tight = io_options(seed, 100'000);
    tight.workers = 3;
    const Outcome outcome = run_io(store, store, decoded, tight);
    ASSERT_TRUE(outcome.failure.ok()) << "schedule " << seed << ": " << outcome.failure.text();
    ASSERT_TRUE(outcome == expected) << "schedule " << seed;
  }
}

TEST(ExecutorReading, ATightBudgetAcrossStagesGoesOn) {
  const auto store = files();
  const auto verbs = [](Dataset d) {
    return d.with_ids()
        .filter([](const Fields& s) { return s["id"].apply("less", {{"value", 45}}); })
        .batch(5);
  };
  const Outcome expected = run_io(store, store, verbs, io_options(0));
  ASSERT_TRUE(expected.failure.ok()) << expected.failure.text();
  ASSERT_EQ(expected.elements.size(), 9u);
  for (uint64_t seed = 0; seed < 60; ++seed)
    for (const size_t budget : {size_t{800} << 10, size_t{1200} << 10}) {
      const Outcome got = run_io(store, store, verbs, io_options(seed, budget));
      ASSERT_TRUE(got == expected) << seed << " " << budget << ": " << got.failure.text();
    }
}

// Samples that fit come first, some of them filtered out; then one that does not fit. Work that waits for
// memory must not wait for elements that were handed out already.
TEST(ExecutorReading, AnOversizeSampleAfterGoodOnesIsAClearError) {
  auto store = std::make_shared<MemoryStore>();
  constexpr int kGood = 8;  // as many as a ticket holds, so that they are handed out first
  for (int i = 0; i < 2 * kGood; ++i)
    store->add("data/a/" + std::to_string(10 + i) + ".jpg",
               std::string(testing::kGrayJpeg) + std::string(i < kGood ? 10'000 : 400'000, '\0'));
  for (const int64_t kept : {0, 3, 100}) {
    const auto verbs = [&](Dataset d) {
      return d.with_ids().filter([&](const Fields& s) { return s["id"].apply("less", {{"value", kept}}); });
    };
    for (uint64_t seed = 0; seed < 100; ++seed) {
      LoaderOptions tight = io_options(seed, 150'000);
      tight.workers = 1 + seed % 4;
      const Outcome outcome = run_io(store, store, verbs, tight);
      ASSERT_EQ(outcome.failure.code(), Code::exhausted) << seed << ": " << outcome.failure.text();
      ASSERT_EQ(outcome.elements.size(), static_cast<size_t>(std::min<int64_t>(kept, kGood))) << seed;
    }
  }
}

// Later work must not hold the memory that earlier work waits for.
TEST(ExecutorReading, ATightBudgetAcrossAConcatenateGoesOn) {
  const auto store = files();
  const auto verbs = [](Dataset d) {
    const auto most = [&](int64_t n) {
      return d.with_ids()
          .filter([n](const Fields& s) { return s["id"].apply("less", {{"value", n}}); })
          .map([](const Fields& s) { return Outputs{{"image", s["image"]}}; });
    };
    return most(40).concatenate(most(25)).concatenate(most(50).batch(2, {.ragged = true}).unbatch());
  };
  const Outcome expected = run_io(store, store, verbs, io_options(0));
  ASSERT_TRUE(expected.failure.ok()) << expected.failure.text();
  for (uint64_t seed = 0; seed < 60; ++seed)
    for (const size_t budget : {size_t{300} << 10, size_t{500} << 10, size_t{1200} << 10}) {
      const Outcome got = run_io(store, store, verbs, io_options(seed, budget));
      ASSERT_TRUE(got == expected) << seed << " " << budget << ": " << got.failure.text();
    }
}

// The branch whose turn it is must not starve because others hold data that was read ahead.
TEST(ExecutorReading, ATightBudgetAcrossZipsAndMixesGoesOn) {
  const auto store = files();
  const auto most = [](Dataset d, int64_t n, int64_t read = 0) {
    const int64_t end = n + (read << 48);
    return d.with_ids()
        .filter([end](const Fields& s) { return s["id"].apply("less", {{"value", end}}); })
        .map([](const Fields& s) { return Outputs{{"image", s["image"]}}; });
  };
  const std::vector<std::function<Dataset(Dataset)>> pipelines{
      [&](Dataset d) { return most(d, 40).zip(most(d, 50, 1)); },
      [&](Dataset d) { return most(d, 40).zip(d); },
      [](Dataset d) { return d.zip(d.shuffle({.seed = 1})); },
      [](Dataset d) { return d.zip(d.shuffle({.seed = 1})).batch(3, {.ragged = true}); },
      [&](Dataset d) {
        return mix({most(d, 40), most(d, 25, 1), most(d, 60, 2)}, {.stop = MixStop::all_exhausted});
      },
      [&](Dataset d) { return mix({most(d, 5), most(d, 30, 1)}, {.stop = MixStop::cycle}); },
      [&](Dataset d) { return most(d, 40).window(3, {.shift = 2, .ragged = true}); },
  };
  for (size_t p = 0; p < pipelines.size(); ++p) {
    const Outcome expected = run_io(store, store, pipelines[p], io_options(0));
    ASSERT_TRUE(expected.failure.ok()) << expected.failure.text();
    ASSERT_FALSE(expected.elements.empty());
    for (uint64_t seed = 0; seed < 40; ++seed)
      for (const size_t budget : {size_t{300} << 10, size_t{500} << 10, size_t{1200} << 10}) {
        const Outcome got = run_io(store, store, pipelines[p], io_options(seed, budget));
        ASSERT_TRUE(got == expected) << p << " " << seed << " " << budget << ": " << got.failure.text();
      }
  }
}

// Batches of batches of fixed shape, and a map above a batch that must find memory twice.
TEST(ExecutorMemory, EveryRowOfABatchOfBatchesIsWritten) {
  auto loader = Loader::make(*range(16).batch(2, {.drop_last = true}).batch(2, {.drop_last = true}).node(),
                             io_options(3), file_store());
  ASSERT_TRUE(loader.ok());
  Sample sample;
  int64_t next = 0;
  while (*(*loader)->next(sample))
    for (int i = 0; i < 4; ++i) EXPECT_EQ(sample.fields[0].view().as<int64_t>()[i], next++);
  EXPECT_EQ(next, 16);
}

TEST(ExecutorMemory, AMapAboveABatchMayFindNoMemoryAtFirst) {
  const auto verbs = [] {
    return range(4000).batch(500).map([](const Fields& s) {
      return Outputs{{"x", s["value"].apply("cast", {{"dtype", "f64"}})},
                     {"y", s["value"].apply("add", {{"value", 1}})}};
    });
  };
  for (uint64_t seed = 0; seed < 60; ++seed) {
    LoaderOptions o = io_options(seed, size_t{13000} + seed * 500);
    auto loader = Loader::make(*verbs().node(), o, file_store());
    ASSERT_TRUE(loader.ok());
    Sample sample;
    int64_t next = 0;
    while (true) {
      const auto more = (*loader)->next(sample);
      if (!more.ok()) {
        EXPECT_EQ(more.status().code(), Code::exhausted) << more.status().text();
        break;
      }
      if (!*more) break;
      for (int i = 0; i < 500; ++i, ++next) {
        ASSERT_EQ(sample.fields[0].view().as<double>()[i], static_cast<double>(next));
        ASSERT_EQ(sample.fields[1].view().as<int64_t>()[i], next + 1);
      }
      sample = {};
    }
  }
}

}  // namespace
}  // namespace headrace
