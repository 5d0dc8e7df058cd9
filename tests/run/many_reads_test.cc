// Small batches of rows that are read, several in a ticket: the same elements, states and failures as one by
// one, on any schedule and in any budget that has room for one batch at a time.
#include <gtest/gtest.h>

#include <map>

#include "headrace/formats/lmdb/testing.h"
#include "headrace/formats/tfrecord/testing.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

constexpr size_t kRecords = 500;

struct ManyReadsOutcome {
  std::vector<std::string> elements, states;
  std::string failure;
  int64_t reads = 0;
};

void add_text(const Tensor& field, std::string& out) {
  if (field.rows)
    for (const Tensor& row : *field.rows) add_text(row, out);
  else
    out.append(reinterpret_cast<const char*>(field.view().data), field.view().size_bytes());
  out += field.shape.text();
}

std::string text_of_batch(const Sample& sample) {
  std::string out = std::to_string(sample.id.index) + ": ";
  for (const Tensor& field : sample.fields) add_text(field, out);
  return out;
}

class ManyReads : public ::testing::Test {
 protected:
  ManyReads() {
    for (size_t i = 0; i < kRecords; ++i) {
      const size_t size = i % 97 == 5 ? 20'000 : i * 7919 % 300;  // some are too large to be read together
      records_.emplace_back(size, static_cast<char>('a' + i % 26));
    }
    folder_.write("x.tfrecord", framed(records_));
    std::vector<std::string> growing(kRecords, std::string(10, 'x'));
    for (size_t i = kRecords - 100; i < kRecords; ++i) growing[i].assign(15'000, 'y');
    folder_.write("growing.tfrecord", framed(growing));
    std::string lines = "a,b\n";
    for (size_t i = 0; i < kRecords; ++i) lines += std::to_string(i) + "," + std::to_string(i * i) + "\n";
    folder_.write("x.csv", lines);
    LmdbMaker::Pairs pairs;
    for (size_t i = 0; i < kRecords; ++i) pairs.emplace_back(std::to_string(10'000 + i), records_[i]);
    folder_.write("x.mdb", LmdbMaker(4096).make(pairs));
  }

  Dataset records() const { return read(folder_ / "x.tfrecord"); }
  std::map<std::string, Dataset> datasets() const {
    const Dataset r = records(), numbers = read(folder_ / "x.csv"), pairs = read(folder_ / "x.mdb");
    return {
        {"in order", r.batch(4)},
        {"one a batch", r.batch(1)},
        {"shuffled", r.shuffle({.seed = 3}).repeat(2).batch(3, {.drop_last = true})},
        {"batches shuffled", r.batch(7).shuffle({.seed = 1}).repeat(2)},
        {"batches dealt", r.batch(5).shard({.rank = 1, .world = 3})},
        {"rows dealt", r.shuffle({.seed = 2}).shard({.rank = 2, .world = 3, .even = Even::pad}).batch(4)},
        {"two files", r.concatenate(r.take(50)).batch(6).take(70).skip(5)},
        {"growing", read(folder_ / "growing.tfrecord").batch(4)},
        {"ragged", r.batch(4, {.ragged = true})},
        {"numbers", numbers.batch(8)},
        {"unaligned numbers", numbers.batch(3)},
        {"keys and values", pairs.shuffle({.seed = 5}).batch(8)},
        {"batches of batches", r.batch(4).batch(3)},
        {"short ones between", numbers.take(27).batch(8).repeat(9)},
        {"held by a window", r.batch(4).shuffle({.seed = 1, .window = 50})},
    };
  }

  TemporaryFolder folder_;
  std::vector<std::string> records_;
};

LoaderOptions many_options(std::optional<uint64_t> seed, bool maps = true, size_t budget = size_t{64} << 20) {
  LoaderOptions o;
  o.virtual_seed = seed, o.workers = 1 + seed.value_or(1) % 3, o.io = 1 + seed.value_or(1) % 3;
  o.memory_budget = budget, o.map_files = maps;
  return o;
}

LoaderOptions one_by_one(LoaderOptions o) {
  o.rewrites_off = {"hoist_over_batch"};
  return o;
}

ManyReadsOutcome run_many(const Dataset& dataset, const LoaderOptions& options, const Value* from = nullptr,
                          size_t most = ~size_t{0}) {
  ManyReadsOutcome out;
  auto loader = dataset.loader(options);
  if (!loader.ok()) return out.failure = loader.status().text(), out;
  if (from) {
    const Status loaded = (*loader)->load(*from);
    if (!loaded.ok()) return out.failure = loaded.text(), out;
  }
  while (out.elements.size() < most) {
    Sample sample;
    const auto more = (*loader)->next(sample);
    if (!more.ok()) out.failure = more.status().text();
    if (!more.ok() || !*more) break;
    out.elements.push_back(text_of_batch(sample));
    out.states.push_back((*loader)->save()->dump());
  }
  const auto report = (*loader)->report();
  if (const Value* io = report.find("io")) out.reads = *io->find("reads")->integer();
  return out;
}

void expect_same(const ManyReadsOutcome& got, const ManyReadsOutcome& expected, const std::string& what) {
  ASSERT_EQ(got.failure, expected.failure) << what;
  ASSERT_TRUE(got.elements == expected.elements) << what;
  ASSERT_TRUE(got.states == expected.states) << what;
}

TEST_F(ManyReads, AreTheSameElementsAndStatesOnAnySchedule) {
  for (const auto& [name, dataset] : datasets()) {
    const ManyReadsOutcome expected = run_many(dataset, one_by_one(many_options(0)));
    ASSERT_FALSE(expected.elements.empty()) << name << ": " << expected.failure;
    for (uint64_t seed = 0; seed < 40; ++seed)
      expect_same(run_many(dataset, many_options(seed, seed % 2 == 0)), expected,
                  name + std::to_string(seed));
    for (const bool maps : {false, true})
      expect_same(run_many(dataset, many_options({}, maps)), expected, name);
  }
}

TEST_F(ManyReads, BeginWhereMemoryDoes) {
  for (const char* name : {"numbers", "unaligned numbers", "short ones between"}) {
    auto loader = *datasets().at(name).loader(many_options({}));
    Sample sample;
    while (*loader->next(sample))
      for (const Tensor& column : sample.fields)
        ASSERT_EQ(reinterpret_cast<uintptr_t>(column.view().data) % 64, 0u)
            << name << ", batch " << sample.id.index;
  }
}

TEST_F(ManyReads, GoOnFromEveryElement) {
  uint64_t seed = 0;
  for (const auto& [name, dataset] : datasets()) {
    const ManyReadsOutcome expected = run_many(dataset, one_by_one(many_options(0)));
    for (size_t at = 1; at <= expected.elements.size(); at += 1 + at / 4) {
      const auto state = Value::parse(expected.states[at - 1]);
      ASSERT_TRUE(state.ok());
      const ManyReadsOutcome rest = run_many(dataset, many_options(++seed), &*state);
      const auto begin = expected.elements.begin() + static_cast<std::ptrdiff_t>(at);
      if (at == expected.elements.size()) continue;
      ASSERT_TRUE(rest.elements == std::vector<std::string>(begin, expected.elements.end()))
          << name << " from " << at << ": " << rest.failure;
    }
  }
}

TEST_F(ManyReads, ADamagedRecordFailsItsBatchAlone) {
  for (const size_t damaged : {0, 3, 4, 201, 499}) {
    std::string file = framed(records_);
    size_t at = 0;
    for (size_t i = 0; i < damaged; ++i) at += records_[i].size() + 16;
    file[at + 12 + records_[damaged].size()] ^= 1;  // in its checksum
    folder_.write("x.tfrecord", file);
    for (const Dataset& dataset : {records().batch(4), records().shuffle({.seed = 3}).batch(6)}) {
      const ManyReadsOutcome expected = run_many(dataset, one_by_one(many_options(0)));
      ASSERT_NE(expected.failure, "");
      for (uint64_t seed = 0; seed < 20; ++seed)
        expect_same(run_many(dataset, many_options(seed, seed % 2 == 0)), expected, std::to_string(damaged));
      expect_same(run_many(dataset, many_options({})), expected, std::to_string(damaged));
    }
  }
}

// One by one, too, on all of these: with so little memory, each schedule takes a different path.
TEST_F(ManyReads, NeedNoMoreMemoryThanOne) {
  for (const auto& [name, dataset] : datasets())
    for (size_t budget = size_t{4} << 10; budget < size_t{1} << 20; budget += budget / 2) {
      const ManyReadsOutcome expected = run_many(dataset, one_by_one(many_options(1, false, budget)));
      if (!expected.failure.empty()) continue;
      for (uint64_t seed = 0; seed < 4; ++seed) {
        const std::string what = name + " in " + std::to_string(budget) + " on " + std::to_string(seed);
        expect_same(run_many(dataset, one_by_one(many_options(seed, false, budget))), expected, what);
        expect_same(run_many(dataset, many_options(seed, false, budget)), expected, what);
      }
    }
}

// Tickets of many batches: their rows are read together.
TEST_F(ManyReads, AreFewerReads) {
  const ManyReadsOutcome one = run_many(records().batch(4), one_by_one(many_options({}, false))),
                         many = run_many(records().batch(4), many_options({}, false));
  EXPECT_GT(one.reads, 100);
  EXPECT_LT(many.reads, one.reads / 2);
}

TEST_F(ManyReads, AreNotMadeWhereTheUserSaysHowMuchIsMadeAhead) {
  LoaderOptions few = many_options({}, false);
  few.ready = 2;
  EXPECT_GT(run_many(records().batch(4), few).reads, 100);
}

}  // namespace
}  // namespace headrace
