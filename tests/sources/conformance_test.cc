#include "tests/sources/conformance.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "headrace/formats/testing/put_rows.h"
#include "headrace/io/archives/archive_store.h"
#include "headrace/io/testing/faulty_store.h"

namespace headrace::trial {
namespace {

std::vector<uint64_t> shuffled(uint64_t size, uint64_t seed) {
  std::vector<uint64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

// Refuses one read, the n-th over all files.
class FailingStore final : public Store {
 public:
  FailingStore(Store* below, int64_t failing) : below_(below), failing_(failing) {}
  bool failed() const { return num_reads_ > failing_; }

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    HEADRACE_ASSIGN(auto file, below_->open(path));
    return std::unique_ptr<OpenFile>(std::make_unique<File>(this, std::move(file)));
  }
  Result<FileInfo> info(const std::string& path) override { return below_->info(path); }
  Result<Listing> list(const std::string& root) override { return below_->list(root); }

 private:
  class File final : public OpenFile {
   public:
    File(FailingStore* store, std::unique_ptr<OpenFile> below) : store_(store), below_(std::move(below)) {}
    Result<uint64_t> size() override { return below_->size(); }
    Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
      if (store_->num_reads_++ == store_->failing_) return Status(Code::io, "the system refused");
      return below_->read(offset, out);
    }

   private:
    FailingStore* store_;
    std::unique_ptr<OpenFile> below_;
  };

  Store* below_;
  int64_t failing_, num_reads_ = 0;
};

struct Given {
  uint64_t right = 0, refused = 0;
};

// Of a source of a damaged file every sample that it gives is a stated one, in their order: damage may stand
// for several. Without a checksum it may be anything.
void read_damaged(const SourceCase& source_case, const Source& source, Store& store, bool wrong_is_allowed,
                  Given& out) {
  auto next = source_case.samples.begin();
  for (uint64_t i = 0; i < std::min<uint64_t>(source.size(), 2 * source_case.samples.size()); ++i) {
    const auto text = read_sample_text(source, i, store);
    ++(text.ok() ? out.right : out.refused);
    if (!text.ok() || wrong_is_allowed) continue;
    next = std::find(next, source_case.samples.end(), *text);
    ASSERT_NE(next, source_case.samples.end()) << *text;
    ++next;
  }
}

TEST_P(SourceConformance, SequentialReadingGivesTheStatedSamples) {
  const auto source = open_source_case(case_, store_);
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), case_.samples.size());
  for (uint64_t i = 0; i < case_.samples.size(); ++i) {
    const auto text = read_sample_text(**source, i, store_);
    ASSERT_TRUE(text.ok()) << text.status().text();
    EXPECT_EQ(*text, case_.samples[i]) << (*source)->where(i).text();
  }
}

// In any mix, the same one twice, with bytes between them.
TEST_P(SourceConformance, SamplesReadTogetherAreThoseReadAlone) {
  const auto source = open_source_case(case_, store_);
  ASSERT_TRUE(source.ok()) << source.status().text();
  std::vector<uint64_t> indices = shuffled(case_.samples.size(), 1);
  indices.push_back(indices[0]);
  std::vector<Extent> extents(indices.size());
  if (!(*source)->extents(indices, extents)) GTEST_SKIP() << "it offers none";
  std::vector<uint64_t> taken;
  std::vector<size_t> at;
  std::string bytes;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (extents[i].length == kToEnd) continue;
    const auto some = read_extent(store_, (*source)->file(extents[i].file), extents[i]);
    ASSERT_TRUE(some.ok()) << some.status().text();
    bytes.resize((bytes.size() + 8) / 8 * 8, '?');
    taken.push_back(indices[i]), at.push_back(bytes.size());
    bytes.append(reinterpret_cast<const char*>((*some)->data()), (*some)->size());
  }
  if (taken.empty()) GTEST_SKIP() << "none lies alone";
  const BlockPtr block = (*source)->together(taken, at, text_tensor(bytes).buffer);
  std::vector<Tensor> fields;
  for (size_t i = 0; i < taken.size(); ++i) {
    const Status status = block->get(i, fields);
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(sample_text(fields), case_.samples[taken[i]]) << (*source)->where(taken[i]).text();
  }
  EXPECT_FALSE(block->get(taken.size(), fields).ok());
  for (const bool in_columns : {false, true})
    for (const bool backwards : {false, true}) {
      std::vector<uint64_t> rows(taken.size());
      std::iota(rows.begin(), rows.end(), uint64_t{0});
      if (backwards) std::ranges::reverse(rows);
      const auto put = put_rows(*block, (*source)->schema(), rows, in_columns);
      EXPECT_EQ(put.size(), rows.size());
      for (size_t i = 0; i < put.size(); ++i)
        EXPECT_EQ(sample_text(put[i]), case_.samples[taken[rows[i]]])
            << (*source)->where(taken[rows[i]]).text();
    }
  EXPECT_TRUE(put_rows(*block, (*source)->schema(), std::vector<uint64_t>{taken.size()}, false).empty());
  const auto mapped = put_mapped_rows(store_, **source, taken);
  EXPECT_TRUE(mapped.empty() || mapped.size() == taken.size());
  for (size_t i = 0; i < mapped.size(); ++i)
    EXPECT_EQ(sample_text(mapped[i]), case_.samples[taken[i]]) << (*source)->where(taken[i]).text();
}

