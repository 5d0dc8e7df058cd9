// Markers of JPEG (ITU-T T.81, table B.1), and reading of big-endian numbers: for the parsers in this folder.
#pragma once
#include <cstddef>
#include <span>

namespace headrace::jpeg {

using Bytes = std::span<const std::byte>;

inline constexpr int kTem = 0x01, kSof0 = 0xC0, kSof1 = 0xC1, kSof2 = 0xC2, kDht = 0xC4, kJpg = 0xC8,
                     kSof9 = 0xC9, kSof10 = 0xCA, kDac = 0xCC, kRst0 = 0xD0, kSoi = 0xD8, kEoi = 0xD9,
                     kSos = 0xDA, kDqt = 0xDB, kDri = 0xDD, kApp0 = 0xE0, kApp1 = 0xE1, kApp14 = 0xEE,
                     kApp15 = 0xEF, kSof55 = 0xF7, kCom = 0xFE;  // SOF55: JPEG-LS

// REQUIRES: the bytes are there.
inline int byte_at(Bytes bytes, size_t at) { return std::to_integer<int>(bytes[at]); }
inline int word_at(Bytes bytes, size_t at) { return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1); }

}  // namespace headrace::jpeg
