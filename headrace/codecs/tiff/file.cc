#include "headrace/codecs/tiff/file.h"

#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace headrace::tiff_codec {
namespace {

// Limit for one allocation of libtiff: tags and tables. Pixels are ours, and compressed strips stay where
// they are.
constexpr tmsize_t kMaxAllocation = 256 << 20;

File& file_of(thandle_t handle) { return *static_cast<File*>(handle); }

tmsize_t read_bytes(thandle_t handle, void* to, tmsize_t wanted) {
  File& file = file_of(handle);
  const uint64_t left = file.at < file.bytes.size() ? file.bytes.size() - file.at : 0;
  const auto size = std::min(left, static_cast<uint64_t>(std::max<tmsize_t>(wanted, 0)));
  if (size > 0) std::memcpy(to, file.bytes.data() + file.at, size);
  file.at += size;
  return static_cast<tmsize_t>(size);
}

tmsize_t refuse_to_write(thandle_t, void*, tmsize_t) { return -1; }

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  File& file = file_of(handle);
  if (whence == SEEK_CUR) offset += file.at;
  if (whence == SEEK_END) offset += file.bytes.size();
  return file.at = offset;
}

toff_t size_of_file(thandle_t handle) { return file_of(handle).bytes.size(); }
int close_nothing(thandle_t) { return 0; }

// The file is in memory already: libtiff reads strips in place and copies none.
int map_file(thandle_t handle, void** base, toff_t* size) {
  const std::span<const std::byte> bytes = file_of(handle).bytes;
  *base = const_cast<std::byte*>(bytes.data());
  *size = bytes.size();
  return 1;
}
void unmap_file(thandle_t, void*, toff_t) {}

int keep_complaint(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  char text[200];
  std::vsnprintf(text, sizeof text, format, arguments);
  static_cast<File*>(user)->complaint = text;
  return 1;
}
int ignore_complaint(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct FreeOptions {
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

template <class T> T tag_or(TIFF* tiff, uint32_t tag, T fallback) {
  T value;
  return TIFFGetField(tiff, tag, &value) ? value : fallback;
}
template <class T> T tag_or_default(TIFF* tiff, uint32_t tag) {
  T value{};
  TIFFGetFieldDefaulted(tiff, tag, &value);
  return value;
}

Status unavailable(const std::string& what) { return {Code::unavailable, what}; }

// Of TIFF 6, its supplements and DNG.
std::string name_of_photometric(int number) {
  switch (number) {
    case PHOTOMETRIC_MASK: return "a mask";
    case PHOTOMETRIC_CIELAB: return "CIELab";
    case PHOTOMETRIC_ICCLAB: return "ICCLab";
    case PHOTOMETRIC_ITULAB: return "ITULab";
    case PHOTOMETRIC_CFA: return "the pixels of a sensor (CFA)";
    case PHOTOMETRIC_LOGL: return "LogL";
    case PHOTOMETRIC_LOGLUV: return "LogLuv";
    case 34892: return "LinearRaw";
    default: return "the unknown photometric interpretation " + std::to_string(number);
  }
}

Status read_kind(TIFF* tiff, Layout& layout) {
  const int compression = tag_or_default<uint16_t>(tiff, TIFFTAG_COMPRESSION);
  int photometric = tag_or<uint16_t>(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
  if (compression == COMPRESSION_OJPEG) photometric = PHOTOMETRIC_YCBCR;
  layout.jpeg = compression == COMPRESSION_JPEG && !layout.separate;
  layout.inverted = photometric == PHOTOMETRIC_MINISWHITE;
  switch (photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK: layout.kind = Kind::gray; return {};
    case PHOTOMETRIC_PALETTE: layout.kind = Kind::palette; return {};
    case PHOTOMETRIC_RGB: layout.kind = Kind::rgb; return {};
    case PHOTOMETRIC_SEPARATED:
      if (tag_or_default<uint16_t>(tiff, TIFFTAG_INKSET) != INKSET_CMYK)
        return unavailable(
            "expected a TIFF of grey, RGB, CMYK, YCbCr or a palette, got inks that are not CMYK");
      layout.kind = Kind::cmyk;
      return {};
    case PHOTOMETRIC_YCBCR: layout.kind = layout.samples == 1 ? Kind::gray : Kind::ycc; return {};
    default:
      return unavailable("expected a TIFF of grey, RGB, CMYK, YCbCr or a palette, got " +
                         name_of_photometric(photometric));
  }
}

// Samples beyond the colours: the first may be alpha, the others are ignored.
Status read_extra_samples(TIFF* tiff, Layout& layout) {
  const int extra = layout.samples - layout.colors();
  if (extra < 0)
    return corrupt("damaged TIFF: " + std::to_string(layout.samples) + " samples for " +
                   std::to_string(layout.colors()) + " colours");
  if (extra == 0 || layout.kind == Kind::cmyk || layout.kind == Kind::ycc) return {};
  uint16_t count = 0;
  uint16_t* kinds = nullptr;
  if (!TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) || count == 0) {
    layout.has_alpha = layout.kind == Kind::rgb;  // four samples without a declared meaning of the fourth
    return {};
  }
  constexpr int kCorelDraw = 999;  // as which it writes plain alpha
  layout.is_premultiplied = kinds[0] == EXTRASAMPLE_ASSOCALPHA;
  layout.has_alpha = layout.is_premultiplied || kinds[0] == EXTRASAMPLE_UNASSALPHA || kinds[0] == kCorelDraw;
  return {};
}

}  // namespace

Result<std::unique_ptr<File>> File::open(std::span<const std::byte> bytes) {
  std::unique_ptr<File> file(new File);
  file->bytes = bytes;
  const std::unique_ptr<TIFFOpenOptions, FreeOptions> options(TIFFOpenOptionsAlloc());
  if (!options) return Status(Code::exhausted, "out of memory for a TIFF decoder");
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxAllocation);
#if TIFFLIB_VERSION >= 20240911  // 4.7
  TIFFOpenOptionsSetMaxCumulatedMemAlloc(options.get(), 2 * kMaxAllocation);
#endif
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_complaint, file.get());
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_complaint, nullptr);
  file->tiff_ = TIFFClientOpenExt("image", "r", file.get(), read_bytes, refuse_to_write, seek, close_nothing,
                                  size_of_file, map_file, unmap_file, options.get());
  if (!file->tiff_) return file->failed();
  return file;
}

