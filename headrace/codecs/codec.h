// An image codec: how its files are recognised, what their header states, how their pixels are decoded; and
// the registry of all codecs. A codec is a folder below codecs/ and is registered by one statement at the end
// of one of its .cc files:
//
//   const CodecRegistration registered({.name = "GIF",
//                                       .library = "giflib",
//                                       .endings = {".gif"},
//                                       .recognise = is_gif,
//                                       .read_header = read_gif_header,
//                                       .decode = decode_gif});
//
// A codec that needs a library of its own has a codec.cmake, and is left out where the library is absent. The
// functions may be called from several threads at once. Read bmp/bmp.cc before you write one.
#pragma once
#include <map>
#include <vector>

#include "headrace/codecs/entropy_points.h"
#include "headrace/codecs/image.h"

namespace headrace {

struct Resampled;  // resampled.h
class RowSink;

struct ImageCodec {
  std::string_view name;                  // as shown to users: "JPEG"
  std::string_view library;               // that decodes, for reports: "libjpeg-turbo"
  std::vector<std::string_view> endings;  // of file names, in lower case: ".jpg"
  bool (*recognise)(std::span<const std::byte> bytes) =
      nullptr;  // by the first bytes; at most one codec may match
  // Cheap; `bytes` were recognised. `unavailable` for kinds that the codec cannot read. The caller checks
  // sides and number of pixels, so the header must be plausible (image.h), but need not be small.
  Result<ImageHeader> (*read_header)(std::span<const std::byte> bytes) = nullptr;
  // Contract: decode_image in image.h. `decoder` is `library` on entry; set it where another one decoded.
  Status (*decode)(std::span<const std::byte> bytes, const ImageHeader& header, Color color, const Box& part,
                   uint8_t* out, size_t row_stride, Scratch& scratch, std::string_view& decoder) = nullptr;
  // For headers whose dtype is not u8: header.channels samples of that dtype for each pixel, as they are
  // stored. Otherwise as `decode`, which is not called for them; `row_stride` is in bytes.
  Status (*decode_stored)(std::span<const std::byte> bytes, const ImageHeader& header, const Box& part,
                          std::byte* out, size_t row_stride, Scratch& scratch) = nullptr;
  // Optional: decode_resampled (resampled.h) for an image as it is stored. False where the caller must decode
  // and resize; some rows may have been taken by then. Where true, `decoder` is set to what decoded.
  Result<bool> (*resample)(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                           std::span<const Resampled> pictures, std::span<RowSink* const> sinks,
                           PointStore* store, Scratch& scratch, std::string_view& decoder) = nullptr;
  // Optional, with resample: all entropy points of a file; none where it decodes the file another way.
  EntropyPoints (*find_points)(std::span<const std::byte> bytes, int64_t step,
                               const Scratch& scratch) = nullptr;
};

using CodecRegistry = std::map<std::string_view, ImageCodec>;
const CodecRegistry& image_codecs();  // by name; filled before main()

// Whether a file name has an ending of one of them, in any case.
bool has_image_ending(std::string_view name);

struct CodecRegistration {
  explicit CodecRegistration(ImageCodec codec);
};

}  // namespace headrace
