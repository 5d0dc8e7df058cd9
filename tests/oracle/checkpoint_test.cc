// Reading the coefficients of a JPEG from any of its checkpoints gives what reading from its beginning gives.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "headrace/codecs/jpeg/entropy.h"
#include "headrace/kernels/targets.h"
#include "tests/oracle/encode_jpeg.h"
#include "tests/real_files.h"

namespace headrace::jpeg {
namespace {

using Block = std::array<int16_t, 64>;

struct Reading {
  std::vector<Checkpoint> checkpoints;  // of every MCU
  std::vector<std::vector<Block>> mcus;
};

// The blocks of MCU number `mcu` of those read.
std::vector<Block> blocks_of(const Scan& scan, const Coefficients& from, int mcu) {
  std::vector<Block> out;
  for (int c = 0; c < scan.components; ++c)
    for (int i = 0; i < scan.blocks_of(c); ++i) {
      const int block = mcu * scan.blocks_of(c) + i;
      Block& to = out.emplace_back();
      for (int at = 0; at < 64; ++at)
        to[static_cast<size_t>(at)] = from.pair(c, block / 2)[at / 8 * 16 + block % 2 * 8 + at % 8];
    }
  return out;
}

Reading read_all(const Scan& scan, const Tables& tables) {
  Reading reading;
  EntropyReader reader(scan, tables);
  Coefficients coefficients;
  for (int64_t mcu = 0; mcu < scan.mcus_across() * scan.mcus_down(); ++mcu) {
    if (!reader.checkpoint(reading.checkpoints.emplace_back()) || !reader.read(1, coefficients)) return {};
    reading.mcus.push_back(blocks_of(scan, coefficients, 0));
  }
  return reader.is_in_order() ? reading : Reading{};
}

// From each MCU that is a multiple of `step`: one MCU, two passed over, up to eight at once. How many there
// are.
size_t compare_checkpoints(const std::string& file, size_t step) {
  const auto scan = read_scan(std::as_bytes(std::span(file)));
  const Tables* const tables = scan ? tables_of(*scan) : nullptr;
  if (!tables) return 0;
  const Reading all = read_all(*scan, *tables);
  EntropyReader reader(*scan, *tables);
  Coefficients coefficients;
  for (size_t start = 0; start + 3 < all.mcus.size(); start += step) {
    // Wherever reading is expected to end.
    const size_t ends[] = {EntropyReader::kNoEnd, 0, all.checkpoints[start].offset + start % 700};
    EXPECT_TRUE(reader.start_at(all.checkpoints[start], static_cast<int64_t>(start), ends[start % 3]));
    EXPECT_TRUE(reader.read(1, coefficients));
    EXPECT_EQ(blocks_of(*scan, coefficients, 0), all.mcus[start]) << start;
    EXPECT_TRUE(reader.pass_over(2));
    Checkpoint here;
    EXPECT_TRUE(reader.checkpoint(here));
    EXPECT_EQ(here.offset, all.checkpoints[start + 3].offset) << start;
    EXPECT_EQ(here.bit, all.checkpoints[start + 3].bit);
    EXPECT_EQ(here.dc, all.checkpoints[start + 3].dc);
    const size_t mcus = std::min<size_t>(all.mcus.size() - start - 3, Coefficients::kMostMcus);
    EXPECT_TRUE(reader.read(static_cast<int64_t>(mcus), coefficients));
    for (size_t i = 0; i < mcus; ++i)
      EXPECT_EQ(blocks_of(*scan, coefficients, static_cast<int>(i)), all.mcus[start + 3 + i])
          << i << " from " << start;
    EXPECT_TRUE(reader.is_in_order());
    if (::testing::Test::HasFailure()) break;
  }
  return all.mcus.size();
}

TEST(Checkpoint, EveryOneGivesTheSameCoefficients) {
  for (const auto& [h, v] : {std::pair(1, 1), {2, 1}, {1, 2}, {2, 2}})
    for (const unsigned restart : {0u, 1u, 7u}) {
      const std::string file = testing::encode_jpeg({150, 170, 3, h, v, false, restart});
      EXPECT_EQ(compare_checkpoints(file, 1),
                size_t((170 + 8 * h - 1) / (8 * h) * ((150 + 8 * v - 1) / (8 * v))));
    }
  EXPECT_EQ(compare_checkpoints(testing::encode_jpeg({80, 90, 1, 1, 1, false, 5}), 1), 120u);
}

TEST(Checkpoint, EveryTargetReadsTheSame) {
  const std::string file = testing::encode_jpeg({150, 170, 3, 2, 1, false, 7});
  const auto scan = read_scan(std::as_bytes(std::span(file)));
  ASSERT_TRUE(scan);
  const Reading best = read_all(*scan, *tables_of(*scan));
  ASSERT_EQ(best.mcus.size(), 11u * 19u);
  kernels::on_each_simd_target([&](const std::string& target) {
    EXPECT_EQ(read_all(*scan, *tables_of(*scan)).mcus, best.mcus) << target;
    EXPECT_EQ(compare_checkpoints(file, 5), best.mcus.size()) << target;
  });
}

TEST(Checkpoint, WorksInRealFiles) {
  const std::string root = testing::data_folder();
  if (root.empty()) GTEST_SKIP() << "set HEADRACE_DATA to the folder of real files";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(root) / "imagenet1k")) {
    std::ifstream in(entry.path(), std::ios::binary);
    files += compare_checkpoints({std::istreambuf_iterator<char>(in), {}}, 37) > 0;
  }
  EXPECT_GT(files, 250);
}

TEST(Checkpoint, ThatNoImageHasIsRefused) {
  const std::string file = testing::encode_jpeg({64, 64, 3, 1, 1, false, 0});
  const auto scan = read_scan(std::as_bytes(std::span(file)));
  ASSERT_TRUE(scan);
  EntropyReader reader(*scan, *tables_of(*scan));
  EXPECT_TRUE(reader.start_at({10, 7, {}}, 63));
  EXPECT_FALSE(reader.start_at({10, 8, {}}, 63));
  EXPECT_FALSE(reader.start_at({10, -1, {}}, 63));
  EXPECT_FALSE(reader.start_at({10, 0, {}}, 64));
  EXPECT_FALSE(reader.start_at({10, 0, {}}, -1));
  EXPECT_FALSE(reader.start_at({scan->data.size(), 0, {}}, 0));
}

// Wherever an index points, reading ends with an answer and within memory (the sanitizers look).
TEST(Checkpoint, ThatIsWrongIsSafe) {
  const std::string file = testing::encode_jpeg({64, 64, 3, 2, 2, false, 2});
  const auto scan = read_scan(std::as_bytes(std::span(file)));
  ASSERT_TRUE(scan);
  EntropyReader reader(*scan, *tables_of(*scan));
  int in_order = 0;
  for (size_t offset = 0; offset < scan->data.size(); ++offset) {
    ASSERT_TRUE(reader.start_at({offset, static_cast<int>(offset % 8), {32767, -32768, 0}}, 1));
    in_order += reader.pass_over(15) && reader.is_in_order();
  }
  EXPECT_LT(in_order, static_cast<int>(scan->data.size()));
}

}  // namespace
}  // namespace headrace::jpeg
