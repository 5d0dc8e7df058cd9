#include "headrace/codecs/jpeg/huffman.h"

#include <algorithm>
#include <bit>
#include <string>

namespace headrace::jpeg {
namespace {

uint8_t table_byte(TableBytes bytes, size_t at) { return std::to_integer<uint8_t>(bytes[at]); }

// False when the lengths are not a prefix code, or a DC table has a difference of more than 15 bits.
bool build(TableBytes bytes, bool is_dc, Codes& out) {
  const TableBytes symbols = bytes.subspan(16);
  std::memcpy(out.symbols.data(), symbols.data(), symbols.size());
  std::fill(out.symbols.begin() + static_cast<ptrdiff_t>(symbols.size()), out.symbols.end(), uint8_t{0});
  if (is_dc && *std::max_element(out.symbols.begin(), out.symbols.end()) > 15) return false;
  uint16_t* look = out.look.data();
  int32_t code = 0, index = 0;
  for (int length = 1; length <= 16; ++length) {
    out.to_symbol[static_cast<size_t>(length)] = index - code;
    const int codes = table_byte(bytes, static_cast<size_t>(length) - 1);
    // The code of all ones must stay free: libjpeg refuses other tables.
    if (codes > 0 && code + codes >= 1 << length) return false;
    for (int i = 0; i < codes && length <= kLookBits; ++i)
      look = std::fill_n(look, 1 << (kLookBits - length),
                         static_cast<uint16_t>(out.symbols[static_cast<size_t>(index + i)] << 8 | length));
    index += codes, code += codes;
    out.above[static_cast<size_t>(length)] = code << (16 - length);
    code <<= 1;
  }
  std::fill(look, out.look.data() + out.look.size(), uint16_t{0});
  return true;
}

// A symbol in a look-up: its code, and how many bits the code and its value take.
struct Shown {
  int run, size, length;
  Shown(uint16_t look) : run(look >> 12), size(look >> 8 & 15), length(look & 255) {}
  int bits() const { return length + size; }
  bool is_end() const { return size == 0 && run != 15; }  // of a block, but for DC
  // Whether it needs the slow path: there is none, its sign is not seen, or it is too long.
  bool is_slow() const {
    return length == 0 || (size > 0 && length == kLookBits) || length + size > kMostUsed;
  }
  // Entries from that of its code on: one for each combination of the bits that may follow it.
  size_t entries() const { return size_t{1} << (kLookBits - length); }
  // The coefficient whose first bits these are, with zeros after them.
  int value(int raw) const { return raw - (raw < 1 << size >> 1 ? (1 << size) - 1 : 0); }
};

// The entries of a symbol that is alone in all of them.
Entry* fill(const Shown& symbol, bool is_dc, Entry* out) {
  if (symbol.is_slow()) return std::fill_n(out, symbol.entries(), Entry::slow());
  if (!is_dc && symbol.is_end())
    return std::fill_n(out, symbol.entries(), Entry(symbol.length, 1, 1 + Entry::kEnd, 0, 0, 0));
  const int left = kLookBits - symbol.length, to_next = symbol.run + 1;
  const int seen = std::min(symbol.size, left), more = symbol.size - seen;  // bits of the value
  if (seen == left) {
    for (int bits = 0; bits < 1 << left; ++bits)
      *out++ = Entry(symbol.bits(), to_next, to_next, 0, symbol.value(bits << more), more);
    return out;
  }
  for (int bits = 0; bits < 1 << seen; ++bits)
    out = std::fill_n(out, 1 << (left - seen),
                      Entry(symbol.bits(), to_next, to_next, 0, symbol.value(bits << more), more));
  return out;
}

// How the bits after a first symbol change its entries: a second symbol joins it if it fits, and the end of
// the block. That depends on how many bits are left after the first, not on the symbol.
class Tails {
 public:
  explicit Tails(const Codes& codes) : codes_(codes) {}

  // The entries of a symbol that leaves some bits.
  Entry* join(const Shown& symbol, Entry* out) {
    const int left = kLookBits - symbol.bits(), to_next = symbol.run + 1;
    if ((made_ >> left & 1) == 0) make(left);
    const size_t count = size_t{1} << left;
    const uint64_t *const added = added_.data() + count, *const moved = moved_.data() + count;
    for (int raw = 0; raw < 1 << symbol.size; ++raw, out += count) {
      const int value = symbol.value(raw);
      const uint64_t alone = bits_of({symbol.bits(), to_next, to_next, 0, value, 0});
      const uint64_t change = alone ^ bits_of({symbol.bits(), to_next, to_next, value, 0, 0});
      for (size_t tail = 0; tail < count; ++tail)
        out[tail] = std::bit_cast<Entry>((alone ^ (change & moved[tail])) + added[tail]);
    }
    return out;
  }

 private:
  // Fields do not overflow into each other, so entries can be added.
  static uint64_t bits_of(Entry entry) { return std::bit_cast<uint64_t>(entry); }

  void make(int left) {
    made_ |= 1 << left;
    for (uint32_t tail = 0; tail < 1u << left; ++tail) {
      const size_t at = size_t{1} << left | tail;
      added_[at] = moved_[at] = 0;
      const Shown second = codes_.look[tail << (kLookBits - left)];
      int used = second.bits();
      const int seen = second.length + (second.size > 0 ? 1 : 0);  // the sign of a value, too
      if (second.is_slow() || seen > left || used > kMostUsed - kLookBits + left) continue;
      if (second.is_end()) {
        added_[at] = bits_of({used, 0, Entry::kEnd, 0, 0, 0}) - bits_of({0, 0, 0, 0, 0, 0});
        continue;
      }
      const uint32_t behind = tail << (kLookBits - left + second.length) & ((1u << kLookBits) - 1);
      // Bits of it that are not seen are zeros.
      const int value = second.value(static_cast<int>(behind << 5 >> (kLookBits + 5 - second.size)));
      const int more = std::max(0, used - left);
      int steps = second.run + 1;
      if (used < left) {
        const Shown third = codes_.look[behind << second.size & ((1u << kLookBits) - 1)];
        if (third.length > 0 && third.is_end() && used + third.length <= left)
          used += third.length, steps += Entry::kEnd;
      }
      added_[at] = bits_of({used, 0, steps, 0, value, more}) - bits_of({0, 0, 0, 0, 0, 0});
      moved_[at] = ~uint64_t{0};  // the first one's value is no longer the last
    }
  }

  const Codes& codes_;
  int made_ = 0;  // bit `left`: whether those of that many bits are made
  std::array<uint64_t, 1 << kLookBits> added_, moved_;  // [1 << left | the bits after it]
};

void build(const Codes& codes, bool is_dc, LookUp& out) {
  Tails tails(codes);
  Entry *at = out.data(), *const end = at + out.size();
  while (at < end) {
    const Shown symbol = codes.look[static_cast<size_t>(at - out.data())];
    if (symbol.length == 0) break;
    const bool is_alone = is_dc || symbol.is_end() || symbol.bits() >= kLookBits;
    at = is_alone ? fill(symbol, is_dc, at) : tails.join(symbol, at);
  }
  std::fill(at, end, Entry::slow());
}

// Everything that determines the tables, as one string.
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
  build(out.codes, is_dc, out.look);
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
