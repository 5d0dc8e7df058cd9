// JPEG XL through libjxl: the first frame, of up to 16 bits or floats. The orientation is reported and not
// applied, as with EXIF. libjxl computes in floats, with the machine's vectors: its last bit may differ from
// one CPU to another.
#include <jxl/decode.h>
#include <jxl/parallel_runner.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/fields.h"
#include "headrace/codecs/library_memory.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

bool is_jxl(Bytes bytes) {
  const std::string_view text = characters_of(bytes);
  return text.starts_with("\xff\x0a") || text.starts_with({"\0\0\0\x0cJXL \r\n\x87\n", 12});
}

// libjxl's memory, on our budget: each block is preceded by its size. Versions before 0.11 take little of it
// from here; `bytes_within_libjxl` accounts for the rest.
constexpr size_t kBlockHeader = alignof(std::max_align_t);

void* take_memory(void* opaque, size_t size) {
  auto& memory = *static_cast<LibraryMemory*>(opaque);
  if (size > SIZE_MAX - kBlockHeader || !memory.take(size)) return nullptr;
  auto* block = static_cast<std::byte*>(std::malloc(size + kBlockHeader));
  if (!block) {
    memory.give_back(size);
    return nullptr;
  }
  std::memcpy(block, &size, sizeof size);
  return block + kBlockHeader;
}

void free_memory(void* opaque, void* address) {
  if (!address) return;
  std::byte* const block = static_cast<std::byte*>(address) - kBlockHeader;
  size_t size = 0;
  std::memcpy(&size, block, sizeof size);
  static_cast<LibraryMemory*>(opaque)->give_back(size);
  std::free(block);
}

// Upper bound: four bytes for each sample of the image, which some modes assemble as a whole.
size_t bytes_within_libjxl(const JxlBasicInfo& info) {
  const size_t channels = std::max<size_t>(3, info.num_color_channels) + info.num_extra_channels;
  return size_t{info.ysize} * info.xsize * channels * 4;
}

struct FreeDecoder {
  void operator()(JxlDecoder* decoder) const { JxlDecoderDestroy(decoder); }
};

// A file in libjxl, which computes in tasks that we run for it, one after the other on this thread; decoding
// can be ended between them. One thread.
class Reader {
 public:
  Reader(Bytes bytes, Scratch& scratch) : bytes_(bytes), memory_(scratch) {}

  // Up to the size and the kind of the image.
  Status open(int events) {
    const JxlMemoryManager manager{&memory_, take_memory, free_memory};
    decoder_.reset(JxlDecoderCreate(&manager));
    if (!decoder_ && memory_.is_refused()) return over_budget();
    if (!decoder_) return {Code::exhausted, "out of memory for a JPEG XL decoder"};
    if (JxlDecoderSubscribeEvents(get(), JXL_DEC_BASIC_INFO | events) != JXL_DEC_SUCCESS ||
        JxlDecoderSetParallelRunner(get(), run_tasks, this) != JXL_DEC_SUCCESS ||
        JxlDecoderSetKeepOrientation(get(), JXL_TRUE) != JXL_DEC_SUCCESS ||
        JxlDecoderSetInput(get(), reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()) !=
            JXL_DEC_SUCCESS)
      return internal_error("libjxl rejects its settings");
    JxlDecoderCloseInput(get());
    HEADRACE_TRY(advance(JXL_DEC_BASIC_INFO));
    if (JxlDecoderGetBasicInfo(get(), &info_) != JXL_DEC_SUCCESS) return corrupt("damaged JPEG XL");
    if (info_.num_color_channels != 1 && info_.num_color_channels != 3)
      return {Code::unavailable, Mismatch{.expected = "a JPEG XL of 1 or 3 colours",
                                          .got = std::to_string(info_.num_color_channels)}};
    if (info_.exponent_bits_per_sample == 0 && info_.bits_per_sample > 16)
      return {Code::unavailable, Mismatch{.expected = "a JPEG XL of up to 16 bits or floats",
                                          .got = std::to_string(info_.bits_per_sample)}};
    if (info_.alpha_bits > 0 && info_.alpha_premultiplied)
      return {Code::unavailable, "a JPEG XL whose colours are multiplied by alpha is not supported"};
    // Its colours are ink, and the fourth is an extra channel.
    for (uint32_t i = 0; i < info_.num_extra_channels; ++i) {
      JxlExtraChannelInfo extra{};
      if (JxlDecoderGetExtraChannelInfo(get(), i, &extra) != JXL_DEC_SUCCESS)
        return corrupt("damaged JPEG XL");
      if (extra.type == JXL_CHANNEL_BLACK)
        return {Code::unavailable, Mismatch{.expected = "a JPEG XL of grey or RGB", .got = "CMYK"}};
    }
    return {};
  }

