#include "headrace/codecs/png/inflated.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace headrace::png {
namespace {

constexpr size_t kMostPixels = 64 << 20;  // bytes of them: more are inflated row by row
constexpr size_t kBlock = 0xFFFF;         // the most that a stored block of deflate holds
constexpr size_t kBlockHead = 5, kZlibHead = 2, kZlibCheck = 4;

// Of all seven passes where the image is interlaced. 0: too many.
size_t pixel_bytes(const Ihdr& ihdr) {
  if (ihdr.width * ihdr.height > kMostPixels) return 0;
  const auto bytes = [&](uint64_t across, uint64_t down) {
    return across == 0 ? 0 : down * (1 + ihdr.row_bytes(across));
  };
  uint64_t total = 0;
  if (!ihdr.is_interlaced) {
    total = bytes(ihdr.width, ihdr.height);
  } else {
    struct Pass {
      uint64_t x, y, step_x, step_y;
    };
    for (const Pass& p : {Pass{0, 0, 8, 8}, Pass{4, 0, 8, 8}, Pass{0, 4, 4, 8}, Pass{2, 0, 4, 4},
                          Pass{0, 2, 2, 4}, Pass{1, 0, 2, 2}, Pass{0, 1, 1, 2}})
      total +=
          bytes((ihdr.width + p.step_x - 1 - p.x) / p.step_x, (ihdr.height + p.step_y - 1 - p.y) / p.step_y);
  }
  return total <= kMostPixels ? total : 0;
}

// Where the pixels lie in a file.
struct Place {
  size_t begin = 0, end = 0;  // of their chunks
  size_t packed = 0;          // bytes in these
};

// Nothing for a file whose checksums are not right, or whose pixels are not in chunks that follow each other.
std::optional<Place> find_pixels(Bytes file) {
  Place found;
  size_t at = kSignature.size();
  while (const auto chunk = chunk_at(file, at)) {
    const Bytes checked = chunk->checked();
    if (libdeflate_crc32(0, checked.data(), checked.size()) != chunk->checksum()) return {};
    const size_t end = at + chunk->whole.size();
    const std::string_view type = chunk->type();
    if (type == "IDAT") {
      if (found.begin == 0) found.begin = found.end = at;
      if (found.end != at) return {};
      found.end = end, found.packed += chunk->data().size();
    } else if (type == "IEND") {
      break;
    } else if (chunk->is_critical() && (type != "IHDR" || at > kSignature.size()) &&
               (type != "PLTE" || found.begin > 0)) {
      return {};
    }
    at = end;
  }
  return found.packed > kZlibHead + kZlibCheck ? std::optional(found) : std::nullopt;
}

// What the chunks of pixels hold, one after the other.
Bytes join(Bytes file, const Place& pixels, Scratch& scratch) {
  const Chunk first = *chunk_at(file, pixels.begin);
  if (first.data().size() == pixels.packed) return first.data();
  const auto out = scratch.take<std::byte>(pixels.packed);
  std::byte* to = out.data();
  for (size_t at = pixels.begin; to && at < pixels.end;) {
    const Chunk chunk = *chunk_at(file, at);
    if (!chunk.data().empty()) std::memcpy(to, chunk.data().data(), chunk.data().size());
    to += chunk.data().size(), at += chunk.whole.size();
  }
  return out;
}

bool inflate(Bytes packed, std::span<uint8_t> out) {
  struct Free {
    void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
  };
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> inflater(libdeflate_alloc_decompressor());
  size_t read = 0;
  return inflater &&
         libdeflate_zlib_decompress_ex(inflater.get(), packed.data(), packed.size(), out.data(), out.size(),
                                       &read, nullptr) == LIBDEFLATE_SUCCESS &&
         read == packed.size();
}

class Writer {
 public:
  explicit Writer(std::byte* to) : to_(to) {}
  void bytes(Bytes from) {
    if (from.empty()) return;
    std::memmove(to_, from.data(), from.size());
    to_ += from.size();
  }
  void byte(size_t value) { *to_++ = static_cast<std::byte>(value); }
  void big_endian(size_t value) {
    for (const int shift : {24, 16, 8, 0}) byte(value >> shift & 255);
  }
  void stored_block(Bytes from, bool is_last) {
    byte(is_last ? 1 : 0);
    for (const size_t size : {from.size(), ~from.size()}) byte(size & 255), byte(size >> 8 & 255);
    bytes(from);
  }

 private:
  std::byte* to_;
};

size_t stored_bytes(size_t size) {
  return kZlibHead + (size + kBlock - 1) / kBlock * kBlockHead + size + kZlibCheck;
}

}  // namespace

std::optional<Inflated> Inflated::make(Bytes file, Scratch& scratch) {
  const size_t size = pixel_bytes(ihdr_of(file));
  const auto place = size > 0 ? find_pixels(file) : std::nullopt;
  if (!place) return {};
  const Bytes packed = join(file, *place, scratch);
  if (packed.empty()) return {};
  Inflated out;
  out.before_ = file.first(place->begin), out.after_ = file.subspan(place->end);
  out.check_ = packed.last(kZlibCheck);
  const size_t behind = kZlibCheck + 4 + out.after_.size();
  out.room_ =
      scratch.take<std::byte>(out.before_.size() + kChunkOverhead + stored_bytes(size) + out.after_.size());
  if (out.room_.empty()) return {};
  out.pixels_ = {reinterpret_cast<uint8_t*>(out.room_.data()) + out.room_.size() - behind - size, size};
  return inflate(packed, out.pixels_) ? std::optional(out) : std::nullopt;
}

// Blocks are moved forward, each over what is moved already.
Bytes Inflated::as_file() && {
  const Bytes pixels = std::as_bytes(pixels_);
  Writer writer(room_.data());
  writer.bytes(before_);
  writer.big_endian(stored_bytes(pixels.size()));
  writer.bytes(std::as_bytes(std::span("IDAT", 4)));
  writer.byte(0x78), writer.byte(0x01);
  for (size_t at = 0; at < pixels.size(); at += kBlock)
    writer.stored_block(pixels.subspan(at, std::min(kBlock, pixels.size() - at)),
                        at + kBlock >= pixels.size());
  writer.bytes(check_);
  writer.big_endian(0);  // where the checksum would be
  writer.bytes(after_);
  return room_;
}

}  // namespace headrace::png
