#include "headrace/codecs/jpeg/huffman.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace headrace::jpeg {
namespace {

using Code = std::vector<uint8_t>;  // 16 counts, then the symbols

// Some prefix code, often with unused symbols.
Code random_code(std::mt19937& random, bool is_dc) {
  Code code(16);
  int left = 1;
  size_t total = 0;
  for (size_t length = 1; length <= 16; ++length) {
    left *= 2;
    const auto most = static_cast<unsigned>(std::min(left - 1, 200 - static_cast<int>(total)));
    const auto count =
        static_cast<uint8_t>(length < 2 ? random() % 2 : std::min<size_t>(most, random() % (2 * length)));
    code[length - 1] = count, left -= count, total += count;
  }
  for (size_t i = 0; i < total; ++i)
    code.push_back(static_cast<uint8_t>(is_dc               ? random() % 16
                                        : random() % 4 == 0 ? random()
                                                            : random() % 16 << 4 | random() % 6));
  return code;
}

TableBytes bytes_of(const Code& code) { return std::as_bytes(std::span(code)); }

Scan scan_with(const Code& dc, const Code& ac) {
  Scan scan;
  scan.components = 1;
  scan.dc[0] = bytes_of(dc), scan.ac[0] = bytes_of(ac);
  return scan;
}

// The effect of some symbols on a block whose next coefficient is number 0.
struct Symbols {
  size_t steps = 0;                            // as Entry has them
  std::vector<std::pair<size_t, int>> values;  // after which step, and the value
};

// Decodes the symbols in `bits` bits one by one. False when they do not end there.
bool read(const Codes& codes, bool is_dc, Bits from, const uint8_t* data, int bits, Symbols& out) {
  while (from.position(data) < bits) {
    from.refill();
    const int symbol = next_symbol(codes, from);
    if (symbol < 0) return false;
    if (!is_dc && (symbol & 15) == 0 && symbol >> 4 != 15) {
      out.steps += out.values.empty() ? 1 + Entry::kEnd : Entry::kEnd;
      continue;
    }
    out.steps += static_cast<size_t>(symbol >> 4) + 1;
    out.values.emplace_back(out.steps, next_value(from, symbol & 15));
  }
  return from.position(data) == bits;
}

void check(const Table& table, bool is_dc, std::mt19937& random) {
  for (uint32_t index = 0; index < table.look.size(); ++index) {
    const Entry entry = table.look[index];
    if (entry.used() == 0) continue;
    std::array<uint8_t, 32> data;
    for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
    data[0] = static_cast<uint8_t>(index >> 2), data[1] = static_cast<uint8_t>(index << 6 | (data[1] & 63));
    Bits bits;
    bits.seek(data.data());
    bits.refill();
    Symbols symbols;
    ASSERT_TRUE(read(table.codes, is_dc, bits, data.data(), entry.used(), symbols)) << index;
    ASSERT_EQ(symbols.steps, entry.steps()) << index;
    if (symbols.values.empty()) continue;  // the end of the block alone
    ASSERT_LE(symbols.values.size(), 2u);
    ASSERT_EQ(symbols.values[0].first, entry.to_first()) << index;
    if (symbols.values.size() == 2) {
      ASSERT_EQ(symbols.values[0].second, entry.first()) << index;
    }
    ASSERT_EQ(symbols.values.back().second, entry.last(bits.behind(kLookBits))) << index;
  }
}

TEST(HuffmanTables, ALookUpIsWhatItsSymbolsAre) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const Code dc = random_code(random, true), ac = random_code(random, false);
    const Tables* const tables = tables_of(scan_with(dc, ac));
    ASSERT_TRUE(tables);
    check(tables->dc[0], true, random);
    check(tables->ac[0], false, random);
    if (::testing::Test::HasFailure()) return;
  }
}

// Each of these bits is looked up often: symbols that fit must be found together.
TEST(HuffmanTables, ALookUpHoldsTwoSymbolsAndTheEnd) {
  // 00: one zero and a value of a bit; 01: the end; 10: a value of a bit.
  const Code dc{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const Code ac{0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x00, 0x01};
  const Tables* const tables = tables_of(scan_with(dc, ac));
  ASSERT_TRUE(tables);
  const Entry entry = tables->ac[0].look[0b00'1'10'0'01'11];
  EXPECT_EQ(entry.used(), 8);
  EXPECT_EQ(entry.to_first(), 2u);
  EXPECT_EQ(entry.steps(), 3u + Entry::kEnd);
  EXPECT_EQ(entry.first(), 1);
  EXPECT_EQ(entry.last(0), -1);
}

TEST(HuffmanTables, ThatAreNoPrefixCodeAreRefused) {
  const Code good{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const Code crowded{0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};
  const Code too_large{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16};
  EXPECT_TRUE(tables_of(scan_with(good, good)));
  EXPECT_FALSE(tables_of(scan_with(good, crowded)));
  EXPECT_FALSE(tables_of(scan_with(crowded, good)));
  EXPECT_FALSE(tables_of(scan_with(too_large, good)));
  EXPECT_TRUE(tables_of(scan_with(good, good)));
}

}  // namespace
}  // namespace headrace::jpeg
