// The executor on the virtual scheduler: every schedule, cancellation and resume gives the same elements.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "headrace/headrace.h"
#include "headrace/io/testing/cache_in.h"
#include "headrace/io/testing/temporary_folder.h"
#include "headrace/run/engine/crew.h"
#include "headrace/run/work/sample_body.h"
#include "tests/run/sweeps.h"

namespace headrace {
namespace {

std::string text_of(const Sample& sample) {
  std::string out;
  for (const Tensor& field : sample.fields) {
    const View v = field.view();
    if (v.data) out.append(reinterpret_cast<const char*>(v.data), v.size_bytes());
    if (field.rows)
      for (const Tensor& row : *field.rows)
        out.append(reinterpret_cast<const char*>(row.view().data), row.view().size_bytes());
    out += v.shape.text();
  }
  return out;
}

std::vector<std::string> drain(Loader& loader) {
  std::vector<std::string> out;
  Sample sample;
  while (true) {
    auto more = loader.next(sample);
    EXPECT_TRUE(more.ok()) << more.status().text();
    if (!more.ok() || !*more) break;
    out.push_back(text_of(sample));
    sample = {};
  }
  return out;
}

Symbol apply1(const char* op, Symbol a, Params params) { return a.apply(op, params); }

// A chain that decodes, crops, resizes and flips in one pass, over files of every kind.
Dataset images() {
  const auto augment = [](const Fields& s) -> Outputs {
    const Symbol crop = apply1("decode_image", s["image"], {}).apply("random_resized_crop", {{"size", 8}});
    return {{"x", crop.apply("random_flip").apply("normalize")}};
  };
  return read(HEADRACE_TEST_GOLDEN_IMAGES, "images").shuffle({.seed = 7}).map(augment).repeat(3);
}

// The numbers below `size`, one after the other; `tells`: passes report their position.
class Counting final : public Generator {
 public:
  Counting(int64_t size, bool tells)
      : schema_{{"value"}, {{DType::i64, {}}}, "0"}, size_(size), tells_(tells) {}
  const Schema& schema() const override { return schema_; }
  Result<std::unique_ptr<Pass>> start(uint64_t) const override {
    return std::unique_ptr<Pass>(std::make_unique<Count>(size_, tells_));
  }
  Value describe() const override { return Value::Object{{"slot", "counting"}}; }
  std::string fingerprint() const override { return "counting"; }

 private:
  class Count final : public Pass {
   public:
    Count(int64_t size, bool tells) : size_(size), tells_(tells) {}
    Result<bool> next(std::vector<Tensor>& fields) override {
      if (at_ == size_) return false;
      fields.assign(1, scalar(at_++));
      return true;
    }
    Result<std::optional<std::string>> tell() override {
      return tells_ ? std::optional(std::to_string(at_)) : std::nullopt;
    }
    Status seek(const std::string& place) override {
      at_ = std::stoll(place);
      return {};
    }

   private:
    int64_t size_, at_ = 0;
    bool tells_;
  };