  // All pixels, densely. Numbers have all bits of `type`, also where the file has fewer.
  Status decode(int channels, JxlDataType type, std::span<std::byte> out) {
    if (!memory_.expect(bytes_within_libjxl(info_))) return over_budget();
    HEADRACE_TRY(advance(JXL_DEC_NEED_IMAGE_OUT_BUFFER));
    const JxlPixelFormat format{static_cast<uint32_t>(channels), type, JXL_NATIVE_ENDIAN, 0};
    size_t size = 0;
    if (JxlDecoderImageOutBufferSize(get(), &format, &size) != JXL_DEC_SUCCESS || size != out.size() ||
        JxlDecoderSetImageOutBuffer(get(), &format, out.data(), out.size()) != JXL_DEC_SUCCESS)
      return corrupt("damaged JPEG XL: two different headers");
    return advance(JXL_DEC_FULL_IMAGE);
  }

  const JxlBasicInfo& info() const { return info_; }

 private:
  JxlDecoder* get() const { return decoder_.get(); }
  Status over_budget() const { return memory_.over_budget("a JPEG XL decoder"); }

  // The decoder goes on until it has what was requested, `wanted`.
  Status advance(JxlDecoderStatus wanted) {
    const JxlDecoderStatus status = JxlDecoderProcessInput(get());
    if (memory_.is_stopped()) return stopped();
    if (status == wanted) return {};
    if (memory_.is_refused()) return over_budget();
    return corrupt(status == JXL_DEC_NEED_MORE_INPUT ? "truncated JPEG XL" : "damaged JPEG XL");
  }

  // Whether `count` tasks are the groups of the image, 128 to 8192 pixels a side, which is where decoding
  // spends its time. Version 0.7 aborts the process when some others, which are rows, are not run to their
  // end.
  bool are_groups(uint32_t count) const {
    for (int shift = 7; shift <= 13 && count > 1 && count != info_.ysize; ++shift) {
      const auto groups = [&](uint64_t side) { return (side + (uint64_t{1} << shift) - 1) >> shift; };
      if (groups(info_.ysize) * groups(info_.xsize) == count) return true;
    }
    return false;
  }

  static JxlParallelRetCode run_tasks(void* opaque, void* jxl, JxlParallelRunInit init,
                                      JxlParallelRunFunction run, uint32_t begin, uint32_t end) {
    const Reader& reader = *static_cast<const Reader*>(opaque);
    if (const JxlParallelRetCode code = init(jxl, 1); code != 0) return code;
    const bool may_stop = begin == 0 && reader.are_groups(end);
    for (uint32_t task = begin; task < end; ++task) {
      if (may_stop && reader.memory_.is_stopped()) return JXL_PARALLEL_RET_RUNNER_ERROR;
      run(jxl, task, 0);
    }
    return 0;
  }

  Bytes bytes_;
  LibraryMemory memory_;
  std::unique_ptr<JxlDecoder, FreeDecoder> decoder_;
  JxlBasicInfo info_{};
};

DType dtype_of(const JxlBasicInfo& info) {
  return info.exponent_bits_per_sample > 0 ? DType::f32 : info.bits_per_sample > 8 ? DType::u16 : DType::u8;
}

int channels_of(const JxlBasicInfo& info) {
  return static_cast<int>(info.num_color_channels) + (info.alpha_bits > 0 ? 1 : 0);
}

