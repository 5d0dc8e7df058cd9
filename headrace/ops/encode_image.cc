#include <cstring>
#include <optional>

#include "headrace/codecs/encode.h"
#include "headrace/codecs/image.h"
#include "headrace/ops/registered.h"

namespace headrace {

enum class EncodedFormat : uint8_t { jpeg, png };
template <> struct EnumNames<EncodedFormat> {
  static constexpr std::array names{std::string_view("jpeg"), std::string_view("png")};
};
template <> struct EnumNames<ChromaSubsampling> {
  static constexpr std::array names{std::string_view("4:2:0"), std::string_view("4:2:2"),
                                    std::string_view("4:4:4")};
};

namespace {

// The encoded file: its length is known only after encoding, so measure() leaves it for run().
struct EncodedFile {
  std::string bytes;
};

struct EncodeImage {
  static constexpr std::string_view name = "encode_image";
  static constexpr std::string_view doc =
      "Encode uint8 pixels (height, width, channels) as an image file: a JPEG of 1 or 3 channels, by "
      "libjpeg-turbo, or a PNG of 1 to 4. uint16 pixels become a PNG of 16 bits.";
  EncodedFormat format = EncodedFormat::jpeg;
  int64_t quality = 90;
  ChromaSubsampling subsampling = ChromaSubsampling::yuv420;
  static constexpr std::tuple fields{
      Field{"format", &EncodeImage::format, "\"jpeg\", lossy, or \"png\", lossless."},
      Field{"quality", &EncodeImage::quality, "Quality of a JPEG, 1 to 100, on libjpeg's scale."},
      Field{"subsampling", &EncodeImage::subsampling,
            "Chroma subsampling of a JPEG: \"4:2:0\" halves height and width, \"4:2:2\" the width, \"4:4:4\" "
            "neither."}};
  static constexpr std::array inputs{std::string_view("image")};

  Status check() const {
    if (quality < 1 || quality > 100)
      return invalid("quality must be from 1 to 100, got " + std::to_string(quality));
    return {};
  }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    HEADRACE_TRY(check_image(in));
    return TensorSpec{DType::bytes, {kAny}};
  }

  Result<Shape> measure(View in, CallContext& call) const {
    HEADRACE_TRY(check_image(in.spec()));
    HEADRACE_ASSIGN(std::string bytes, encode(in));
    const Shape shape{static_cast<int64_t>(bytes.size())};
    call.leave(EncodedFile{std::move(bytes)});
    return shape;
  }

  Status run(View in, MutView out, CallContext& call) const {
    std::optional<EncodedFile> file = call.take<EncodedFile>();
    if (!file) {
      HEADRACE_ASSIGN(file.emplace().bytes, encode(in));
    }
    if (file->bytes.size() != out.size_bytes())
      return internal_error("an image was encoded differently the second time");
    std::memcpy(out.data, file->bytes.data(), file->bytes.size());
    return {};
  }

 private:
  Status check_image(const TensorSpec& in) const {
    const int rank = in.shape.rank();
    const int64_t channels = rank == 3 ? in.shape[2] : 1;
    const bool is_png = format == EncodedFormat::png, is_wide = is_png && in.dtype == DType::u16;
    const bool is_image = (in.dtype == DType::u8 || is_wide) && (rank == 2 || rank == 3);
    const bool fits = channels == kAny || (format == EncodedFormat::jpeg ? channels == 1 || channels == 3
                                                                         : channels >= 1 && channels <= 4);
    if (!is_image || !fits)
      return invalid(
          {.expected = is_png ? "uint8 or uint16 (height, width, 1 to 4)" : "uint8 (height, width, 1 or 3)",
           .got = in.text(),
           .fix = in.dtype == DType::u16 && !is_png ? "format=\"png\" keeps 16 bits" : ""});
    for (int i = 0; i < 2; ++i)
      if (in.shape[i] != kAny && (in.shape[i] < 1 || in.shape[i] > kMaxImageSide))
        return invalid({.expected = "sides of 1 to " + std::to_string(kMaxImageSide), .got = in.text()});
    return {};
  }

  Result<std::string> encode(const View& in) const {
    return format == EncodedFormat::jpeg ? encode_jpeg(in, static_cast<int>(quality), subsampling)
                                         : encode_png(in);
  }
};

const Registered<EncodeImage> registered_encode_image;

}  // namespace
}  // namespace headrace
