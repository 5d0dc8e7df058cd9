#include "headrace/codecs/jpeg/huffman.h"

#include <string>

namespace headrace::jpeg {
namespace {

uint8_t byte_at(TableBytes bytes, size_t at) { return std::to_integer<uint8_t>(bytes[at]); }

// False when the lengths are no prefix code, or a DC table names a difference of more than 15 bits.
bool build(TableBytes bytes, bool is_dc, Codes& out) {
  out.look.fill(0);
  out.symbols.fill(0);
  const size_t count = bytes.size() - 16;
  for (size_t i = 0; i < count; ++i) {
    out.symbols[i] = byte_at(bytes, 16 + i);
    if (is_dc && out.symbols[i] > 15) return false;
  }
  int32_t code = 0, index = 0;
  for (int length = 1; length <= 16; ++length) {
    out.to_symbol[static_cast<size_t>(length)] = index - code;
    const int codes = byte_at(bytes, static_cast<size_t>(length) - 1);
    // The code of all ones must stay free: libjpeg refuses other tables.
    if (codes > 0 && code + codes >= 1 << length) return false;
    for (int i = 0; i < codes; ++i, ++index, ++code) {
      if (length > kLookBits) continue;
      const int free = kLookBits - length;
      for (int tail = 0; tail < 1 << free; ++tail)
        out.look[static_cast<size_t>(code << free | tail)] =
            static_cast<uint16_t>(out.symbols[static_cast<size_t>(index)] << 8 | length);
    }
    out.above[static_cast<size_t>(length)] = code << (16 - length);
    code <<= 1;
  }
  return true;
}

int value_of(uint32_t bits, int size) {
  const auto raw = static_cast<int>(bits);
  return raw < 1 << (size - 1) ? raw - (1 << size) + 1 : raw;
}

// What the `kLookBits` bits `index` begin with.
AcEntry entry(const Codes& codes, uint32_t index) {
  constexpr uint32_t mask = (1u << kLookBits) - 1;
  const auto bits_at = [&](int from, int size) {
    return index >> (kLookBits - from - size) & ((1u << size) - 1);
  };
  const uint32_t first = codes.look[index];
  if (first == 0) return AcEntry::slow();
  int used = static_cast<int>(first & 255);
  const int run = static_cast<int>(first >> 12), size = static_cast<int>(first >> 8 & 15);
  if (size == 0 && run != 15) return {used, true, 0, 0, 0, 0};
  if (used + size > kLookBits || size > AcEntry::kMostFirst) return AcEntry::slow();
  const int value = size == 0 ? 0 : value_of(bits_at(used, size), size);
  used += size;
  const uint32_t second = codes.look[index << used & mask];
  const int then = used + static_cast<int>(second & 255);
  if (second == 0 || then > kLookBits) return {used, false, run, value, 0, 0};
  const int second_run = static_cast<int>(second >> 12), second_size = static_cast<int>(second >> 8 & 15);
  if (second_size == 0 && second_run != 15) return {then, true, run, value, 0, 0};
  if (second_size == 0 || second_size > AcEntry::kMostSecond || then + second_size > kLookBits)
    return {used, false, run, value, 0, 0};
  return {then + second_size,
          false,
          run,
          value,
          second_run + 1,
          value_of(bits_at(then, second_size), second_size)};
}

// Everything that decides the tables, as one string.
void append_key(const Scan& scan, std::string& key) {
  key.clear();
  for (int c = 0; c < scan.components; ++c) {
    const Component& component = scan.component[static_cast<size_t>(c)];
    for (const auto& [tables, index] :
         {std::pair(&scan.dc, component.dc), std::pair(&scan.ac, component.ac)}) {
      const TableBytes bytes = (*tables)[static_cast<size_t>(index)];
      key += static_cast<char>(index);
      key += static_cast<char>(bytes.size() & 255);
      key += static_cast<char>(bytes.size() >> 8);
      key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }
}

bool build(const Scan& scan, Tables& out) {
  std::array<bool, 4> has_dc{}, has_ac{};
  for (int c = 0; c < scan.components; ++c) {
    const auto dc = static_cast<size_t>(scan.component[static_cast<size_t>(c)].dc);
    const auto ac = static_cast<size_t>(scan.component[static_cast<size_t>(c)].ac);
    if (!has_dc[dc] && !build(scan.dc[dc], true, out.dc[dc])) return false;
    if (!has_ac[ac]) {
      if (!build(scan.ac[ac], false, out.ac[ac].codes)) return false;
      for (uint32_t i = 0; i < 1u << kLookBits; ++i) out.ac[ac].look[i] = entry(out.ac[ac].codes, i);
    }
    has_dc[dc] = has_ac[ac] = true;
  }
  return true;
}

struct Kept {
  std::string key, wanted;
  Tables tables;
};

}  // namespace

const Tables* tables_of(const Scan& scan) {
  thread_local std::unique_ptr<Kept> kept;
  if (!kept) kept = std::make_unique<Kept>();
  append_key(scan, kept->wanted);
  if (kept->wanted == kept->key) return &kept->tables;
  kept->key.clear();
  if (!build(scan, kept->tables)) return nullptr;
  kept->key = kept->wanted;
  return &kept->tables;
}

}  // namespace headrace::jpeg
