#include "headrace/formats/hdf5/chunks/szip.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace headrace::hdf5 {
namespace {

// Reads bits, most significant first. Past the end they are zeros, and ok() is false.
class Bits {
 public:
  explicit Bits(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }

  uint32_t take(int count) {  // 0 to 32
    while (held_ < count) {
      if (at_ == bytes_.size()) ok_ = false;
      window_ = window_ << 8 | (ok_ ? std::to_integer<uint64_t>(bytes_[at_++]) : 0);
      held_ += 8;
    }
    held_ -= count;
    return static_cast<uint32_t>(window_ >> held_ & ((uint64_t{1} << count) - 1));
  }
  uint32_t zeros() {  // counts zeros before the next one bit, and skips that
    uint32_t out = 0;
    while (ok_ && take(1) == 0) ++out;
    return out;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  uint64_t window_ = 0;
  int held_ = 0;
  bool ok_ = true;
};

// Pairs of numbers are coded as one number: those with sum 0, with sum 1, and so on.
struct Pair {
  uint32_t sum = 0, first = 0;  // the first code of that sum
};
Pair pair_of(uint32_t code) {
  Pair out;
  while (code > out.first + out.sum) out.first += ++out.sum;
  return out;
}
constexpr uint32_t kMostPair = 90;

// Decodes lines, which are blocks of samples.
class Decoder {
 public:
  Decoder(const SzipOptions& options, uint32_t bits, std::span<const std::byte> in)
      : in_(in),
        bits_(static_cast<int>(bits)),
        block_(options.block),
        has_predictor_(options.has_predictor),
        blocks_(options.line / options.block + (options.line % options.block != 0)),
        option_bits_(bits > 16  ? 5
                     : bits > 8 ? 4
                                : 3) {}

  size_t line_samples() const { return size_t{blocks_} * block_; }

  // The next line: whole, or, at the end, of at least `wanted` samples.
  Result<std::span<const uint32_t>> line(size_t wanted) {
    line_.clear();
    while (line_.size() < wanted) {
      HEADRACE_TRY(block());
      if (!in_.ok()) return corrupt("expected more szip data, but it ends in the middle");
    }
    if (has_predictor_) undo_prediction();
    return std::span<const uint32_t>(line_);
  }

 private:
  Status block() {
    const bool has_first = has_predictor_ && line_.empty();  // an uncoded sample, the start of the prediction
    const uint32_t option = in_.take(option_bits_), most = (1u << option_bits_) - 1;
    if (option == most) {
      for (uint32_t i = 0; i < block_; ++i) line_.push_back(in_.take(bits_));
      return {};
    }
    const bool is_pairs = option == 0 && in_.take(1) == 1;
    if (has_first) line_.push_back(in_.take(bits_));
    if (option == 0) return is_pairs ? pairs(has_first) : zero_blocks(has_first);
    const size_t begin = line_.size();
    const int low = static_cast<int>(option) - 1;
    for (uint32_t i = has_first; i < block_; ++i) line_.push_back(in_.zeros());
    for (size_t i = begin; i < line_.size(); ++i) line_[i] = line_[i] << low | in_.take(low);
    return {};
  }

  Status pairs(bool has_first) {
    for (uint32_t i = has_first; i < block_; ++i) {
      const uint32_t code = in_.zeros();
      if (code > kMostPair)
        return corrupt({.expected = "szip pairs of at most 90", .got = std::to_string(code)});
      const Pair pair = pair_of(code);
      const uint32_t second = code - pair.first;
      if (i % 2 == 0) {
        line_.push_back(pair.sum - second);
        ++i;
      }
      line_.push_back(second);
    }
    return {};
  }

  Status zero_blocks(bool has_first) {
    constexpr uint32_t kToTheEnd = 5, kSegment = 64;
    const auto done = static_cast<uint32_t>(line_.size() / block_);
    uint32_t count = in_.zeros() + 1;
    if (count == kToTheEnd)
      count = std::min(blocks_ - done, kSegment - done % kSegment);
    else if (count > kToTheEnd)
      --count;
    if (count > blocks_ - done)
      return corrupt({.expected = "szip blocks within a line", .got = "too many zero blocks"});
    line_.resize(line_.size() + size_t{count} * block_ - has_first);
    return {};
  }

