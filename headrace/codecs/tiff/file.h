// A TIFF in memory, opened with libtiff, and the pixel layout in its first directory. For tiff.cc.
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
  ycc,  // libtiff converts it to RGB
};

struct Layout {
  int64_t height = 0, width = 0;
  Kind kind = Kind::gray;
  int bits = 8, samples = 1;      // per sample: 1, 2, 4, 8, 16 or 32; per pixel, including unused ones
  bool floats = false;            // of 32 bits
  bool inverted = false;          // 0 is white
  bool separate = false;          // one plane per sample
  bool has_alpha = false;         // the sample after the colours
  bool is_premultiplied = false;  // and the colours are multiplied by it
  bool jpeg = false;              // libtiff converts YCbCr to RGB without the RGBA interface
  int orientation = 1;

  int sample_bytes() const { return bits <= 8 ? 1 : bits / 8; }
  int colors() const { return kind == Kind::gray || kind == Kind::palette ? 1 : kind == Kind::cmyk ? 4 : 3; }
};

// Reads from memory that outlives it; one thread. Error messages of libtiff are kept.
class File {
 public:
  static Result<std::unique_ptr<File>> open(std::span<const std::byte> bytes);
  ~File();
  tiff* get() const { return tiff_; }
  Result<Layout> layout() const;
  // The last message, as an error.
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
