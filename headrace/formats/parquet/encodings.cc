#include "headrace/formats/parquet/encodings.h"

#include <algorithm>
#include <cstring>

#include "headrace/core/little_endian.h"
#include "headrace/formats/parquet/zigzag.h"

namespace headrace::parquet {
namespace {

uint64_t bytes_for(uint64_t count, int width) {  // count is below 2^32
  return (count * static_cast<uint64_t>(width) + 7) / 8;
}

// Removes a varint from the front; false if there is none.
bool take_varint(Span& bytes, uint64_t& out) {
  out = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = std::to_integer<uint64_t>(bytes[0]);
    bytes = bytes.subspan(1);
    out |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

uint64_t mask_of(int width) { return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }

Status ends_early(const char* what, size_t wanted, size_t got) {
  return corrupt("expected " + std::to_string(wanted) + " " + what + ", but the page ends after " +
                 std::to_string(got));
}

}  // namespace

template <class T> void unpack_bits(Span bytes, int width, size_t count, T* out) {
  const uint64_t mask = mask_of(width);
  const auto step = static_cast<size_t>(width);
  const std::byte* data = bytes.data();
  size_t i = 0;
  for (size_t bit = 0; i < count && bit / 8 + 9 <= bytes.size(); ++i, bit += step) {
    const size_t shift = bit % 8;
    uint64_t value = load<uint64_t>(data + bit / 8) >> shift;
    if (shift + step > 64) value |= std::to_integer<uint64_t>(data[bit / 8 + 8]) << (64 - shift);
    out[i] = static_cast<T>(value & mask);
  }
  if (i == count) return;
  std::byte tail[32] = {};  // the last values, followed by zeros
  const size_t first = i * step / 8,
               left = std::min(bytes.size() - std::min(first, bytes.size()), size_t{16});
  if (left > 0) std::memcpy(tail, data + first, left);
  for (size_t bit = i * step - first * 8; i < count; ++i, bit += step) {
    const size_t shift = bit % 8, at = std::min(bit / 8, size_t{16});
    uint64_t value = load<uint64_t>(tail + at) >> shift;
    if (shift + step > 64) value |= std::to_integer<uint64_t>(tail[at + 8]) << (64 - shift);
    out[i] = static_cast<T>(value & mask);
  }
}

template <class T> Status read_runs(Span bytes, int width, std::span<T> out) {
  size_t done = 0;
  while (done < out.size()) {
    uint64_t head = 0;
    if (!take_varint(bytes, head)) return ends_early("values in runs", out.size(), done);
    const uint64_t room = out.size() - done;
    if (head & 1) {
      const uint64_t values = head >> 1 > room ? room : std::min(room, (head >> 1) * 8);
      const uint64_t needed = bytes_for(values, width);
      if (needed > bytes.size()) return ends_early("values in runs", out.size(), done);
      unpack_bits(bytes.first(needed), width, values, out.data() + done);
      done += values;
      const uint64_t groups = std::min<uint64_t>(head >> 1, uint64_t{1} << 32);
      bytes = bytes.subspan(std::min<uint64_t>(groups * static_cast<uint64_t>(width), bytes.size()));
      continue;
    }
    const size_t size = (static_cast<size_t>(width) + 7) / 8;
    if (size > bytes.size()) return ends_early("values in runs", out.size(), done);
    uint32_t value = 0;
    std::memcpy(&value, bytes.data(), size);
    bytes = bytes.subspan(size);
    if (value > mask_of(width) || value > static_cast<T>(~T{0}))
      return corrupt({.expected = "a run of values of " + std::to_string(width) + " bits",
                      .got = std::to_string(value)});
    const uint64_t values = std::min(room, head >> 1);
    std::fill_n(out.data() + done, values, static_cast<T>(value));
    done += values;
  }
  return {};
}

bool is_one_run(Span bytes, int width, uint64_t count, uint32_t value) {
  uint64_t head = 0;
  const size_t size = (static_cast<size_t>(width) + 7) / 8;
  if (!take_varint(bytes, head) || head & 1 || head >> 1 < count || size > bytes.size()) return false;
  uint32_t got = 0;
  std::memcpy(&got, bytes.data(), size);
  return got == value;
}

Status read_old_levels(Span bytes, int width, std::span<uint8_t> out) {
  if (bytes_for(out.size(), width) > bytes.size()) return ends_early("levels", out.size(), bytes.size());
  for (size_t i = 0; i < out.size(); ++i) {
    unsigned value = 0;
    for (size_t bit = i * static_cast<size_t>(width), end = bit + static_cast<size_t>(width); bit < end;
         ++bit)
      value = value << 1 | (std::to_integer<unsigned>(bytes[bit / 8]) >> (7 - bit % 8) & 1);
    out[i] = static_cast<uint8_t>(value);
  }
  return {};
}

Status read_plain_bools(Span bytes, std::span<std::byte> out) {
  if (bytes_for(out.size(), 1) > bytes.size()) return ends_early("booleans", out.size(), 8 * bytes.size());
  unpack_bits(bytes, 1, out.size(), reinterpret_cast<uint8_t*>(out.data()));
  return {};
}

Status read_rle_bools(Span bytes, std::span<std::byte> out) {
  if (out.empty()) return {};
  if (bytes.size() < 4) return ends_early("booleans", out.size(), 0);
  const auto length = load<uint32_t>(bytes);
  bytes = bytes.subspan(4);
  if (length > bytes.size()) return ends_early("bytes of booleans", length, bytes.size());
  return read_runs(bytes.first(length), 1, std::span(reinterpret_cast<uint8_t*>(out.data()), out.size()));
}

namespace {

struct DeltaHead {
  uint64_t block = 0, minis = 0, first = 0;
  uint64_t each() const { return block / minis; }
};

Result<DeltaHead> read_delta_head(Span& bytes, uint64_t wanted) {
  DeltaHead out;
  uint64_t count = 0;
  if (!take_varint(bytes, out.block) || !take_varint(bytes, out.minis) || !take_varint(bytes, count) ||
      !take_varint(bytes, out.first))
    return corrupt("expected a delta header, but the page ends");
  if (out.block == 0 || out.block % 128 != 0 || out.block > uint64_t{1} << 31)
    return corrupt({.expected = "blocks of a multiple of 128 deltas", .got = std::to_string(out.block)});
  if (out.minis == 0 || out.block % out.minis != 0 || out.each() % 32 != 0)
    return corrupt({.expected = "miniblocks of a multiple of 32 deltas",
                    .got = std::to_string(out.minis) + " of " + std::to_string(out.block)});
  if (count != wanted)
    return corrupt(
        {.expected = std::to_string(wanted) + " delta-encoded values", .got = std::to_string(count)});
  return out;
}

}  // namespace

template <class T> Status read_delta(Span& bytes, std::span<T> out) {
  if (out.empty() && bytes.empty()) return {};
  HEADRACE_ASSIGN(const DeltaHead head, read_delta_head(bytes, out.size()));
  if (out.empty()) return {};
  auto last = static_cast<uint64_t>(from_zigzag(head.first));
  out[0] = static_cast<T>(last);
  std::vector<uint64_t> deltas;
  for (size_t done = 1; done < out.size();) {
    uint64_t least = 0;
    if (!take_varint(bytes, least) || bytes.size() < head.minis)
      return ends_early("deltas", out.size(), done);
    least = static_cast<uint64_t>(from_zigzag(least));
    const Span widths = bytes.first(head.minis);
    bytes = bytes.subspan(head.minis);
    for (uint64_t mini = 0; mini < head.minis && done < out.size(); ++mini) {
      const int width = std::to_integer<int>(widths[mini]);
      if (width > static_cast<int>(8 * sizeof(T)))
        return corrupt({.expected = "deltas of at most " + std::to_string(8 * sizeof(T)) + " bits",
                        .got = std::to_string(width)});
      const uint64_t count = std::min<uint64_t>(head.each(), out.size() - done);
      const uint64_t needed = bytes_for(count, width);
      if (needed > bytes.size()) return ends_early("deltas", out.size(), done);
      if (deltas.size() < count) deltas.resize(count);
      unpack_bits(bytes.first(needed), width, count, deltas.data());
      for (uint64_t i = 0; i < count; ++i) {
        last += least + deltas[i];
        out[done + i] = static_cast<T>(last);
      }
      done += count;
      bytes = bytes.subspan(std::min<uint64_t>(bytes_for(head.each(), width), bytes.size()));
    }
  }
  return {};
}

Status read_byte_split(Span bytes, size_t width, std::span<std::byte> out) {
  const size_t count = out.size() / width;
  if (bytes.size() < out.size()) return ends_early("bytes of split values", out.size(), bytes.size());
  const size_t stride = bytes.size() / width;
  for (size_t b = 0; b < width; ++b)
    for (size_t i = 0; i < count; ++i) out[i * width + b] = bytes[b * stride + i];
  return {};
}

Status read_plain_texts(Span body, uint64_t at, uint32_t buffer, std::span<Piece> out) {
  for (Piece& piece : out) {
    if (body.size() - at < 4)
      return ends_early("strings", out.size(), static_cast<size_t>(&piece - out.data()));
    const auto length = load<uint32_t>(body, at);
    at += 4;
    if (length > body.size() - at)
      return corrupt({.expected = "strings inside the page",
                      .got = "one of " + std::to_string(length) + " bytes with " +
                             std::to_string(body.size() - at) + " left"});
    piece = {at, length, buffer};
    at += length;
  }
  return {};
}

namespace {

Result<std::vector<int32_t>> read_lengths(Span& bytes, size_t count) {
  std::vector<int32_t> out(count);
  HEADRACE_TRY(read_delta(bytes, std::span(out)));
  for (const int32_t length : out)
    if (length < 0) return corrupt({.expected = "string lengths >= 0", .got = std::to_string(length)});
  return out;
}

}  // namespace

Status read_delta_lengths(Span body, uint64_t at, uint32_t buffer, std::span<Piece> out) {
  Span bytes = body.subspan(at);
  HEADRACE_ASSIGN(const std::vector<int32_t> lengths, read_lengths(bytes, out.size()));
  at = body.size() - bytes.size();
  for (size_t i = 0; i < out.size(); ++i) {
    const auto length = static_cast<uint32_t>(lengths[i]);
    if (length > body.size() - at)
      return corrupt({.expected = "strings inside the page",
                      .got = "one of " + std::to_string(length) + " bytes with " +
                             std::to_string(body.size() - at) + " left"});
    out[i] = {at, length, buffer};
    at += length;
  }
  return {};
}

Result<BufferPtr> read_delta_texts(Span bytes, uint32_t buffer, uint64_t most, std::span<Piece> out) {
  HEADRACE_ASSIGN(const std::vector<int32_t> prefixes, read_lengths(bytes, out.size()));
  HEADRACE_ASSIGN(const std::vector<int32_t> suffixes, read_lengths(bytes, out.size()));
  uint64_t size = 0, left = bytes.size(), before = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto prefix = static_cast<uint64_t>(prefixes[i]), suffix = static_cast<uint64_t>(suffixes[i]);
    if (prefix > before || suffix > left)
      return corrupt({.expected = "a string that shares a prefix with the previous one",
                      .got = "one that takes " + std::to_string(prefix) + " of its " +
                             std::to_string(before) + " bytes and " + std::to_string(suffix) + " of " +
                             std::to_string(left) + " left"});
    before = prefix + suffix;
    if (before > UINT32_MAX) return corrupt("expected strings of less than 4 GiB");
    left -= suffix;
    out[i] = {size, static_cast<uint32_t>(before), buffer};
    size += before;
  }
  if (size > most)
    return Status(Code::exhausted,
                  {.expected = "delta-encoded strings of at most " + std::to_string(most) + " more bytes",
                   .got = std::to_string(size)});
  const MutableBufferPtr made = HeapBuffer::make(size);
  std::byte* to = made->mutable_data();
  for (size_t i = 0; i < out.size(); ++i) {
    const auto prefix = static_cast<size_t>(prefixes[i]), suffix = static_cast<size_t>(suffixes[i]);
    if (prefix > 0) std::memcpy(to + out[i].offset, to + out[i - 1].offset, prefix);
    if (suffix > 0) std::memcpy(to + out[i].offset + prefix, bytes.data(), suffix);
    bytes = bytes.subspan(suffix);
  }
  return BufferPtr(made);
}

template void unpack_bits(Span, int, size_t, uint8_t*);
template void unpack_bits(Span, int, size_t, uint32_t*);
template void unpack_bits(Span, int, size_t, uint64_t*);
template Status read_runs(Span, int, std::span<uint8_t>);
template Status read_runs(Span, int, std::span<uint32_t>);
template Status read_delta(Span&, std::span<int32_t>);
template Status read_delta(Span&, std::span<int64_t>);

}  // namespace headrace::parquet
