#include "headrace/formats/hdf5/structures/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace headrace::hdf5 {
namespace {

struct Mixed {
  uint32_t a, b, c;

  void mix() {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  void finish() {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }
  void add(std::span<const std::byte> bytes) {  // at most twelve; missing ones count as zero
    uint32_t words[3] = {};
    std::memcpy(words, bytes.data(), bytes.size());
    a += words[0], b += words[1], c += words[2];
  }
};

}  // namespace

uint32_t lookup3(std::span<const std::byte> bytes) {
  const uint32_t start = 0xdeadbeefu + static_cast<uint32_t>(bytes.size());
  Mixed mixed{start, start, start};
  if (bytes.empty()) return mixed.c;
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    mixed.add(bytes.first(12));
    mixed.mix();
  }
  mixed.add(bytes);
  mixed.finish();
  return mixed.c;
}

// Over big-endian words of 16 bits; an odd last byte is the upper half of a word.
uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr size_t kNoOverflow = 360;  // words whose sums stay below 2^32
  uint32_t low = 0, high = 0;
  size_t i = 0;
  for (size_t words = bytes.size() / 2; words > 0;) {
    const size_t count = std::min(words, kNoOverflow);
    for (size_t end = i + 2 * count; i < end; i += 2) {
      low += std::to_integer<uint32_t>(bytes[i]) << 8 | std::to_integer<uint32_t>(bytes[i + 1]);
      high += low;
    }
    words -= count;
    low = (low & 0xffff) + (low >> 16), high = (high & 0xffff) + (high >> 16);
  }
  if (i < bytes.size()) {
    low += std::to_integer<uint32_t>(bytes[i]) << 8;
    high += low;
    low = (low & 0xffff) + (low >> 16), high = (high & 0xffff) + (high >> 16);
  }
  low = (low & 0xffff) + (low >> 16), high = (high & 0xffff) + (high >> 16);
  return high << 16 | low;
}

Status check_checksum(std::span<const std::byte> structure, const char* what) {
  if (structure.size() < 4) return corrupt({.expected = what, .got = "less than its checksum"});
  uint32_t stated = 0;
  std::memcpy(&stated, structure.data() + structure.size() - 4, 4);
  const uint32_t made = lookup3(structure.first(structure.size() - 4));
  if (stated == made) return {};
  return corrupt({.expected = std::string(what) + " with checksum " + std::to_string(stated),
                  .got = std::to_string(made)});
}

}  // namespace headrace::hdf5
