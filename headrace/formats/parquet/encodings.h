// Parquet's encodings, taken apart: numbers of some bits, runs, deltas, texts. Every count comes from the
// caller, who has bounded it; what the bytes say is checked against what they are. Pure; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/core/status.h"

namespace headrace::parquet {

using Span = std::span<const std::byte>;

// Where the bytes of a text lie: in which of a column's buffers.
struct Piece {
  uint64_t offset = 0;
  uint32_t length = 0, buffer = 0;
};

// `count` numbers of 0 to 64 bits, little end first. REQUIRES: the bytes for them are there.
template <class T> void unpack_bits(Span bytes, int width, size_t count, T* out);

// RLE/bit-packed hybrid, to the end of `out`. Bytes behind it are left alone.
template <class T> Status read_runs(Span bytes, int width, std::span<T> out);
// Whether one run of `value` is all there is for `count` numbers.
bool is_one_run(Span bytes, int width, uint64_t count, uint32_t value);
// BIT_PACKED levels of old files: big end first. How many bytes they have is (count * width + 7) / 8.
Status read_old_levels(Span bytes, int width, std::span<uint8_t> out);

// Booleans become a byte each.
Status read_plain_bools(Span bytes, std::span<std::byte> out);
Status read_rle_bools(Span bytes, std::span<std::byte> out);

// DELTA_BINARY_PACKED, off the front of `bytes`. T: int32_t or int64_t; sums wrap around.
template <class T> Status read_delta(Span& bytes, std::span<T> out);
// BYTE_STREAM_SPLIT of values of `width` bytes, to the end of `out`.
Status read_byte_split(Span bytes, size_t width, std::span<std::byte> out);

// Texts of a page's body, which is column buffer `buffer`, from `at` on.
Status read_plain_texts(Span body, uint64_t at, uint32_t buffer, std::span<Piece> out);
Status read_delta_lengths(Span body, uint64_t at, uint32_t buffer, std::span<Piece> out);
// Texts that share what they begin with, put together in memory that is made for them and is column buffer
// `buffer`. More than `most` bytes are refused before it is taken: each may repeat the one before.
Result<BufferPtr> read_delta_texts(Span bytes, uint32_t buffer, uint64_t most, std::span<Piece> out);

}  // namespace headrace::parquet