Result<ImageHeader> read_jxl_header(Bytes bytes) {
  Scratch unlimited;
  Reader reader(bytes, unlimited);
  HEADRACE_TRY(reader.open(0));
  const JxlBasicInfo& info = reader.info();
  return ImageHeader{.height = info.ysize,
                     .width = info.xsize,
                     .channels = channels_of(info),
                     .bit_depth = static_cast<int>(info.bits_per_sample),
                     .orientation = static_cast<int>(info.orientation),
                     .dtype = dtype_of(info),
                     .most = static_cast<uint16_t>((1u << std::clamp(info.bits_per_sample, 1u, 16u)) - 1)};
}

Status check_header(const JxlBasicInfo& info, const ImageHeader& header) {
  const bool is_same = info.ysize == header.height && info.xsize == header.width &&
                       channels_of(info) == header.channels && dtype_of(info) == header.dtype;
  return is_same ? Status() : corrupt("damaged JPEG XL: two different headers");
}

Status decode_jxl(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                  size_t row_stride, Scratch& scratch, std::string_view&) {
  if (scratch.is_stopped()) return stopped();
  Reader reader(bytes, scratch);
  HEADRACE_TRY(reader.open(JXL_DEC_FULL_IMAGE));
  HEADRACE_TRY(check_header(reader.info(), header));
  const int channels = decoded_channels(header, color);
  const size_t row = static_cast<size_t>(header.width * header.channels),
               size = row * static_cast<size_t>(header.height);
  if (channels == header.channels && row_stride == row)
    return reader.decode(channels, JXL_TYPE_UINT8, std::as_writable_bytes(std::span(out, size)));
  const Scratch::Mark mark = scratch.mark();
  const auto pixels = scratch.take<uint8_t>(size);
  if (pixels.empty()) return scratch.over_budget(size, "pixels of a JPEG XL");
  Status status = reader.decode(header.channels, JXL_TYPE_UINT8, std::as_writable_bytes(pixels));
  for (int64_t y = part.y; status.ok() && y < part.bottom(); ++y) {
    if (scratch.is_stopped()) status = stopped();
    convert_channels(pixels.data() + static_cast<size_t>(y) * row, header.channels,
                     static_cast<size_t>(header.width), out + static_cast<size_t>(y) * row_stride, channels);
  }
  scratch.reset(mark);
  return status;
}

Status decode_stored_jxl(Bytes bytes, const ImageHeader& header, const Box& part, std::byte* out,
                         size_t row_stride, Scratch& scratch) {
  if (scratch.is_stopped()) return stopped();
  Reader reader(bytes, scratch);
  HEADRACE_TRY(reader.open(JXL_DEC_FULL_IMAGE));
  HEADRACE_TRY(check_header(reader.info(), header));
  const size_t row = static_cast<size_t>(header.width * header.channels) * size_of(header.dtype),
               size = row * static_cast<size_t>(header.height);
  const Scratch::Mark mark = scratch.mark();
  const auto pixels = scratch.take<std::byte>(size);
  if (pixels.empty()) return scratch.over_budget(size, "pixels of a JPEG XL");
  Status status =
      reader.decode(header.channels, header.dtype == DType::f32 ? JXL_TYPE_FLOAT : JXL_TYPE_UINT16, pixels);
  for (int64_t y = part.y; status.ok() && y < part.bottom(); ++y) {
    std::byte* const to = out + static_cast<size_t>(y) * row_stride;
    std::memcpy(to, pixels.data() + static_cast<size_t>(y) * row, row);
    if (header.dtype != DType::u16 || header.most == 65535) continue;
    auto* const numbers = reinterpret_cast<uint16_t*>(to);  // back to as many bits as the file has
    for (int64_t i = 0; i < header.width * header.channels; ++i)
      numbers[i] = static_cast<uint16_t>((uint32_t{numbers[i]} * header.most + 32767) / 65535);
  }
  scratch.reset(mark);
  return status;
}

const CodecRegistration registered({.name = "JPEG XL",
                                    .library = "libjxl",
                                    .endings = {".jxl"},
                                    .recognise = is_jxl,
                                    .read_header = read_jxl_header,
                                    .decode = decode_jxl,
                                    .decode_stored = decode_stored_jxl});

}  // namespace
}  // namespace headrace
