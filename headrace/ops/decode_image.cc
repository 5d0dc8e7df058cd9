#include "headrace/ops/decode_image.h"

#include "headrace/codecs/exif.h"
#include "headrace/ops/registered.h"

namespace headrace {

// How close pixels are to a reference. Written into every plan, so that adding a faster mode changes no
// existing plan.
enum class DecodeMatch : uint8_t { fast, exact };

template <> struct EnumNames<Color> {
  static constexpr std::array names{std::string_view("rgb"), std::string_view("gray"),
                                    std::string_view("unchanged"), std::string_view("index")};
};
template <> struct EnumNames<DecodeMatch> {
  static constexpr std::array names{std::string_view("fast"), std::string_view("exact")};
};

namespace {

struct DecodeImage {
  static constexpr std::string_view name = "decode_image";
  static constexpr std::string_view doc =
      "Decode an image file (JPEG, PNG, WebP, GIF, BMP, TIFF and more), recognised by its content, to uint8 "
      "pixels (height, width, channels).";
  Color color = Color::rgb;
  bool exif_orientation = false;
  DecodeMatch match = DecodeMatch::fast;
  int64_t max_pixels = kMaxImagePixels;
  bool scale_in_dct = false;
  static constexpr std::tuple fields{
      Field{
          "color", &DecodeImage::color,
          "'rgb': 3 channels, grey replicated, alpha dropped; 'gray': 1 channel; 'unchanged': the file's "
          "channels; 'index': 1 channel, the stored numbers, for class masks: the indexes of a palette, or "
          "the grey of a PNG or TIFF of up to 8 bits, neither scaled nor looked up. Other files are then an "
          "error."},
      Field{"exif_orientation", &DecodeImage::exif_orientation,
            "Turn the image upright by its EXIF orientation."},
      Field{"match", &DecodeImage::match,
            "'exact': the bytes of libjpeg-turbo's default decode. 'fast': the same, except that where "
            "crops, flips "
            "and one resize follow in a pipeline, a JPEG's planes are resized before conversion to RGB."},
      Field{"max_pixels", &DecodeImage::max_pixels, "Refuse images with more pixels than this."},
      Field{"scale_in_dct", &DecodeImage::scale_in_dct,
            "With match='fast': decode a large JPEG at 1/2, 1/4 or 1/8 of its size where the resize shrinks "
            "it further still. Faster, and less close to 'exact'."}};
  static constexpr std::array inputs{std::string_view("image")};

  Status check() const {
    if (max_pixels < 1) return invalid("max_pixels must be at least 1, got " + std::to_string(max_pixels));
    if (scale_in_dct && match != DecodeMatch::fast)
      return invalid("scale_in_dct needs match=\"fast\", got match=\"exact\"");
    if (scale_in_dct && color == Color::index)
      return invalid("scale_in_dct needs colours, which color=\"index\" does not give");
    return {};
  }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    const bool is_file = in.shape.rank() == 1 && (in.dtype == DType::bytes || in.dtype == DType::u8);
    if (!is_file) return invalid("expected the bytes of an image file, got " + in.text());
    return TensorSpec{DType::u8,
                      {kAny, kAny,
                       color == Color::rgb         ? 3
                       : color == Color::unchanged ? kAny
                                                   : 1}};
  }

  Result<Shape> measure(View in, const Key&) const {
    HEADRACE_ASSIGN(const ImageHeader header, decoding().header(in.bytes()));
    return decoding().shape(header);
  }

  Status run(View in, const Key& key, MutView out, Scratch& scratch) const {
    return run_part(in, key, {0, 0, out.shape[0], out.shape[1]}, out, scratch);
  }

  Status run_part(View in, const Key&, const Box& part, MutView out, Scratch& scratch) const {
    HEADRACE_ASSIGN(const ImageHeader header, read_image_header(in.bytes()));
    const int channels = decoded_channels(header, color);
    const auto row = static_cast<size_t>(header.width * channels);
    if (!exif_orientation || header.orientation == 1)
      return decode_image(in.bytes(), header, color, part, out.as<uint8_t>(), row, scratch);
    const Scratch::Mark mark = scratch.mark();
    const size_t size = row * static_cast<size_t>(header.height);
    const auto pixels = scratch.take<uint8_t>(size);
    if (pixels.empty()) return scratch.over_budget(size, "an image to turn");
    const Status status =
        decode_image(in.bytes(), header, color, header.whole(), pixels.data(), row, scratch);
    if (status.ok())
      apply_orientation(pixels.data(), header.height, header.width, channels, header.orientation,
                        out.as<uint8_t>());
    scratch.reset(mark);
    return status;
  }

  ImageDecoding decoding() const { return {color, exif_orientation, max_pixels, scale_in_dct}; }
};

const Registered<DecodeImage> registered_decode_image;

}  // namespace

Result<ImageHeader> ImageDecoding::header(std::span<const std::byte> bytes) const {
  HEADRACE_ASSIGN(const ImageHeader header, read_image_header(bytes));
  HEADRACE_TRY(check_color(header, color));
  if (header.height * header.width <= max_pixels) return header;
  return Status(Code::corrupt, "expected at most " + std::to_string(max_pixels) + " pixels, got " +
                                   std::to_string(header.height) + " x " + std::to_string(header.width));
}

Shape ImageDecoding::shape(const ImageHeader& header) const {
  const bool turned = upright && orientation_transposes(header.orientation);
  return {turned ? header.width : header.height, turned ? header.height : header.width,
          decoded_channels(header, color)};
}

std::optional<ImageDecoding> fast_decoding(const AnyOp& op) {
  const auto* decode = dynamic_cast<const op_detail::Adapter<DecodeImage>*>(&op);
  if (!decode || decode->op().match != DecodeMatch::fast) return std::nullopt;
  if (decode->op().color == Color::index) return std::nullopt;  // class numbers must not be mixed
  return decode->op().decoding();
}

}  // namespace headrace
