// PNM and PFM by our own code: PBM, PGM and PPM, plain and raw, of up to 16 bits, and floats. Of several
// images in a file the first. Why by our own code: docs/decisions/0034.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/fields.h"
#include "headrace/codecs/pnm/header.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using pnm::Header;
using pnm::Kind;
using Bytes = std::span<const std::byte>;

// P, the kind, and a number after blanks: a text may begin with the first two.
bool is_pnm(Bytes bytes) {
  const std::string_view text = characters_of(bytes);
  if (text.size() < 4 || text[0] != 'P' || std::string_view("123456Ff").find(text[1]) == text.npos)
    return false;
  const std::string_view blanks = " \t\n\v\f\r";
  if (blanks.find(text[2]) == blanks.npos && text[2] != '#') return false;
  const size_t next = text.find_first_not_of(blanks, 2);
  return next != text.npos && ((text[next] >= '0' && text[next] <= '9') || text[next] == '#');
}

Result<ImageHeader> read_pnm_header(Bytes bytes) {
  HEADRACE_ASSIGN(const Header header, pnm::read_header(bytes));
  const bool is_wide = header.kind == Kind::numbers && header.most > 255;
  return ImageHeader{
      .height = header.height,
      .width = header.width,
      .channels = header.channels,
      .bit_depth = header.kind == Kind::floats ? 32 : static_cast<int>(std::bit_width(header.most)),
      .has_indexes = header.kind == Kind::numbers && header.channels == 1,
      .dtype = header.kind == Kind::floats ? DType::f32
               : is_wide                   ? DType::u16
                                           : DType::u8,
      .most = static_cast<uint16_t>(is_wide ? header.most : 255)};
}

Status too_large(uint32_t number, const Header& header) {
  return corrupt("damaged PNM: expected samples up to " + std::to_string(header.most) + ", got " +
                 std::to_string(number));
}

// The numbers of a file, row after row from the first.
class Rows {
 public:
  Rows(Bytes bytes, const Header& header) : bytes_(bytes), header_(header), at_(header.samples) {}

  // Only where all rows have the same size.
  void skip(int64_t rows) {
    if (!header_.plain) at_ += static_cast<size_t>(rows) * header_.row_bytes();
  }
  int64_t to_skip(int64_t rows) const { return header_.plain ? 0 : rows; }

  Status next(uint16_t* out) {
    const auto count = static_cast<size_t>(header_.width * header_.channels);
    if (header_.plain) return next_plain(count, out);
    const auto* in = reinterpret_cast<const uint8_t*>(bytes_.data()) + at_;
    at_ += header_.row_bytes();
    uint32_t greatest = 0;
    for (size_t i = 0; i < count; ++i) {
      const int number = header_.kind == Kind::bits ? in[i / 8] >> (7 - i % 8) & 1
                         : header_.most > 255       ? in[2 * i] << 8 | in[2 * i + 1]
                                                    : in[i];
      out[i] = static_cast<uint16_t>(number);
      greatest = std::max<uint32_t>(greatest, out[i]);
    }
    return greatest > header_.most ? too_large(greatest, header_) : Status();
  }

 private:
  Status next_plain(size_t count, uint16_t* out) {
    for (size_t i = 0; i < count; ++i) {
      const auto number =
          header_.kind == Kind::bits ? pnm::next_bit(bytes_, at_) : pnm::next_number(bytes_, at_);
      if (!number)
        return corrupt(at_ == bytes_.size() ? "truncated PNM: its numbers end early"
                                            : "damaged PNM: a sample that is no number");
      if (*number > header_.most) return too_large(*number, header_);
      out[i] = static_cast<uint16_t>(*number);
    }
    return {};
  }

  Bytes bytes_;
  const Header& header_;
  size_t at_;
};