TEST_P(SourceConformance, SamplesThatLieApartAreInMapsWhatTheyAreRead) {
  const auto store = with_archives(std::shared_ptr<Store>(&store_, [](Store*) {}));
  for (const bool some : {false, true}) {
    auto source = open_source_case(case_, store_);
    ASSERT_TRUE(source.ok()) << source.status().text();
    std::vector<uint64_t> indices((*source)->size());
    std::iota(indices.begin(), indices.end(), uint64_t{0});
    std::vector<Extent> extents(indices.size());
    const auto lies_apart = [](const Extent& extent) { return extent.length == kToEnd && extent.mappable; };
    if (!(*source)->extents(indices, extents) || !std::ranges::all_of(extents, lies_apart))
      GTEST_SKIP() << "they do not";
    const std::vector<int> fields{static_cast<int>((*source)->schema().size()) - 1, 0};
    const SourcePtr read = some ? narrowed(*source, std::span(fields).first(fields[0] > 0 ? 2 : 1)) : *source;
    ASSERT_NE(read, nullptr);
    for (const uint64_t step : {1, 2, 5}) {
      uint64_t num_put = 0;
      const auto get = [&](uint64_t i) -> Result<std::vector<Tensor>> {
        const Place place = read->place(i);
        HEADRACE_ASSIGN(const BlockPtr block, drive(*read->open(place.block), path_of(*read), store_));
        std::vector<Tensor> fields;
        HEADRACE_TRY(block->get(place.row, fields));
        return fields;
      };
      EXPECT_TRUE(maps_show_what_is_read(*store, *read, read->size(), step, get, &num_put));
      EXPECT_EQ(num_put, read->size());
    }
  }
}

TEST_P(SourceConformance, RowsOfABlockThatArePutAreThoseOfSamples) {
  const auto source = open_source_case(case_, store_);
  ASSERT_TRUE(source.ok()) << source.status().text();
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const Place place = (*source)->place(i);
    const auto block = drive(*(*source)->open(place.block), path_of(**source), store_);
    ASSERT_TRUE(block.ok()) << block.status().text();
    for (const bool in_columns : {false, true})
      for (const auto& put :
           put_rows(**block, (*source)->schema(), std::vector<uint64_t>{place.row}, in_columns))
        EXPECT_EQ(sample_text(put), case_.samples[i]) << (*source)->where(i).text();
  }
}

TEST_P(SourceConformance, FieldsAreAsTheSchemaSays) {
  const auto source = open_source_case(case_, store_);
  ASSERT_TRUE(source.ok()) << source.status().text();
  const Schema& schema = (*source)->schema();
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const Place place = (*source)->place(i);
    const auto block = drive(*(*source)->open(place.block), path_of(**source), store_);
    ASSERT_TRUE(block.ok()) << block.status().text();
    std::vector<Tensor> fields;
    ASSERT_TRUE((*block)->get(place.row, fields).ok());
    ASSERT_EQ(fields.size(), schema.size());
    for (size_t f = 0; f < fields.size(); ++f) {
      EXPECT_TRUE(schema.specs[f].admits(fields[f].view().spec())) << schema.names[f];
      EXPECT_EQ(reinterpret_cast<uintptr_t>(fields[f].view().data) % size_of(fields[f].dtype), 0u)
          << schema.names[f];
    }
  }
}

