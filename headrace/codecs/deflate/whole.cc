#include "headrace/codecs/deflate/whole.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>

namespace headrace {
namespace {

constexpr size_t kMostAtOnce = size_t{1} << 30;  // zlib counts in 32 bits

// One per thread and frame type: creating it costs as much as unpacking some kilobytes.
class WholeStream {
 public:
  WholeStream(int window, bool has_members) : has_members_(has_members) {
    ready_ = inflateInit2(&stream_, window) == Z_OK;
  }
  ~WholeStream() {
    if (ready_) inflateEnd(&stream_);
  }
  WholeStream(const WholeStream&) = delete;
  WholeStream& operator=(const WholeStream&) = delete;

  Result<size_t> run(std::span<const std::byte> in, std::span<std::byte> out) {
    if (!ready_ || inflateReset(&stream_) != Z_OK) return Status(Code::exhausted, "no memory to inflate");
    size_t used = 0, made = 0;
    Bytef nothing = 0;
    int code = Z_OK;
    while (code == Z_OK) {
      const size_t piece = std::min(in.size() - used, kMostAtOnce);
      const size_t room = std::min(out.size() - made, kMostAtOnce);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + used));
      stream_.avail_in = static_cast<uInt>(piece);
      stream_.next_out = room > 0 ? reinterpret_cast<Bytef*>(out.data() + made) : &nothing;
      stream_.avail_out = static_cast<uInt>(room);
      code = inflate(&stream_, Z_NO_FLUSH);
      used += piece - stream_.avail_in, made += room - stream_.avail_out;
      if (code != Z_STREAM_END || !has_members_) continue;
      while (used < in.size() && in[used] == std::byte{0}) ++used;
      if (used < in.size()) code = inflateReset(&stream_);
    }
    if (code == Z_STREAM_END && used == in.size()) return made;
    if (code == Z_STREAM_END)
      return corrupt("expected deflated data of " + std::to_string(in.size()) +
                     " bytes, but it ends at byte " + std::to_string(used));
    if (code == Z_BUF_ERROR && made == out.size())
      return corrupt(
          {.expected = "at most " + std::to_string(out.size()) + " unpacked bytes", .got = "more"});
    if (code == Z_BUF_ERROR) return corrupt("deflated data ends early");
    return corrupt(std::string("cannot inflate (") + (stream_.msg ? stream_.msg : "bad data") +
                   ") at compressed byte " + std::to_string(used));
  }

 private:
  z_stream stream_{};
  bool has_members_, ready_ = false;
};

}  // namespace

Result<size_t> inflate_whole(DeflateFrame frame, std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr int kWindow = 15, kByHead = 32;  // zlib's window bits: negative means no frame
  thread_local WholeStream raw(-kWindow, false), zlib(kWindow, false), members(kByHead + kWindow, true);
  switch (frame) {
    case DeflateFrame::raw: return raw.run(in, out);
    case DeflateFrame::zlib: return zlib.run(in, out);
    default: return members.run(in, out);
  }
}

uint32_t crc32_of(std::span<const std::byte> bytes) {
  uLong crc = ::crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const size_t some = std::min(bytes.size(), kMostAtOnce);
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(some));
    bytes = bytes.subspan(some);
  }
  return static_cast<uint32_t>(crc);
}

}  // namespace headrace