Result<Header> read_same_header(Bytes bytes, const ImageHeader& header) {
  HEADRACE_ASSIGN(const Header own, pnm::read_header(bytes));
  if (own.height != header.height || own.width != header.width || own.channels != header.channels)
    return corrupt("damaged PNM: two different headers");
  return own;
}

// What each number of up to 8 bits is in an image: black to white is 0 to 255, rounded, as Pillow does; a bit
// that is set is black. Stored numbers stay as they are.
std::array<uint8_t, 256> values_of(const Header& header, Color color) {
  std::array<uint8_t, 256> values{};
  for (uint32_t i = 0; i <= header.most; ++i) {
    const uint32_t scaled =
        header.kind == Kind::bits ? 255 * (1 - i) : (i * 255 + header.most / 2) / header.most;
    values[i] = static_cast<uint8_t>(color == Color::index ? i : scaled);
  }
  return values;
}

Status decode_rows_of_pnm(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                          size_t row_stride, Scratch& scratch) {
  HEADRACE_ASSIGN(const Header own, read_same_header(bytes, header));
  const auto count = static_cast<size_t>(header.width * header.channels);
  const auto numbers = scratch.take<uint16_t>(count);
  const auto row = scratch.take<uint8_t>(count);
  if (numbers.empty() || row.empty()) return scratch.over_budget(3 * count, "a row of a PNM");
  const std::array<uint8_t, 256> values = values_of(own, color);
  const int channels = decoded_channels(header, color);
  Rows rows(bytes, own);
  int64_t y = rows.to_skip(part.y);
  for (rows.skip(y); y < part.bottom(); ++y) {
    if (scratch.is_stopped()) return stopped();
    HEADRACE_TRY(rows.next(numbers.data()));
    if (y < part.y) continue;
    for (size_t i = 0; i < count; ++i) row[i] = values[numbers[i]];
    convert_channels(row.data(), header.channels, static_cast<size_t>(header.width),
                     out + static_cast<size_t>(y) * row_stride, channels);
  }
  return {};
}

Status decode_pnm(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                  size_t row_stride, Scratch& scratch, std::string_view&) {
  const Scratch::Mark mark = scratch.mark();
  const Status status = decode_rows_of_pnm(bytes, header, color, part, out, row_stride, scratch);
  scratch.reset(mark);
  return status;
}

// The last row comes first.
void copy_floats(Bytes bytes, const Header& header, int64_t y, std::byte* out) {
  const auto stored = static_cast<uint64_t>(header.height - 1 - y);
  const std::byte* in = bytes.data() + header.samples + stored * header.row_bytes();
  std::memcpy(out, in, header.row_bytes());
  if (header.little_endian == (std::endian::native == std::endian::little)) return;
  for (size_t at = 0; at < header.row_bytes(); at += 4) std::reverse(out + at, out + at + 4);
}

Status decode_stored_pnm(Bytes bytes, const ImageHeader& header, const Box& part, std::byte* out,
                         size_t row_stride, Scratch& scratch) {
  HEADRACE_ASSIGN(const Header own, read_same_header(bytes, header));
  Rows rows(bytes, own);
  int64_t y = own.kind == Kind::floats ? part.y : rows.to_skip(part.y);
  for (rows.skip(y); y < part.bottom(); ++y) {
    if (scratch.is_stopped()) return stopped();
    std::byte* const to = out + static_cast<size_t>(y) * row_stride;
    if (own.kind == Kind::floats) {
      copy_floats(bytes, own, y, to);
    } else {
      HEADRACE_TRY(rows.next(reinterpret_cast<uint16_t*>(to)));
    }
  }
  return {};
}

const CodecRegistration registered({.name = "PNM",
                                    .library = "headrace (PNM)",
                                    .endings = {".pnm", ".ppm", ".pgm", ".pbm", ".pfm"},
                                    .recognise = is_pnm,
                                    .read_header = read_pnm_header,
                                    .decode = decode_pnm,
                                    .decode_stored = decode_stored_pnm});

}  // namespace
}  // namespace headrace