  Schema schema_;
  int64_t size_;
  bool tells_;
};

// Running sums; the verbs around it need not wait for one another.
Dataset sums(const Dataset& data) {
  return data.scan({{"sum", scalar(int64_t{0})}}, [](const Fields& state, const Fields& element) {
    const Symbol sum = apply("add_fields", {state["sum"], element["value"]})[0];
    return Stepped{{{"sum", sum}}, {{"value", sum}}};
  });
}

// Verbs that carry a state from element to element, gather depending on the data, or have no index.
std::map<std::string, Dataset> carrying() {
  const auto below = [](int64_t n) {
    return [n](const Fields& s) { return apply1("less", s["value"], {{"value", n}}); };
  };
  const auto value = [](const Fields& s) { return s["value"]; };
  const auto values = [](const Fields& s) { return Outputs{{"value", s["value"]}}; };
  const Dataset base = range(100);
  const Dataset rows = base.shuffle({.seed = 3}).batch(3).concatenate(base.take(40).batch(5));
  BucketOptions sized, tokens;
  sized.boundaries = {2, 4}, sized.sizes = {2, 3, 4};
  tokens.token_budget = 12, tokens.pad.fill = -1;
  return {
      {"take_while", base.take_while(below(37)).repeat(2).batch(8)},
      {"unique", base.repeat(2).shuffle({.seed = 4}).unique(values).repeat(2).batch(7)},
      {"scan", sums(base.filter(below(70))).repeat(2).batch(4)},
      {"scan of a scan", sums(sums(base.shuffle({.seed = 1}))).filter(below(20000))},
      {"group", base.filter(below(60)).batch(2).unbatch().group_by_window(value, 2).repeat(2)},
      {"buckets", rows.bucket_by_length("value", sized).repeat(2)},
      {"token budget", rows.bucket_by_length("value", tokens)},
      {"first fit", rows.pack({{"value", 9}}, {.bins = 3}).repeat(2)},
      {"best fit", rows.pack({{"value", 11}}, {.strategy = PackStrategy::best_fit, .bins = 4})},
      {"split", rows.pack({{"value", 7}}, {.strategy = PackStrategy::concat_and_split}).repeat(2)},
      {"padded", base.shuffle({.seed = 2}).batch(3).padded_batch(4, {.fill = 7})},
      {"interleave",
       interleave({base.take(20), range(7), range(500, 511)}, {2, 3}).shuffle({.seed = 1}).batch(4)},
      {"streams in turns",
       interleave({sums(base.filter(below(20))), sums(range(7)), sums(range(50, 61))}, {2, 3}).batch(4)},
      {"generator", from_generator(std::make_shared<Counting>(90, false)).repeat(2).batch(7)},
      {"generator that tells", sums(from_generator(std::make_shared<Counting>(90, true))).batch(7)},
  };
}

std::map<std::string, Dataset> datasets() {
  const auto plus = [](const Fields& s) { return Outputs{{"x", apply1("add", s["value"], {{"value", 1}})}}; };
  const auto odd = [](const Fields& s) { return apply1("less", s["value"], {{"value", 60}}); };
  const Dataset base = range(100);
  std::map<std::string, Dataset> out = {
      {"batch", base.map(plus).shuffle({.seed = 3}).batch(7)},
      {"unbatched", base.shuffle({.seed = 3}).map(plus)},
      {"repeat", base.shuffle({.seed = 1}).repeat(2).batch(16, {.drop_last = true}).repeat(2)},
      {"filter", base.shuffle({.seed = 4}).filter(odd).batch(8)},
      {"window", base.shuffle({.seed = 5, .window = 9}).batch(4)},
      {"filter repeat take", base.filter(odd).take(33).repeat(2).skip(3).batch(5)},
      {"concatenate", base.take(20).filter(odd).concatenate(range(1000, 1030)).batch(6)},
      {"concatenate at the root", base.take(20).filter(odd).concatenate(base.take(7).filter(odd))},
      {"filtered away", base.skip(60).filter(odd).concatenate(base.skip(55).filter(odd))},
      {"unbatch", base.batch(5).unbatch().shuffle({.seed = 2, .window = 6}).take(70).batch(3)},
      {"batches of batches", base.batch(4).batch(3)},
      {"shard", base.shuffle({.seed = 9}).shard({.rank = 1, .world = 3}).batch(4)},
      {"images", images().batch(4)},
      {"zip", zip({{"x", base.shuffle({.seed = 1})}, {"y", range(300, 370)}}).batch(8)},
      {"zip of streams", base.filter(odd).zip(range(1000)).enumerate(7)},
      {"zip of images", images().zip(base).batch(4)},
      {"mix", mix({base.take(40), range(1000, 1030)}, {.weights = {2, 1}, .stop = MixStop::cycle}).batch(7)},
      {"mix of streams",
       mix({base.filter(odd), range(1000, 1030), base.skip(60).filter(odd)},
           {.schedule = {{0, {1, 2, 1}}, {20, {3, 1, 1}}}, .stop = MixStop::all_exhausted})},
      {"cycle of streams",
       mix({base.filter(odd), range(1000, 1010)}, {.seed = 2, .stop = MixStop::cycle}).batch(5)},
      {"choose", choose({base.filter(odd), range(50)}, {1, 0, 0, 1, 1, 0, 0, 0, 1}).batch(2)},
      {"windows", base.shuffle({.seed = 3}).window(4, {.shift = 3, .stride = 2}).batch(2, {.ragged = true})},
      {"windows of a stream", base.filter(odd).window(5, {.shift = 2})},
      {"windows apart", base.filter(odd).window(2, {.shift = 5, .drop_last = true})},
      {"window that holds all", base.filter(odd).shuffle({.seed = 4, .window = 1000})},
      {"sample", base.sample(std::vector<double>(100, 1.5), {.num = 60, .seed = 9}).batch(9)},
      {"sort", base.sort_by(std::vector<double>(100, 0), true).shuffle({.seed = 2}).batch(9)},
  };
  out.merge(carrying());
  return out;
}

LoaderOptions options(std::optional<uint64_t> seed, size_t workers = 3, size_t ready = 3) {
  LoaderOptions o;
  o.virtual_seed = seed, o.workers = workers, o.io = 2, o.ready = ready, o.memory_budget = size_t{64} << 20;
  return o;
}

std::unique_ptr<Loader> make(const Dataset& dataset, LoaderOptions o) {
  auto loader = dataset.loader(std::move(o));
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  return *std::move(loader);
}

// Entropy points of JPEG files go to a folder of this test.
class ExecutorTest : public ::testing::Test {
  const TemporaryFolder folder_;
  const CacheIn cache_{folder_.path()};
};

TEST_F(ExecutorTest, EveryScheduleGivesTheSameElements) {
  for (const auto& [name, dataset] : datasets()) {
    const auto expected = drain(*make(dataset, options(std::nullopt, 1, 1)));
    ASSERT_FALSE(expected.empty()) << name;
    for (uint64_t seed = 0; seed < testing::of_sweep(200); ++seed)
      ASSERT_TRUE(drain(*make(dataset, options(seed, 1 + seed % 4, 1 + seed % 5))) == expected)
          << name << " schedule " << seed;
  }
}

TEST_F(ExecutorTest, RealThreadsGiveTheSameElements) {
  for (const auto& [name, dataset] : datasets()) {
    const auto expected = drain(*make(dataset, options(0)));
    for (size_t workers : {0, 1, 2, 4, 8})
      for (size_t ready : {1, 2, 5})
        ASSERT_TRUE(drain(*make(dataset, options(std::nullopt, workers, ready))) == expected) << name;
  }
}

TEST_F(ExecutorTest, RewritesChangeNothing) {
  for (const auto& [name, dataset] : datasets()) {
    const auto expected = drain(*make(dataset, options(1)));
    for (const char* off : {"all", "fuse_maps", "sink_order_verbs", "hoist_over_batch", "write_into_slot",
                            "fuse_decode_crop_resize_flip_normalize"}) {
      LoaderOptions o = options(2);
      o.rewrites_off = {off};
      ASSERT_TRUE(drain(*make(dataset, o)) == expected) << name << " without " << off;
    }
  }
}

// Stop after every element, load the state in a new loader under another schedule, continue: the rest is
// exact.
TEST_F(ExecutorTest, ResumesExactlyAtEveryElement) {
  uint64_t seed = 0;
  for (const auto& [name, dataset] : datasets()) {
    const auto expected = drain(*make(dataset, options(7)));
    for (size_t at = 0; at <= expected.size(); ++at) {
      auto first = make(dataset, options(seed++, 1 + at % 4));
      std::vector<std::string> seen;
      Sample sample;
      ASSERT_TRUE(first->begin().ok());
      for (size_t i = 0; i < at; ++i) {
        ASSERT_TRUE(*first->next(sample));
        seen.push_back(text_of(sample));
      }
      const auto state = first->save();
      ASSERT_TRUE(state.ok());
      first.reset();
      const bool alone = at % 5 == 0;  // no schedule: the caller does all the work
      auto second = make(dataset, alone ? options(std::nullopt, 0) : options(seed++, 1 + at % 3, 1 + at % 4));
      const Status loaded = second->load(*state);
      ASSERT_TRUE(loaded.ok()) << name << ": " << loaded.text();
      ASSERT_EQ(second->save()->dump(), state->dump());
      if (at == expected.size() && (state->find("finished"))) continue;
      for (const std::string& s : drain(*second)) seen.push_back(s);
      ASSERT_TRUE(seen == expected) << name << " stopped at " << at << ", state " << state->dump();
    }
  }
}

TEST_F(ExecutorTest, UnorderedDeliversEachElementOnce) {
  const auto carry = carrying();
  const std::set<std::string> follow_the_order{"window",
                                               "unbatch",
                                               "filter repeat take",
                                               "filter",
                                               "concatenate",
                                               "zip of streams",
                                               "mix of streams",
                                               "cycle of streams",
                                               "windows of a stream",
                                               "windows apart",
                                               "choose"};
  for (const auto& [name, dataset] : datasets()) {
    if (carry.contains(name) && !(*dataset.node())->indexed) continue;
    if (follow_the_order.contains(name)) continue;
    auto expected = drain(*make(dataset, options(0)));
    std::sort(expected.begin(), expected.end());
    for (uint64_t seed = 0; seed < testing::of_sweep(50); ++seed) {
      LoaderOptions o = options(seed);
      o.deterministic = false;
      auto got = drain(*make(dataset, o));
      std::sort(got.begin(), got.end());
      ASSERT_EQ(got, expected) << name;
    }
  }
}

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST_F(ExecutorTest, CancellationLeavesNothingBehindAtAnyPoint) {
  const auto threads = threads_of_this_process();
  for (const auto& [name, dataset] : datasets())
    for (uint64_t seed = 0; seed < testing::of_sweep(40); ++seed) {
      auto loader = make(
          dataset, options(seed % 2 ? std::optional<uint64_t>(seed) : std::nullopt, seed % 4 == 2 ? 0 : 3));
      Sample sample;
      for (uint64_t i = 0; i < seed % 7; ++i) (void)loader->next(sample);
      loader->stop();
      // A joined thread may still be listed for a moment.
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
      while (threads_of_this_process() != threads && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ASSERT_EQ(threads_of_this_process(), threads) << name << " " << seed;
      loader.reset();  // ASan's leak check covers the rest
    }
}

TEST_F(ExecutorTest, TheNextIterationIsTheNextEpoch) {
  const Dataset dataset = range(50).shuffle({.seed = 1}).batch(5);
  auto loader = make(dataset, options(0));
  const auto first = drain(*loader);
  ASSERT_TRUE(loader->begin().ok());
  const auto second = drain(*loader);
  EXPECT_NE(first, second);
  auto twice = make(range(50).shuffle({.seed = 1}).batch(5).repeat(2), options(0));
  auto both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(drain(*twice), both);
}

TEST_F(ExecutorTest, EveryWorldSizeSeesEverySampleOnce) {
  const Dataset base = range(101).shuffle({.seed = 6});
  for (uint32_t world = 1; world <= 8; ++world) {
    std::multiset<int64_t> seen;
    std::set<size_t> steps;
    for (uint32_t rank = 0; rank < world; ++rank) {
      auto loader = make(base.shard({rank, world, Even::wrap}).batch(4), options(rank));
      Sample sample;
      size_t n = 0;
      for (; *loader->next(sample); ++n) {
        const View v = sample.fields[0].view();
        for (int64_t i = 0; i < v.shape[0]; ++i) seen.insert(v.as<int64_t>()[i]);
      }
      steps.insert(n);
    }
    EXPECT_EQ(steps.size(), 1u) << world;
    EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 101u);
    EXPECT_LT(seen.size(), 101u + world);
  }
}

TEST_F(ExecutorTest, ABatchOverTheBudgetIsAClearError) {
  LoaderOptions o = options(0);
  o.memory_budget = 4096;
  auto loader = make(range(100000).batch(50000), o);
  const int line = __LINE__ - 1;  // errors name it
  Sample sample;
  const auto got = loader->next(sample);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(
      got.status().text(),
      "batch of 50000: needs 400000 bytes, but the memory budget is 4096; use a smaller batch or a larger "
      "memory_budget (batch at executor_test.cc:" +
          std::to_string(line) + ")");
}

TEST_F(ExecutorTest, OfSeveralSamplesThatFailEveryScheduleNamesTheFirst) {
  const TemporaryFolder folder;
  for (int i = 0; i < 60; ++i) {
    const std::string name = folder.path() + "/" + std::to_string(100 + i) + ".jpg";
    if (i % 7 == 0)
      std::ofstream(name) << "no image";
    else
      std::filesystem::copy_file(HEADRACE_TEST_GOLDEN_IMAGES "/c_gray.jpg", name);
  }
  const auto decode = [](const Fields& s) -> Outputs {
    return {{"x", s["image"].apply("decode_image").apply("resize", {{"size", 4}})}};
  };
  const Dataset data = read(folder.path(), "images").shuffle({.seed = 3}).map(decode).batch(20);
  std::set<std::string> said;
  for (uint64_t seed = 0; seed < testing::of_sweep(200); ++seed) {
    const auto loader =
        make(data, options(seed % 20 == 0 ? std::nullopt : std::optional(seed), seed % 5, 1 + seed % 3));
    Sample sample;
    Result<bool> more = true;
    while ((more = loader->next(sample)).ok() && *more) continue;
    said.emplace(more.status().text());
  }
  ASSERT_EQ(said.size(), 1u) << *said.begin() << "\n" << *said.rbegin();
  EXPECT_NE(said.begin()->find(".jpg"), std::string::npos) << *said.begin();
}

// A feeder that fails with an out-of-memory error of the machine.
class Exhausted final : public Stream {
 public:
  Pull pull(Item&, Status&, uint64_t) override { throw std::bad_alloc(); }
  void start(uint64_t, uint32_t, bool) override {}
  void save(Cursor& cursor) const override { cursor.push_back(0); }
  void restore(CursorReader&) override {}
  void describe(StateForm&) const override {}
  void stages(std::vector<Stage*>&) override {}
};

TEST_F(ExecutorTest, AnExceptionUnderTheMutexEndsTheRunAndNothingElse) {
  for (const bool threads : {false, true}) {
    const auto pool = Pool::make(1 << 20);
    Executor executor(std::make_unique<Stage>(std::make_unique<Exhausted>(), std::make_unique<SampleBody>()),
                      pool, 3, false);
    Team team({.pool = pool.get()});
    const Settings settings{1, 1, 3};
    Steer steer(settings, {settings, settings}, 1, false, {});
    const auto crew =
        threads ? threads_crew(executor, team, steer, nullptr) : virtual_crew(executor, team, steer, 1);
    Sample sample;
    Status failure;
    EXPECT_EQ(crew->next(sample, failure, std::nullopt), Pull::error);
    EXPECT_EQ(failure.code(), Code::internal) << failure.text();
    crew->stop();
  }
}

}  // namespace
}  // namespace headrace