File::~File() {
  if (tiff_) TIFFClose(tiff_);
}

Status File::failed() const { return corrupt("damaged TIFF" + (complaint.empty() ? "" : ": " + complaint)); }

Result<Layout> File::layout() const {
  Layout layout;
  layout.height = tag_or<uint32_t>(tiff_, TIFFTAG_IMAGELENGTH, 0);
  layout.width = tag_or<uint32_t>(tiff_, TIFFTAG_IMAGEWIDTH, 0);
  layout.bits = tag_or_default<uint16_t>(tiff_, TIFFTAG_BITSPERSAMPLE);
  layout.samples = tag_or_default<uint16_t>(tiff_, TIFFTAG_SAMPLESPERPIXEL);
  layout.separate =
      layout.samples > 1 && tag_or_default<uint16_t>(tiff_, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
  const int orientation = tag_or<uint16_t>(tiff_, TIFFTAG_ORIENTATION, 1);
  layout.orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
  HEADRACE_TRY(read_kind(tiff_, layout));
  const int format = tag_or_default<uint16_t>(tiff_, TIFFTAG_SAMPLEFORMAT);
  layout.floats = layout.bits == 32 && format == SAMPLEFORMAT_IEEEFP;
  const bool is_wide =
      (layout.bits == 16 || layout.floats) && layout.kind != Kind::palette && layout.kind != Kind::ycc;
  const bool is_sound_depth =
      layout.bits == 8 || is_wide ||
      ((layout.bits == 1 || layout.bits == 2 || layout.bits == 4) && layout.samples == 1);
  if (!is_sound_depth)
    return unavailable(
        "expected a TIFF of 8 or 16 bits a sample, of 32 that are floats, or of 1, 2 or 4 with one sample, "
        "got " +
        std::to_string(layout.samples) + " of " + std::to_string(layout.bits));
  const bool is_unsigned = format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID;
  if (!is_unsigned && !layout.floats && (layout.samples > 1 || layout.bits > 8))
    return unavailable("expected a TIFF of unsigned samples, got sample format " + std::to_string(format) +
                       " of " + std::to_string(layout.bits) + " bits");
  HEADRACE_TRY(read_extra_samples(tiff_, layout));
  return layout;
}

}  // namespace headrace::tiff_codec