  void undo_prediction() {
    const uint32_t most = bits_ == 32 ? ~0u : (1u << bits_) - 1, middle = most / 2 + 1;
    uint32_t sample = line_[0];
    for (size_t i = 1; i < line_.size(); ++i) {
      const uint32_t d = line_[i], half = (d >> 1) + (d & 1), mask = (sample & middle) != 0 ? most : 0;
      sample = half <= (mask ^ sample) ? sample + ((d >> 1) ^ (~((d & 1) - 1))) : mask ^ d;
      line_[i] = sample;
    }
  }

  Bits in_;
  int bits_;
  uint32_t block_;
  bool has_predictor_;
  uint32_t blocks_;  // of a line
  int option_bits_;
  std::vector<uint32_t> line_;
};

void put(uint32_t sample, size_t bytes, bool is_big_endian, std::byte* out) {
  for (size_t i = 0; i < bytes; ++i)
    out[i] = static_cast<std::byte>(sample >> 8 * (is_big_endian ? bytes - 1 - i : i));
}

Status unpack_samples(const SzipOptions& options, uint32_t bits, std::span<const std::byte> in,
                      std::span<std::byte> out) {
  Decoder decoder(options, bits, in);
  const size_t bytes = bits > 16 ? 4 : bits > 8 ? 2 : 1;
  for (size_t at = 0; at < out.size();) {
    const size_t left = (out.size() - at) / bytes;
    const bool is_last = left <= options.line;
    HEADRACE_ASSIGN(const auto line, decoder.line(is_last ? left : decoder.line_samples()));
    const size_t count = std::min<size_t>(left, options.line);  // padding of the last block is dropped
    if (count == 0) return corrupt("expected szip data of whole samples");
    for (size_t i = 0; i < count; ++i, at += bytes)
      put(line[i], bytes, options.is_big_endian, out.data() + at);
  }
  return {};
}

}  // namespace

Result<SzipOptions> szip_options(std::span<const uint32_t> values) {
  constexpr uint32_t kBigEndian = 16, kPredictor = 32;
  if (values.size() < 4)
    return corrupt({.expected = "four values for szip", .got = std::to_string(values.size())});
  SzipOptions out;
  out.is_big_endian = (values[0] & kBigEndian) != 0, out.has_predictor = (values[0] & kPredictor) != 0;
  out.block = values[1], out.bits = values[2], out.line = values[3];
  const bool has_bits = (out.bits >= 1 && out.bits <= 24) || out.bits == 32 || out.bits == 64;
  if (out.block < 2 || out.block > 32 || out.block % 2 != 0 || !has_bits || out.line < 1 || out.line > 4096)
    return corrupt(
        {.expected = "szip blocks of 2 to 32 samples of 1 to 24, 32 or 64 bits in lines of at most 4096",
         .got = std::to_string(out.block) + ", " + std::to_string(out.bits) + " and " +
                std::to_string(out.line)});
  return out;
}

Status unpack_szip(const SzipOptions& options, std::span<const std::byte> in, std::span<std::byte> out) {
  uint32_t stated = 0;
  if (in.size() < sizeof stated)
    return corrupt({.expected = "szip data", .got = std::to_string(in.size()) + " bytes"});
  std::memcpy(&stated, in.data(), sizeof stated);
  if (stated != out.size())
    return corrupt(
        {.expected = "szip data of " + std::to_string(out.size()) + " bytes", .got = std::to_string(stated)});
  in = in.subspan(sizeof stated);
  if (options.bits < 32) return unpack_samples(options, options.bits, in, out);
  // Wide numbers are stored as byte planes: first all first bytes, then all second ones.
  const size_t width = options.bits / 8, count = out.size() / width;
  std::vector<std::byte> planes(count * width);
  if (planes.size() != out.size()) return corrupt("expected szip data of whole samples");
  HEADRACE_TRY(unpack_samples(options, 8, in, planes));
  for (size_t b = 0; b < width; ++b)
    for (size_t i = 0; i < count; ++i) out[i * width + b] = planes[b * count + i];
  return {};
}

}  // namespace headrace::hdf5
