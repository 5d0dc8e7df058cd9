// The header of a PNM (P1 to P6) or PFM (PF, Pf) file. For pnm.cc and its test.
#pragma once
#include <optional>

#include "headrace/codecs/image.h"

namespace headrace::pnm {

enum class Kind : uint8_t { bits, numbers, floats };  // PBM; PGM and PPM; PFM

struct Header {
  int64_t height = 0, width = 0;
  Kind kind = Kind::numbers;
  bool plain = false;  // P1, P2 and P3: decimal numbers
  int channels = 1;
  uint32_t most = 1;            // the number that is white
  bool little_endian = false;   // floats; numbers are big-endian
  size_t samples = 0;           // where they begin
  uint64_t row_bytes() const {  // of a file that is not plain
    const auto count = static_cast<uint64_t>(width) * static_cast<uint64_t>(channels);
    return kind == Kind::bits ? (count + 7) / 8 : count * (kind == Kind::floats ? 4 : most > 255 ? 2 : 1);
  }
};

// Refuses what is damaged, and files that are too short for the samples they claim.
Result<Header> read_header(std::span<const std::byte> bytes);

// The next decimal number of a header or a plain file, after blanks and comments; `at` moves behind it.
// Nothing where there is none below 2^31.
std::optional<uint32_t> next_number(std::span<const std::byte> bytes, size_t& at);

// The next digit of a plain PBM, which need not be separated from others.
std::optional<uint32_t> next_bit(std::span<const std::byte> bytes, size_t& at);

}  // namespace headrace::pnm