// None of them, each alone, and all backwards.
TEST_P(SourceConformance, FieldsThatAreChosenAreThoseOfTheWhole) {
  const auto source = open_source_case(case_, store_);
  ASSERT_TRUE(source.ok()) << source.status().text();
  const Schema& schema = (*source)->schema();
  std::vector<std::vector<int>> choices{{}, {}};
  for (int f = 0; f < static_cast<int>(schema.size()); ++f)
    choices[1].insert(choices[1].begin(), f), choices.push_back({f});
  for (const std::vector<int>& fields : choices) {
    const SourcePtr some = narrowed(*source, fields);
    if (!some) GTEST_SKIP() << "it offers none";
    ASSERT_EQ(some->schema().size(), fields.size());
    EXPECT_EQ(some->size(), (*source)->size());
    EXPECT_EQ(some->fingerprint(), (*source)->fingerprint());
    for (uint64_t i = 0; i < some->size(); ++i) {
      const auto all = read_fields(**source, i, store_), got = read_fields(*some, i, store_);
      ASSERT_TRUE(all.ok() && got.ok()) << some->where(i).text();
      EXPECT_EQ(some->where(i).text(), (*source)->where(i).text());
      EXPECT_EQ(some->lot(i).end, (*source)->lot(i).end);
      std::vector<Tensor> wanted;
      for (const int field : fields) wanted.push_back((*all)[static_cast<size_t>(field)]);
      EXPECT_EQ(sample_text(*got), sample_text(wanted)) << some->where(i).text();
    }
  }
}

TEST_P(SourceConformance, FourThreadsInAnyOrderReadTheSame) {
  const auto source = open_source_case(case_, store_);
  ASSERT_TRUE(source.ok()) << source.status().text();
  std::vector<std::vector<std::string>> read(4, std::vector<std::string>(case_.samples.size()));
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < read.size(); ++t)
      threads.emplace_back([&, t] {
        for (const uint64_t i : shuffled(case_.samples.size(), t)) {
          auto text = read_sample_text(**source, i, store_);
          read[t][i] = text.ok() ? *std::move(text) : std::string(text.status().text());
        }
      });
  }
  for (const auto& texts : read) EXPECT_EQ(texts, case_.samples);
}

TEST_P(SourceConformance, ShortReadsAndAnyOrderOfCompletionChangeNothing) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    FaultyStore store(std::make_shared<MemoryStore>(store_), {.seed = seed, .short_reads = 900});
    std::vector<SourceOpeningPtr> openings;
    const auto files = sized(store, case_);
    ASSERT_TRUE(files.ok()) << files.status().text();
    auto opening = case_.open(*files);
    ASSERT_TRUE(opening.ok()) << opening.status().text();
    openings.push_back(*std::move(opening));
    const auto path = [&](uint64_t ordinal) { return case_.path(ordinal); };
    const auto sources = drive_in_any_order(std::move(openings), path, store, seed);
    ASSERT_TRUE(sources.ok()) << sources.status().text();
    const Source& source = *(*sources)[0];
    std::vector<std::unique_ptr<Opening<BlockPtr>>> blocks;
    for (uint64_t i = 0; i < source.size(); ++i) blocks.push_back(source.open(source.place(i).block));
    const auto opened = drive_in_any_order(std::move(blocks), path_of(source), store, seed);
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    for (uint64_t i = 0; i < source.size(); ++i) {
      std::vector<Tensor> fields;
      ASSERT_TRUE((*opened)[i]->get(source.place(i).row, fields).ok());
      EXPECT_EQ(sample_text(fields), case_.samples[i]);
    }
  }
}

TEST_P(SourceConformance, TensorsOutliveTheirBlockAndSource) {
  std::vector<std::vector<Tensor>> samples(case_.samples.size());
  {
    const auto source = open_source_case(case_, store_);
    ASSERT_TRUE(source.ok()) << source.status().text();
    for (uint64_t i = 0; i < samples.size(); ++i) {
      const Place place = (*source)->place(i);
      const auto block = drive(*(*source)->open(place.block), path_of(**source), store_);
      ASSERT_TRUE(block.ok() && (*block)->get(place.row, samples[i]).ok());
    }
  }
  for (uint64_t i = 0; i < samples.size(); ++i) EXPECT_EQ(sample_text(samples[i]), case_.samples[i]);
}

TEST_P(SourceConformance, ARowThatIsNotThereIsAnError) {
  const auto source = open_source_case(case_, store_);
  ASSERT_TRUE(source.ok()) << source.status().text();
  const auto block = drive(*(*source)->open(0), path_of(**source), store_);
  ASSERT_TRUE(block.ok()) << block.status().text();
  std::vector<Tensor> fields;
  EXPECT_FALSE((*block)->get(case_.samples.size() + 1, fields).ok());
}

