#include "cli/npz.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/codecs/npy.h"

namespace headrace::cli {
namespace {

constexpr size_t kEnd = 22, kEntry = 46, kLocal = 30;  // bytes of zip's records before what varies
constexpr uint64_t kSeveral = 0xFFFFFFFF;              // the number stands in an extra field of 64 bits

// The little-endian number of so many bytes. REQUIRES: they are there.
uint64_t number(std::string_view bytes, size_t at, size_t size) {
  uint64_t out = 0;
  for (size_t i = size; i-- > 0;) out = out << 8 | static_cast<uint8_t>(bytes[at + i]);
  return out;
}

Status damaged() { return invalid("is no .npz file, or a damaged one"); }

struct Entry {
  std::string name;
  uint64_t method = 0, packed = 0, size = 0, crc = 0, local = 0;
};

// Sizes of 4 GiB and more: in the field 1, those that did not fit in their order.
void widen(Entry& entry, std::string_view extra) {
  while (extra.size() >= 4) {
    const uint64_t id = number(extra, 0, 2), size = std::min<uint64_t>(number(extra, 2, 2), extra.size() - 4);
    std::string_view field = extra.substr(4, size);
    if (id == 1)
      for (uint64_t* wide : {&entry.size, &entry.packed, &entry.local})
        if (*wide == kSeveral && field.size() >= 8) *wide = number(field, 0, 8), field.remove_prefix(8);
    extra.remove_prefix(4 + size);
  }
}

Result<std::vector<Entry>> directory(std::string_view zip) {
  const size_t end = zip.rfind(std::string_view("PK\5\6", 4));
  if (end == std::string_view::npos || zip.size() - end < kEnd) return damaged();
  const uint64_t count = number(zip, end + 10, 2);
  uint64_t at = number(zip, end + 16, 4);
  std::vector<Entry> out;
  for (uint64_t i = 0; i < count; ++i) {
    if (at > zip.size() || zip.size() - at < kEntry || zip.substr(at, 4) != "PK\1\2") return damaged();
    const uint64_t name = number(zip, at + 28, 2), extra = number(zip, at + 30, 2);
    Entry entry{std::string(zip.substr(at + kEntry, name)),
                number(zip, at + 10, 2),
                number(zip, at + 20, 4),
                number(zip, at + 24, 4),
                number(zip, at + 16, 4),
                number(zip, at + 42, 4)};
    if (zip.size() - at < kEntry + name + extra) return damaged();
    widen(entry, zip.substr(at + kEntry + name, extra));
    at += kEntry + name + extra + number(zip, at + 32, 2);
    out.push_back(std::move(entry));
  }
  return out;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The deflated bytes of a zip between the head and the tail that make a gzip member of them.
Result<std::string> inflated(const Entry& entry, std::string_view packed) {
  constexpr std::string_view kHead("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  std::string tail, out;
  for (const uint64_t value : {entry.crc, entry.size})
    for (int i = 0; i < 4; ++i) tail += static_cast<char>(value >> (8 * i) & 255);
  Inflater inflater;
  const auto take = [&](std::span<const std::byte> piece) -> Status {
    if (piece.size() > entry.size - out.size()) return damaged();
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return {};
  };
  for (const std::string_view piece : {kHead, packed, std::string_view(tail)})
    HEADRACE_TRY(inflater.feed(bytes_of(piece), take));
  HEADRACE_TRY(inflater.finish());
  return out;
}

Result<Tensor> read_entry(const Entry& entry, std::string_view zip) {
  if (entry.local > zip.size() || zip.size() - entry.local < kLocal) return damaged();
  const uint64_t data =
      entry.local + kLocal + number(zip, entry.local + 26, 2) + number(zip, entry.local + 28, 2);
  if (data > zip.size() || entry.packed > zip.size() - data) return damaged();
  const std::string_view packed = zip.substr(data, entry.packed);
  if (entry.method == 0) return read_npy(bytes_of(packed));
  if (entry.method != 8) return invalid("wants stored or deflated arrays");
  HEADRACE_ASSIGN(const std::string file, inflated(entry, packed));
  return read_npy(bytes_of(file));
}

}  // namespace

Result<Tensor> read_npy(std::span<const std::byte> file) {
  HEADRACE_ASSIGN(const NpyHeader header, read_npy_header(file));
  const TensorSpec spec{header.dtype, header.shape};
  if (spec.size_bytes() != file.size() - header.data)
    return invalid("wants " + std::to_string(spec.size_bytes()) + " bytes for " + spec.text() + ", got " +
                   std::to_string(file.size() - header.data));
  const MutableBufferPtr out = HeapBuffer::make(std::max<size_t>(spec.size_bytes(), 1));
  HEADRACE_TRY(read_npy_data(file, header, out->mutable_data()));
  return Tensor{out, 0, spec.dtype, spec.shape, nullptr};
}

Result<std::vector<std::pair<std::string, Tensor>>> read_npz(std::span<const std::byte> file) {
  const std::string_view zip(reinterpret_cast<const char*>(file.data()), file.size());
  HEADRACE_ASSIGN(const std::vector<Entry> entries, directory(zip));
  std::vector<std::pair<std::string, Tensor>> out;
  for (const Entry& entry : entries) {
    auto array = read_entry(entry, zip);
    if (!array.ok()) return array.status().before("'" + entry.name + "': ");
    const bool has_ending = entry.name.ends_with(".npy");
    out.emplace_back(entry.name.substr(0, entry.name.size() - (has_ending ? 4 : 0)), *std::move(array));
  }
  return out;
}

}  // namespace headrace::cli
