// Decoders of Parquet's encodings: bit-packed numbers, runs, deltas, strings. Every count comes from the
// caller, which has bounded it; everything else is checked against the available bytes. Pure; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/core/status.h"

namespace headrace::parquet {

using Span = std::span<const std::byte>;

// The location of a string's bytes in the buffers of its column.
struct Piece {
  uint64_t offset = 0;
  uint32_t length = 0, buffer = 0;
};

// `count` numbers of 0 to 64 bits, little endian. REQUIRES: `bytes` holds all of them.
template <class T> void unpack_bits(Span bytes, int width, size_t count, T* out);

// RLE/bit-packed hybrid, to the end of `out`. Bytes after it are ignored.
template <class T> Status read_runs(Span bytes, int width, std::span<T> out);
// Whether `count` numbers are one run of `value`.
bool is_one_run(Span bytes, int width, uint64_t count, uint32_t value);
// BIT_PACKED levels of old files: big endian, in (count * width + 7) / 8 bytes.
Status read_old_levels(Span bytes, int width, std::span<uint8_t> out);

// Booleans become a byte each.
Status read_plain_bools(Span bytes, std::span<std::byte> out);
Status read_rle_bools(Span bytes, std::span<std::byte> out);

// DELTA_BINARY_PACKED, removed from the front of `bytes`. T: int32_t or int64_t; sums wrap around.
template <class T> Status read_delta(Span& bytes, std::span<T> out);
// BYTE_STREAM_SPLIT of values of `width` bytes, to the end of `out`.
Status read_byte_split(Span bytes, size_t width, std::span<std::byte> out);

// Strings of a page's body, which is column buffer `buffer`, from `at` on.
Status read_plain_texts(Span body, uint64_t at, uint32_t buffer, std::span<Piece> out);
Status read_delta_lengths(Span body, uint64_t at, uint32_t buffer, std::span<Piece> out);
// Strings that share prefixes, decoded into newly allocated memory, which is column buffer `buffer`. More
// than `most` bytes are refused before allocation: each string may repeat the previous one.
Result<BufferPtr> read_delta_texts(Span bytes, uint32_t buffer, uint64_t most, std::span<Piece> out);

}  // namespace headrace::parquet
