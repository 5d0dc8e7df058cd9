#include "headrace/codecs/jpeg/huffman.h"

#include <algorithm>
#include <string>

namespace headrace::jpeg {
namespace {

uint8_t table_byte(TableBytes bytes, size_t at) { return std::to_integer<uint8_t>(bytes[at]); }

// False when the lengths are no prefix code, or a DC table names a difference of more than 15 bits.
bool build(TableBytes bytes, bool is_dc, Codes& out) {
  out.look.fill(0);
  out.symbols.fill(0);
  const size_t count = bytes.size() - 16;
  for (size_t i = 0; i < count; ++i) {
    out.symbols[i] = table_byte(bytes, 16 + i);
    if (is_dc && out.symbols[i] > 15) return false;
  }
  int32_t code = 0, index = 0;
  for (int length = 1; length <= 16; ++length) {
    out.to_symbol[static_cast<size_t>(length)] = index - code;
    const int codes = table_byte(bytes, static_cast<size_t>(length) - 1);
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

// A look-up of one symbol: an entry with one coefficient, and how long its code is.
struct Single {
  Entry entry;
  int length;
};
using Singles = std::array<Single, 1 << kLookBits>;

// What stands for a symbol whose code is `length` bits, from `out` on: one entry for each of the bits that
// may follow the code in a look-up.
void fill(bool is_dc, int symbol, int length, Single* out) {
  const int run = symbol >> 4, size = symbol & 15, left = kLookBits - length;
  const auto put = [&](int count, Entry entry) {
    for (int i = 0; i < count; ++i) *out++ = {entry, length};
  };
  if (size == 0 && !is_dc && run != 15) return put(1 << left, {length, 1, 1 + Entry::kEnd, 0, 0, 0});
  if (size == 0) return put(1 << left, {length, run + 1, run + 1, 0, 0, 0});
  if (left == 0 || length + size > kMostUsed) return put(1 << left, Entry::slow());  // no sign, or too long
  const int seen = std::min(size, left), more = size - seen;                         // bits of the value
  for (int bits = 0; bits < 1 << seen; ++bits) {
    const int value = bits << more;
    const bool is_negative = bits >> (seen - 1) == 0;
    put(1 << (left - seen),
        {length + size, run + 1, run + 1, 0, is_negative ? value - (1 << size) + 1 : value, more});
  }
}

void fill(const Codes& codes, bool is_dc, Singles& out) {
  for (size_t i = 0; i < out.size();) {
    const int code = codes.look[i], length = code & 255;
    if (code == 0) {
      out[i++] = {Entry::slow(), 0};
    } else {
      fill(is_dc, code >> 8, length, out.data() + i);
      i += size_t{1} << (kLookBits - length);
    }
  }
}

// What the bits `index` begin with: two symbols if they fit, and the end of the block.
Entry joined(const Singles& singles, uint32_t index) {
  constexpr uint32_t mask = (1u << kLookBits) - 1;
  const auto behind = [&](int used) -> const Single& { return singles[index << used & mask]; };
  const auto is_end = [](Entry entry) { return entry.steps() == 1 + Entry::kEnd; };
  const Entry first = singles[index].entry;
  const int to_first = static_cast<int>(first.steps());
  int used = first.used();
  if (used == 0 || used >= kLookBits || is_end(first)) return first;
  const auto [second, length] = behind(used);
  const int bits_seen = length + (second.used() > length ? 1 : 0);  // the sign of a value, too
  if (second.used() == 0 || used + bits_seen > kLookBits || used + second.used() > kMostUsed) return first;
  used += second.used();
  if (is_end(second)) return {used, to_first, to_first + Entry::kEnd, 0, first.last(0), 0};
  int steps = to_first + static_cast<int>(second.steps());
  const int more = std::max(0, used - kLookBits);
  if (used < kLookBits && is_end(behind(used).entry) && used + behind(used).length <= kLookBits) {
    used += behind(used).length;
    steps += Entry::kEnd;
  }
  return {used, to_first, steps, first.last(0), second.last(0), more};
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

bool build(TableBytes bytes, bool is_dc, Table& out) {
  if (!build(bytes, is_dc, out.codes)) return false;
  Singles singles;
  fill(out.codes, is_dc, singles);
  for (uint32_t i = 0; i < out.look.size(); ++i) out.look[i] = is_dc ? singles[i].entry : joined(singles, i);
  return true;
}

bool build(const Scan& scan, Tables& out) {
  std::array<bool, 4> has_dc{}, has_ac{};
  for (int c = 0; c < scan.components; ++c) {
    const auto dc = static_cast<size_t>(scan.component[static_cast<size_t>(c)].dc);
    const auto ac = static_cast<size_t>(scan.component[static_cast<size_t>(c)].ac);
    if (!has_dc[dc] && !build(scan.dc[dc], true, out.dc[dc])) return false;
    if (!has_ac[ac] && !build(scan.ac[ac], false, out.ac[ac])) return false;
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
  kept->tables.are_new();
  if (!build(scan, kept->tables)) return nullptr;
  kept->key = kept->wanted;
  return &kept->tables;
}

}  // namespace headrace::jpeg
