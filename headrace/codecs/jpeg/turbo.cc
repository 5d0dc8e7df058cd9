// The libjpeg-turbo path: every JPEG the library reads, with its default settings but for smoothing between
// blocks. When only a part of an image is needed, it computes little more than that and stops below it; the
// bytes are those of a whole decode.
//
// libjpeg reports errors by a callback that must not return, so ours jump (longjmp). Functions that such a
// jump can leave hold trivial values only: everything with a destructor lives in decode_with_turbo, below the
// jump's landing place.
// clang-format off: jpeglib.h needs FILE and does not include it
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "headrace/codecs/jpeg/turbo.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <string>

#include "headrace/codecs/color.h"
#include "headrace/core/stop_flag.h"

namespace headrace::jpeg {
namespace {

constexpr int kRowsPerCall = 16;    // offered at a time; libjpeg takes as many as it has ready
constexpr int64_t kMaxScans = 256;  // of a progressive file; cameras and encoders write about ten
constexpr int64_t kMaxScanPixels = int64_t{1}
                                   << 30;  // scans * pixels, which bounds the time that one file may take
constexpr int64_t kMinScans = 16;          // allowed at any size
constexpr JOCTET kEndOfImage[] = {0xFF, JPEG_EOI};

// Our own reasons to stop, besides libjpeg's message codes (which are positive).
enum Reason : int {
  kTooManyScans = -1,
  kMissingScan = -2,
  kChangedHeader = -3,
  kNoEnd = -4,
  kStopped = -5,
  kNoMemory = -6
};

struct Session {
  jpeg_decompress_struct decoder;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  jmp_buf landing;
  int reason;                  // message code, or a Reason
  char text[JMSG_LENGTH_MAX];  // libjpeg's text for a message code
  bool reached_end;            // bytes ran out before the end-of-image marker
  bool has_header;             // from here on a restart marker belongs to a scan
  int64_t max_scans;
  const ImageHeader* header;
  J_COLOR_SPACE wanted;
  Box part;
  uint8_t* out;
  size_t row_stride;
  uint8_t* cmyk;  // rows for CMYK that becomes RGB or grey; else null
  uint8_t* rgb;   // one row for CMYK that becomes grey; else null
  Scratch* scratch;
  size_t refused;  // bytes for coefficients that exceed the budget
};

Session& session_of(j_common_ptr decoder) { return *static_cast<Session*>(decoder->client_data); }
Session& session_of(j_decompress_ptr decoder) { return *static_cast<Session*>(decoder->client_data); }

[[noreturn]] void stop(Session& session, int reason) {
  session.reason = reason;
  longjmp(session.landing, 1);
}

[[noreturn]] void stop_with_message(j_common_ptr decoder) {
  Session& session = session_of(decoder);
  decoder->err->format_message(decoder, session.text);
  stop(session, decoder->err->msg_code);
}

// libjpeg continues after a warning with invented pixels. Only those warnings are allowed after which every
// pixel still comes from the file. Bytes left over before a restart marker mean that the interval was decoded
// wrongly.
void on_message(j_common_ptr decoder, int level) {
  if (level >= 0) return;  // a trace
  const int code = decoder->err->msg_code;
  if (code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM || code == JWRN_NOT_SEQUENTIAL) return;
  const int marker = decoder->err->msg_parm.i[1];
  const bool is_restart = marker >= JPEG_RST0 && marker <= JPEG_RST0 + 7;
  if (code == JWRN_EXTRANEOUS_DATA && !(is_restart && session_of(decoder).has_header)) return;
  stop_with_message(decoder);
}

// Called by libjpeg every few rows, of each scan.
void on_progress(j_common_ptr decoder) {
  Session& session = session_of(decoder);
  if (session.scratch->is_stopped()) stop(session, kStopped);
  if (session.decoder.input_scan_number > session.max_scans) stop(session, kTooManyScans);
}

// Out of bytes: an end-of-image marker is inserted silently. If bits are missing afterwards, that is reported
// then; a file that lacks only its end marker is whole.
boolean fill_source(j_decompress_ptr decoder) {
  session_of(decoder).reached_end = true;
  decoder->src->next_input_byte = kEndOfImage;
  decoder->src->bytes_in_buffer = sizeof kEndOfImage;
  return TRUE;
}

void skip_source(j_decompress_ptr decoder, long count) {
  if (count <= 0) return;
  const size_t skipped = std::min(static_cast<size_t>(count), decoder->src->bytes_in_buffer);
  decoder->src->next_input_byte += skipped;
  decoder->src->bytes_in_buffer -= skipped;
}

void ignore_source(j_decompress_ptr) {}

// A progressive file without its last scans.
bool lacks_details(const jpeg_decompress_struct& decoder) {
  if (!decoder.progressive_mode) return false;
  for (int c = 0; c < decoder.num_components; ++c)
    for (int k = 0; k < DCTSIZE2; ++k)
      if (decoder.coef_bits[c][k] != 0) return true;
  return false;
}

// Several scans: all of them must have come, or components and details are missing without any warning.
void check_scans(Session& session) {
  jpeg_decompress_struct& decoder = session.decoder;
  if (!jpeg_has_multiple_scans(&decoder)) return;
  for (int c = 0; c < decoder.num_components; ++c)
    if (!decoder.comp_info[c].quant_table) stop(session, kMissingScan);
  if (session.reached_end && lacks_details(decoder)) stop(session, kNoEnd);
}

// The coefficients of a file with several scans, two bytes for each sample of the image. libjpeg would take
// them from malloc, outside the budget, and move them to a file when there are many. The type is opaque to
// libjpeg.
struct Blocks {
  JBLOCKARRAY rows;
  JDIMENSION width, height;
  JDIMENSION
  defined;  // rows that are initialised; zeroed a few at a time, which takes long for a large image
};

jvirt_barray_ptr request_blocks(j_common_ptr decoder, int, boolean zeroed, JDIMENSION width,
                                JDIMENSION height, JDIMENSION) {
  Session& session = session_of(decoder);
  Scratch& scratch = *session.scratch;
  const size_t row = width * sizeof(JBLOCK), size = height * row;
  const auto array = scratch.take<Blocks>(1);
  const auto rows = scratch.take<JBLOCKROW>(height);
  const auto memory = scratch.take(size);
  if (array.empty() || rows.empty() || memory.empty()) {
    session.refused = size;
    stop(session, kNoMemory);
  }
  for (JDIMENSION y = 0; y < height; ++y) rows[y] = reinterpret_cast<JBLOCKROW>(memory.data() + y * row);
  array[0] = {rows.data(), width, height, zeroed ? 0 : height};
  return reinterpret_cast<jvirt_barray_ptr>(array.data());
}

JBLOCKARRAY access_blocks(j_common_ptr decoder, jvirt_barray_ptr array, JDIMENSION first, JDIMENSION count,
                          boolean) {
  auto& blocks = *reinterpret_cast<Blocks*>(array);
  if (first > blocks.height || count > blocks.height - first) {
    decoder->err->msg_code = JERR_BAD_VIRTUAL_ACCESS;
    stop_with_message(decoder);
  }
  for (; blocks.defined < first + count; ++blocks.defined)
    std::memset(blocks.rows[blocks.defined], 0, blocks.width * sizeof(JBLOCK));
  return blocks.rows + first;
}

void open_and_check(Session& session, std::span<const std::byte> bytes) {
  jpeg_decompress_struct& decoder = session.decoder;
  jpeg_create_decompress(&decoder);
  decoder.mem->request_virt_barray = request_blocks;
  decoder.mem->access_virt_barray = access_blocks;
  decoder.src = &session.source;
  session.source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
  session.source.bytes_in_buffer = bytes.size();
  session.source.init_source = ignore_source;
  session.source.fill_input_buffer = fill_source;
  session.source.skip_input_data = skip_source;
  session.source.resync_to_restart = jpeg_resync_to_restart;
  session.source.term_source = ignore_source;
  session.progress.progress_monitor = on_progress;
  decoder.progress = &session.progress;

  jpeg_read_header(&decoder, TRUE);
  session.has_header = true;
  const ImageHeader& header = *session.header;
  if (decoder.image_height != header.height || decoder.image_width != header.width ||
      decoder.num_components != header.channels)
    stop(session, kChangedHeader);
}

// Files hold CMYK inverted, as Adobe started and everyone copied; like Pillow we invert all of them, marked
// or not.
void convert_cmyk_rows(Session& session, JDIMENSION first, JDIMENSION count) {
  const auto width = static_cast<size_t>(session.header->width);
  for (JDIMENSION i = 0; i < count; ++i) {
    uint8_t* const out = session.out + (first + i) * session.row_stride;
    uint8_t* const row = session.cmyk ? session.cmyk + i * width * 4 : out;
    for (size_t x = 0; x < width * 4; ++x) row[x] = static_cast<uint8_t>(255 - row[x]);
    if (!session.cmyk) continue;
    if (!session.rgb) {
      cmyk_to_rgb(row, width, out);
    } else {
      cmyk_to_rgb(row, width, session.rgb);
      rgb_to_gray(session.rgb, width, out);
    }
  }
}

// Narrows the output to the columns of `part` and skips to its first row; returns the column where output
// rows begin. Smooth upsampling treats the edge of what is decoded as the edge of the image, so some more
// pixels are decoded on every side: kMargin covers one chroma sample at the coarsest sampling there is.
JDIMENSION seek(Session& session) {
  constexpr int64_t kMargin = 4;
  jpeg_decompress_struct& decoder = session.decoder;
  const auto width = static_cast<int64_t>(decoder.output_width);
  const auto height = static_cast<int64_t>(decoder.output_height);
  const Box& part = session.part;
  const Box wide = Box{part.y - kMargin, part.x - kMargin, part.h + 2 * kMargin, part.w + 2 * kMargin}.within(
      height, width);
  JDIMENSION left = 0;
  if (wide.w < width) {
    left = static_cast<JDIMENSION>(wide.x);
    auto columns = static_cast<JDIMENSION>(wide.w);
    jpeg_crop_scanline(&decoder, &left, &columns);
  }
  if (wide.y > 0) jpeg_skip_scanlines(&decoder, static_cast<JDIMENSION>(wide.y));
  return left;
}

void read_rows(Session& session) {
  jpeg_decompress_struct& decoder = session.decoder;
  decoder.out_color_space = session.wanted;
  // Where scans are missing, libjpeg would invent details from neighbouring blocks, each version its own.
  decoder.do_block_smoothing = FALSE;
  jpeg_start_decompress(&decoder);
  check_scans(session);
  const size_t cmyk_stride = static_cast<size_t>(decoder.output_width) * 4;
  const auto bottom = static_cast<JDIMENSION>(session.part.bottom());
  const auto channels = static_cast<size_t>(decoder.output_components);
  uint8_t* const out = session.out + seek(session) * channels;
  while (decoder.output_scanline < bottom) {
    const JDIMENSION first = decoder.output_scanline;
    JSAMPROW rows[kRowsPerCall];
    const JDIMENSION count = std::min<JDIMENSION>(kRowsPerCall, bottom - first);
    for (JDIMENSION i = 0; i < count; ++i)
      rows[i] = session.cmyk ? session.cmyk + i * cmyk_stride : out + (first + i) * session.row_stride;
    const JDIMENSION read = jpeg_read_scanlines(&decoder, rows, count);
    if (session.wanted == JCS_CMYK) convert_cmyk_rows(session, first, read);
  }
}

// True when libjpeg never called stop().
bool run(Session& session, std::span<const std::byte> bytes) {
  if (setjmp(session.landing)) return false;
  open_and_check(session, bytes);
  read_rows(session);
  return true;
}

Status why_stopped(const Session& session) {
  switch (session.reason) {
    case kTooManyScans:
      return corrupt("expected a JPEG of at most " + std::to_string(session.max_scans) +
                     " scans at this size");
    case kMissingScan: return corrupt("truncated JPEG: a component has no scan");
    case kChangedHeader: return corrupt("damaged JPEG: a second frame header");
    case kNoEnd: return corrupt("truncated JPEG: scans are missing");
    case kStopped: return stopped();
    case kNoMemory:
      return session.scratch->over_budget(session.refused, "coefficients of a progressive JPEG");
    case JWRN_HIT_MARKER:
    case JWRN_JPEG_EOF:
    case JERR_INPUT_EOF:
    case JERR_INPUT_EMPTY: return corrupt("truncated JPEG: " + std::string(session.text));
    case JERR_ARITH_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_BAD_PRECISION:
      return {Code::unavailable, "unsupported kind of JPEG: " + std::string(session.text)};
    case JERR_OUT_OF_MEMORY:
      return {Code::exhausted, "JPEG needs too much memory: " + std::string(session.text)};
    default: return corrupt("damaged JPEG: " + std::string(session.text));
  }
}

}  // namespace

Status decode_with_turbo(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                         const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch) {
  Session session{};
  session.decoder.err = jpeg_std_error(&session.errors);
  session.decoder.client_data = &session;
  session.errors.error_exit = stop_with_message;
  session.errors.emit_message = on_message;
  session.header = &header;
  session.part = header.channels == 4 ? header.whole() : part;
  session.out = out;
  session.row_stride = row_stride;
  session.scratch = &scratch;
  session.max_scans =
      std::clamp<int64_t>(kMaxScanPixels / (header.height * header.width), kMinScans, kMaxScans);

  const Scratch::Mark mark = scratch.mark();
  const auto width = static_cast<size_t>(header.width);
  if (header.channels == 4) {
    session.wanted = JCS_CMYK;
    if (color != Color::unchanged) session.cmyk = scratch.take<uint8_t>(kRowsPerCall * width * 4).data();
    if (color == Color::gray) session.rgb = scratch.take<uint8_t>(width * 3).data();
    if ((color != Color::unchanged && !session.cmyk) || (color == Color::gray && !session.rgb))
      return {Code::exhausted, "out of memory for CMYK rows of " + std::to_string(width) + " pixels"};
  } else {
    session.wanted = decoded_channels(header, color) == 1 ? JCS_GRAYSCALE : JCS_RGB;
  }
  Status status;
  if (!run(session, bytes)) status = why_stopped(session);
  jpeg_destroy_decompress(&session.decoder);
  scratch.reset(mark);
  return status;
}

}  // namespace headrace::jpeg
