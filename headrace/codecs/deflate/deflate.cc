#include "headrace/codecs/deflate/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

namespace headrace {
namespace {

constexpr size_t kPiece = size_t{256} << 10;    // passed on at once, at most
constexpr size_t kMostInput = size_t{1} << 30;  // zlib counts in 32 bits
constexpr int kMemoryLevel = 8, kWindowBits = 15, kGzip = 16;

}  // namespace

struct Deflater::State {
  z_stream stream{};
  bool is_made = false;
  std::vector<std::byte> out = std::vector<std::byte>(kPiece);
};

Deflater::Deflater(DeflateWrap wrap, int level) : state_(std::make_unique<State>()) {
  const int window = wrap == DeflateWrap::gzip ? kWindowBits + kGzip : kWindowBits;
  state_->is_made =
      deflateInit2(&state_->stream, level, Z_DEFLATED, window, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
}

Deflater::~Deflater() { deflateEnd(&state_->stream); }

Status Deflater::run(std::span<const std::byte> in, int flush, const Take& take) {
  if (!state_->is_made) return {Code::exhausted, "no memory to deflate"};
  z_stream& stream = state_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  int result = Z_OK;
  do {
    stream.next_out = reinterpret_cast<Bytef*>(state_->out.data());
    stream.avail_out = static_cast<uInt>(kPiece);
    result = deflate(&stream, flush);
    if (const size_t made = kPiece - stream.avail_out; made > 0)
      HEADRACE_TRY(take(std::span<const std::byte>(state_->out).first(made)));
  } while (flush == Z_FINISH ? result == Z_OK : stream.avail_out == 0);
  return result == Z_STREAM_ERROR ? internal_error("deflate: bad state") : Status();
}

Status Deflater::feed(std::span<const std::byte> in, const Take& take) {
  while (!in.empty()) {
    const size_t some = std::min(in.size(), kMostInput);
    HEADRACE_TRY(run(in.first(some), Z_NO_FLUSH, take));
    in = in.subspan(some);
  }
  return {};
}

Status Deflater::finish(const Take& take) { return run({}, Z_FINISH, take); }

}  // namespace headrace