TEST_P(SourceConformance, EveryReadThatFailsIsAnErrorThatNamesFileAndByte) {
  for (int64_t n = 0;; ++n) {
    FailingStore store(&store_, n);
    Status status;
    const auto source = open_source_case(case_, store);
    status = source.status();
    for (uint64_t i = 0; status.ok() && i < (*source)->size(); ++i)
      status = read_sample_text(**source, i, store).status();
    if (!store.failed()) {  // fewer reads than n
      EXPECT_TRUE(status.ok()) << status.text();
      EXPECT_GT(n, 0);
      return;
    }
    ASSERT_EQ(status.code(), Code::io) << n;
    const bool names_a_file = std::any_of(case_.files.begin(), case_.files.end(), [&](const auto& file) {
      return status.text().find(file.first) != std::string::npos;
    });
    EXPECT_TRUE(names_a_file) << status.text();
    EXPECT_NE(status.text().find(" at byte "), std::string::npos) << status.text();
  }
}

TEST_P(SourceConformance, AFileCutAtAnyByteGivesNoWrongSample) {
  if (case_.cut == Cut::is_not_seen) GTEST_SKIP() << "the decoder's business";
  for (const auto& [path, bytes] : case_.files)
    for (size_t length = 0; length < bytes.size(); ++length) {
      store_.add(path, bytes.substr(0, length));
      const auto source = open_source_case(case_, store_);
      if (!source.ok()) {
        ASSERT_NE(source.status().text().find(path), std::string::npos) << source.status().text();
      } else {
        Given given;
        read_damaged(case_, **source, store_, false, given);
        if (HasFatalFailure()) FAIL() << path << " cut to " << length;
        ASSERT_TRUE(case_.cut != Cut::is_an_error || given.refused > 0) << path << " cut to " << length;
        ASSERT_TRUE(given.right < case_.samples.size() || given.refused > 0) << path << " cut to " << length;
      }
      store_.add(path, bytes);
    }
}

TEST_P(SourceConformance, AFileCutAfterItWasOpenedGivesNoWrongSample) {
  if (case_.cut == Cut::is_not_seen) GTEST_SKIP() << "the decoder's business";
  const auto source = open_source_case(case_, store_);
  ASSERT_TRUE(source.ok()) << source.status().text();
  for (const auto& [path, bytes] : case_.files)
    for (size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 97) {
      store_.add(path, bytes.substr(0, length));
      for (uint64_t i = 0; i < case_.samples.size(); ++i) {
        const auto text = read_sample_text(**source, i, store_);
        ASSERT_TRUE(!text.ok() || *text == case_.samples[i]) << path << " cut to " << length;
      }
      store_.add(path, bytes);
    }
}

TEST_P(SourceConformance, FlippedBytesNeverCrash) {
  if (!case_.not_hostile.empty()) GTEST_SKIP() << case_.not_hostile;
  std::mt19937_64 random(1);
  for (int n = 0; n < 1000; ++n) {
    const auto& [path, bytes] = case_.files[random() % case_.files.size()];
    std::string flipped = bytes;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips)
      flipped[random() % flipped.size()] ^= static_cast<char>(1 + random() % 255);
    store_.add(path, flipped);
    Given given;
    if (const auto source = open_source_case(case_, store_); source.ok())
      read_damaged(case_, **source, store_, !case_.is_checksummed, given);
    if (HasFatalFailure()) FAIL() << "mutation " << n;
    store_.add(path, bytes);
  }
}

TEST_P(SourceConformance, TheFingerprintKnowsNoFolder) {
  const auto source = open_source_case(case_, store_);
  ASSERT_TRUE(source.ok()) << source.status().text();
  SourceCase moved = case_;
  for (auto& [path, bytes] : moved.files) path = "elsewhere/" + path;
  MemoryStore store = stored(moved);
  const auto again = open_source_case(moved, store);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ((*source)->fingerprint(), (*again)->fingerprint());
  EXPECT_NE((*again)->where(0).text().find("elsewhere/"), std::string::npos);
}

// Wants two bytes of its second file, and refuses them.
class Refusing final : public Opening<int> {
 public:
  Result<Step<int>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<int>(std::vector<Extent>{{1, 0, 2}});
    return corrupt("wants the bytes PK");
  }
};

TEST(Drive, WhatAnOpeningRefusesIsToldWithItsFile) {
  MemoryStore store;
  store.add("a.zip", "PK"), store.add("b.zip", "xx");
  const PathOf path = [](uint64_t ordinal) { return ordinal == 0 ? "a.zip" : "b.zip"; };
  Refusing opening;
  EXPECT_EQ(drive(opening, path, store).status().text(), "'b.zip': wants the bytes PK");
  std::vector<std::unique_ptr<Opening<int>>> openings;
  openings.push_back(std::make_unique<Refusing>());
  EXPECT_EQ(drive_in_any_order(std::move(openings), path, store, 1).status().text(),
            "'b.zip': wants the bytes PK");
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SourceConformance);

}  // namespace headrace::trial
