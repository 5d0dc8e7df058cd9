// The values of one column for some rows of a batch.
#pragma once
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/formats/arrow/compression.h"
#include "headrace/formats/nulls.h"

namespace headrace::arrow {

// Some bits of a bitmap; all are set when there is none.
struct Bits {
  Bytes bytes;
  uint64_t shift = 0;  // position of the first bit
  bool operator[](uint64_t i) const {
    if (!bytes.buffer) return true;
    const uint64_t at = shift + i;
    return (std::to_integer<unsigned>(bytes.data()[at / 8]) >> (at % 8) & 1) != 0;
  }
};

// Offset i, each of 4 or 8 bytes.
inline uint64_t offset_in(const Bytes& offsets, int size, uint64_t i) {
  const std::byte* at = offsets.data() + i * static_cast<uint64_t>(size);
  return size == 8 ? load<uint64_t>(at) : load<uint32_t>(at);
}

// The 16 bytes of a row: its length, then up to 12 bytes inline, else the first four bytes and the place of
// all of them.
struct View16 {
  int32_t length = 0, prefix = 0, buffer = 0, offset = 0;
  bool is_short() const { return length <= 12; }
};
static_assert(sizeof(View16) == 16);
inline constexpr uint64_t kShortRun = 4;  // where inline bytes begin

struct Values;
using ValuesPtr = std::shared_ptr<const Values>;
using Dictionaries = std::map<int64_t, ValuesPtr>;  // by the id in columns

// Values at a constant stride, runs between offsets, or runs that views refer to. Filled by a RowsReader,
// which checks that all bytes are available; not changed afterwards.
struct Values {
  std::string_view name;  // the column's, which outlives this
  DType dtype = DType::u8;
  Shape item;  // of a row, or of each item of a run
  uint64_t items_each = 1;
  uint64_t count = 0;                      // of rows
  uint64_t first_item = 0, num_items = 0;  // of the batch's, which `data` holds
  int offset_size = 0;
  Bytes offsets, data;
  std::vector<Bits> present;  // of rows: its own and those of the structs around it
  Bits items_present;
  bool of_texts = false;  // strings of lists, or their lengths
  // For lists with null strings: the offsets of each row's strings, and of each string's bytes.
  Bytes lists, texts;
  int list_size = 0, text_size = 0;
  ValuesPtr dictionary;  // these values are indices into it
  // For views: 16 bytes per row, and the part of each buffer behind them that these rows use.
  struct Behind {
    uint64_t begin = 0;  // in the buffer
    Bytes bytes;
  };
  bool is_view = false;
  Bytes views;
  std::vector<Behind> behind;
  size_t held = 0;  // memory allocated in addition to the given buffers

  // Shares the bytes. REQUIRES: row < count.
  Status at(uint64_t row, Nulls nulls, Tensor& out) const;
  // Whether at() reads a null. REQUIRES: at() of this row succeeds.
  bool is_null(uint64_t row) const;
  // Whether rows are contiguous, of row_bytes() bytes each.
  bool is_plain() const {
    return offset_size == 0 && !is_view && present.empty() && !items_present.bytes.buffer && !dictionary;
  }
  size_t row_bytes() const { return items_each * size_of(dtype); }
  uint64_t offset(uint64_t row) const { return offset_in(offsets, offset_size, row); }
  View16 view(uint64_t row) const { return load<View16>(views.data() + row * sizeof(View16)); }
  bool is_present(uint64_t row) const;
};

}  // namespace headrace::arrow
