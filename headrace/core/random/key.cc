#include "headrace/core/random/key.h"

namespace headrace {
namespace {

uint64_t first64(const PhiloxBlock& block) { return block[0] | static_cast<uint64_t>(block[1]) << 32; }

}  // namespace

PhiloxBlock philox4x32(PhiloxBlock c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

uint64_t Key::k1(uint64_t seed, uint32_t ordinal, uint32_t read, uint64_t epoch) {
  return first64(philox4x32({ordinal, read, halves(epoch)[0], halves(epoch)[1]}, halves(seed)));
}

Key::Key(uint64_t k1, uint64_t index, uint32_t occurrence, uint32_t child)
    : stream_(first64(philox4x32({halves(index)[0], halves(index)[1], occurrence, child}, halves(k1)))) {}

Key::Key(uint64_t seed, uint32_t ordinal, const SampleId& id)
    : Key(k1(seed, ordinal, id.read, id.epoch), id.index, id.occurrence, id.child) {}

uint32_t Key::bits(uint32_t draw) const { return philox4x32({draw / 4, 0, 0, 0}, halves(stream_))[draw % 4]; }

double Key::uniform64(uint32_t draw) const {
  const uint64_t word = bits(2 * draw) | static_cast<uint64_t>(bits(2 * draw + 1)) << 32;
  return static_cast<double>(word >> 11) * 0x1p-53;
}

int64_t Key::below(uint32_t draw, int64_t n) const {
  return static_cast<int64_t>((static_cast<uint64_t>(bits(draw)) * static_cast<uint64_t>(n)) >> 32);
}

}  // namespace headrace
