#include "headrace/codecs/png/inflated.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>

#include "headrace/core/stop_flag.h"

namespace headrace::png {
namespace {

// Bytes of pixels. Larger images are inflated row by row, so that a stopped run need not wait for them: this
// many, of a file that is slow to inflate, take 70 ms.
constexpr size_t kMostPixels = 24 << 20;
constexpr size_t kBlock = 0xFFFF;  // the most that a stored block of deflate holds
constexpr size_t kZlibHead = 2, kBlockHead = 5;

// Of all seven passes where the image is interlaced.
uint64_t pixel_bytes(const Ihdr& ihdr) {
  const auto bytes = [&](uint64_t across, uint64_t down) {
    return across == 0 ? 0 : down * (1 + ihdr.row_bytes(across));
  };
  if (!ihdr.is_interlaced) return bytes(ihdr.width, ihdr.height);
  struct Pass {
    uint64_t x, y, step_x, step_y;
  };
  uint64_t total = 0;
  for (const Pass& p : {Pass{0, 0, 8, 8}, Pass{4, 0, 8, 8}, Pass{0, 4, 4, 8}, Pass{2, 0, 4, 4},
                        Pass{0, 2, 2, 4}, Pass{1, 0, 2, 2}, Pass{0, 1, 1, 2}})
    total +=
        bytes((ihdr.width + p.step_x - 1 - p.x) / p.step_x, (ihdr.height + p.step_y - 1 - p.y) / p.step_y);
  return total;
}

// Positions in a file.
struct Layout {
  size_t begin = 0, end = 0;  // of the chunks of pixels
  size_t packed = 0;          // bytes in these
  size_t file_end = 0;        // past the end marker
};

// Nothing for a file with wrong checksums, or whose pixels are not in consecutive chunks.
std::optional<Layout> find_pixels(Bytes file) {
  Layout found;
  found.file_end = file.size();
  size_t at = kSignature.size();
  while (const auto chunk = chunk_at(file, at)) {
    const Bytes checked = chunk->checked();
    if (libdeflate_crc32(0, checked.data(), checked.size()) != chunk->checksum()) return {};
    const size_t end = at + chunk->whole.size();
    if (chunk->type() == "IDAT") {
      if (found.begin == 0) found.begin = found.end = at;
      if (found.end != at) return {};
      found.end = end, found.packed += chunk->data().size();
    }
    at = end;
    if (chunk->type() == "IEND") {
      found.file_end = end;
      break;
    }
  }
  return found.packed > kZlibHead + kZlibCheck ? std::optional(found) : std::nullopt;
}

// The contents of the pixel chunks, concatenated.
std::unique_ptr<std::byte[]> join(Bytes file, const Layout& layout) {
  auto out = std::make_unique_for_overwrite<std::byte[]>(layout.packed);
  std::byte* to = out.get();
  for (size_t at = layout.begin; at < layout.end;) {
    const Chunk chunk = *chunk_at(file, at);
    to = std::ranges::copy(chunk.data(), to).out;
    at += chunk.whole.size();
  }
  return out;
}

// How many bytes it took; 0 where they are damaged, or do not hold that many pixels.
size_t inflate(Bytes packed, std::span<uint8_t> out) {
  struct Free {
    void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
  };
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> inflater(libdeflate_alloc_decompressor());
  size_t read = 0;
  const bool done =
      inflater && libdeflate_zlib_decompress_ex(inflater.get(), packed.data(), packed.size(), out.data(),
                                                out.size(), &read, nullptr) == LIBDEFLATE_SUCCESS;
  return done ? read : 0;
}

void append(std::vector<std::byte>& out, size_t value, int bytes) {  // big-endian
  while (bytes-- > 0) out.push_back(static_cast<std::byte>(value >> 8 * bytes & 255));
}

std::vector<std::byte> chunk_head(std::string_view type, size_t size) {
  std::vector<std::byte> out;
  append(out, size, 4);
  for (const char letter : type) out.push_back(static_cast<std::byte>(letter));
  return out;
}

// A chunk of pixels, without a valid checksum.
void add_stored(Spliced& to, Bytes pixels, Bytes check) {
  const size_t blocks = (pixels.size() + kBlock - 1) / kBlock;
  std::vector<std::byte> head =
      chunk_head("IDAT", kZlibHead + blocks * kBlockHead + pixels.size() + kZlibCheck);
  append(head, 0x7801, kZlibHead);
  for (size_t at = 0; at < pixels.size(); at += kBlock) {
    const size_t size = std::min(kBlock, pixels.size() - at);
    append(head, at + size == pixels.size() ? 1 : 0, 1);
    for (const size_t number : {size, ~size}) append(head, number & 255, 1), append(head, number >> 8, 1);
    to.add_copy(head);
    to.add(pixels.subspan(at, size));
    head.clear();
  }
  to.add(check);
  static constexpr std::array<std::byte, 4> kNoChecksum{};
  to.add(kNoChecksum);
}

}  // namespace

size_t Spliced::read(std::byte* to, size_t size) {
  size_t done = 0;
  while (done < size && part_ < parts_.size()) {
    const Bytes left = parts_[part_].subspan(at_);
    const size_t some = std::min(left.size(), size - done);
    if (some > 0) std::memcpy(to + done, left.data(), some);
    done += some, at_ += some;
    if (some == left.size()) ++part_, at_ = 0;
  }
  return done;
}

Result<bool> Inflated::read(Bytes file) {
  const uint64_t size = pixel_bytes(ihdr_of(file));
  if (budget_.is_stopped()) return stopped();
  const auto layout = size <= kMostPixels ? find_pixels(file) : std::nullopt;
  if (!layout) return false;
  if (budget_.is_stopped()) return stopped();
  LibraryMemory of_joined(budget_);
  std::unique_ptr<std::byte[]> joined;
  Bytes packed = chunk_at(file, layout->begin)->data();
  if (packed.size() < layout->packed) {  // in several chunks
    if (!of_joined.expect(layout->packed)) return of_joined.over_budget("the chunks of a PNG");
    joined = join(file, *layout);
    packed = {joined.get(), layout->packed};
  }
  if (!memory_.expect(size)) return memory_.over_budget("the pixels of a PNG");
  pixels_ = std::make_unique_for_overwrite<uint8_t[]>(size), size_ = size;
  const size_t used = inflate(packed, {pixels_.get(), size_});
  if (used == 0) return false;
  if (budget_.is_stopped()) return stopped();
  before_ = file.first(layout->begin);
  after_ = file.subspan(layout->end, layout->file_end - layout->end);
  std::ranges::copy(packed.subspan(used - kZlibCheck, kZlibCheck), check_.begin());
  return true;
}

Spliced Inflated::stored() const {
  Spliced out;
  out.add(before_);
  add_stored(out, std::as_bytes(pixels()), check_);
  out.add(after_);
  return out;
}

Spliced Inflated::with_one_pixel() const {
  static constexpr std::array<std::byte, 9> kPixel{};        // with its filter, in the largest kind
  constexpr size_t kSize = kSignature.size() + 8, kEnd = 8;  // where the size of the image is
  Ihdr ihdr = ihdr_of(before_);
  ihdr.width = ihdr.height = 1;
  std::vector<std::byte> head(before_.begin(), before_.begin() + kSize);
  append(head, 1, 4), append(head, 1, 4);
  Spliced out;
  out.add_copy(head);
  out.add(before_.subspan(kSize + kEnd));
  add_stored(out, Bytes(kPixel).first(pixel_bytes(ihdr)), Bytes(kPixel).first(kZlibCheck));
  out.add(after_);
  return out;
}

}  // namespace headrace::png
