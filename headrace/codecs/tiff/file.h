// A TIFF in memory, opened with libtiff, and what its first directory says of the pixels. For tiff.cc.
#pragma once
#include <memory>
#include <string>

#include "headrace/codecs/image.h"

struct tiff;  // libtiff's own name for TIFF

namespace headrace::tiff_codec {

// How samples become pixels.
enum class Kind : uint8_t {
  gray,     // also black and white
  palette,  // indexes
  rgb,
  cmyk,
  ycc,  // libtiff makes RGB of it
};

struct Layout {
  int64_t height = 0, width = 0;
  Kind kind = Kind::gray;
  int bits = 8, samples = 1;      // per sample: 1, 2, 4 or 8; per pixel, those that are not used included
  bool inverted = false;          // 0 is white
  bool separate = false;          // one plane per sample
  bool has_alpha = false;         // the sample after the colours
  bool is_premultiplied = false;  // and the colours hold it already
  bool jpeg = false;              // libtiff makes RGB of YCbCr without being asked for an image of RGBA
  int orientation = 1;

  int colors() const { return kind == Kind::gray || kind == Kind::palette ? 1 : kind == Kind::cmyk ? 4 : 3; }
};

// Reads from memory that outlives it; one thread. What libtiff complains of is kept.
class File {
 public:
  static Result<std::unique_ptr<File>> open(std::span<const std::byte> bytes);
  ~File();
  tiff* get() const { return tiff_; }
  Result<Layout> layout() const;
  // The last complaint, as an error.
  Status failed() const;

  // For libtiff's callbacks.
  std::span<const std::byte> bytes;
  uint64_t at = 0;
  std::string complaint;

 private:
  File() = default;
  tiff* tiff_ = nullptr;
};

}  // namespace headrace::tiff_codec
