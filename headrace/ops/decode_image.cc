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

// dtype of decoded pixels.
struct ImageDType {
  std::optional<DType> wanted;
  bool unchanged = false;  // that of the file
};
template <> struct Codec<ImageDType> {
  static std::string py() { return "DTypeLike | None"; }
  static std::string wanted() { return R"("uint8", "uint16", "float32", "unchanged" or None)"; }
  static Value out(const ImageDType& v) {
    return v.unchanged ? Value("unchanged") : v.wanted ? Value(short_name(*v.wanted)) : Value();
  }
  static bool in(const Value& v, ImageDType& o) {
    o = {};
    if (v.is_null()) return true;
    if (!v.text()) return false;
    o.unchanged = *v.text() == "unchanged";
    if (o.unchanged) return true;
    const auto dtype = parse_dtype(*v.text());
    if (!dtype.ok()) return false;
    o.wanted = *dtype;
    return *dtype == DType::u8 || *dtype == DType::u16 || *dtype == DType::f32;
  }
};

namespace {

// "PNG with 16 bits a sample".
std::string samples_text(const ImageHeader& header) {
  const std::string name(image_format_name(header));
  return header.dtype == DType::f32 ? name + " of floats"
                                    : name + " with " + std::to_string(header.bit_depth) + " bits a sample";
}

// Whether pixels of the wanted dtype say what the file does. Bits are dropped only where that is wanted.
Status check_samples(const ImageHeader& header, Color color, std::optional<DType> wanted) {
  const bool narrows = header.dtype != DType::u8 && wanted.value_or(DType::u8) == DType::u8;
  const bool may_narrow = wanted && header.dtype == DType::u16 && color != Color::index;
  if (narrows ? may_narrow : gives_samples(header, color, wanted.value_or(DType::u8))) return {};
  const std::string got = ", got " + samples_text(header) + ": ";
  const auto refused = [](const std::string& text) { return Status(Code::unavailable, text); };
  if (header.dtype == DType::f32)
    return refused("expected an image of integers" + got + "dtype=\"float32\" keeps its numbers");
  if (header.dtype == DType::u16)
    return refused((narrows ? "expected an image of up to 8 bits a sample" : "expected an image of floats") +
                   got + "dtype=\"uint16\" keeps its numbers" +
                   (color == Color::index ? "" : ", dtype=\"uint8\" the high 8 bits of each"));
  if (*wanted == DType::f32)
    return refused("expected an image of floats" + got + "decode it without dtype, then cast it");
  return refused("expected an image of more than 8 bits a sample" + got +
                 "dtype=\"uint8\" gives its pixels, color=\"index\" the stored numbers of a mask as uint16");
}

struct DecodeImage {
  static constexpr std::string_view name = "decode_image";
  static constexpr std::string_view doc =
      "Decode an image file (JPEG, PNG, WebP, GIF, BMP, TIFF and more), recognised by its content, to "
      "pixels (height, width, channels): uint8, or `dtype` for files of more than 8 bits a sample.";
  Color color = Color::rgb;
  bool exif_orientation = false;
  DecodeMatch match = DecodeMatch::fast;
  int64_t max_pixels = kMaxImagePixels;
  bool scale_in_dct = false;
  ImageDType dtype;
  // Plans that were saved before there was this parameter stay as they are.
  static constexpr std::array omitted{std::string_view("dtype")};
  static constexpr std::tuple fields{
      Field{"color", &DecodeImage::color,
            "'rgb': 3 channels, grey replicated, alpha dropped; 'gray': 1 channel; 'unchanged': the file's "
            "channels; 'index': 1 channel, the stored numbers, for class masks: the indexes of a palette, or "
            "the grey of a PNG, TIFF or PNM, neither scaled nor looked up. Other files are then an error."},
      Field{"exif_orientation", &DecodeImage::exif_orientation,
            "Turn the image upright by its EXIF orientation."},
      Field{"match", &DecodeImage::match,
            "'exact': the bytes of libjpeg-turbo's default decode. 'fast': the same, except that where "
            "crops, flips "
            "and one resize follow in a pipeline, a JPEG's planes are resized before conversion to RGB."},
      Field{"max_pixels", &DecodeImage::max_pixels, "Refuse images with more pixels than this."},
      Field{"scale_in_dct", &DecodeImage::scale_in_dct,
            "With match='fast': decode a large JPEG at 1/2, 1/4 or 1/8 of its size where the resize shrinks "
            "it further still. Faster, and less close to 'exact'."},
      Field{"dtype", &DecodeImage::dtype,
            "dtype of the pixels. None: uint8, and a file of more than 8 bits a sample is an error, so that "
            "none are lost unseen. 'uint16': the numbers of a file of 9 to 16 bits as they are stored, not "
            "scaled: 10 bits are 0 to 1023; with color='index' also those of fewer bits. 'float32': those of "
            "a file of floats (TIFF, PFM, JPEG XL). 'uint8': of up to 16 bits the high 8, rounded down: "
            "number * 256 / (greatest + 1). 'unchanged': what the file has; in a pipeline, what its first "
            "image has, and an image of another dtype is an error."}};
  static constexpr std::array inputs{std::string_view("image")};

  Status check() const {
    if (max_pixels < 1) return invalid("max_pixels must be at least 1, got " + std::to_string(max_pixels));
    if (scale_in_dct && match != DecodeMatch::fast)
      return invalid("scale_in_dct needs match=\"fast\", got match=\"exact\"");
    if (scale_in_dct && color == Color::index)
      return invalid("scale_in_dct needs colours, which color=\"index\" does not give");
    if (scale_in_dct && decoding().dtype() != DType::u8)
      return invalid("scale_in_dct needs pixels of uint8, got dtype=\"" +
                     std::string(dtype_name(decoding().dtype())) + "\"");
    return {};
  }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    const bool is_file = in.shape.rank() == 1 && (in.dtype == DType::bytes || in.dtype == DType::u8);
    if (!is_file) return invalid({.expected = "the bytes of an image file", .got = in.text()});
    if (dtype.unchanged)
      return invalid(
          "dtype=\"unchanged\" is known where an image is: in a pipeline expected dtype=\"uint8\", "
          "\"uint16\" or \"float32\"");
    return TensorSpec{decoding().dtype(),
                      {kAny, kAny,
                       color == Color::rgb         ? 3
                       : color == Color::unchanged ? kAny
                                                   : 1}};
  }

  Result<Shape> measure(View in, CallContext&) const {
    HEADRACE_ASSIGN(const ImageHeader header, decoding().header(in.bytes()));
    return decoding().shape(header);
  }

  Status run(View in, MutView out, CallContext& call) const {
    return run_part(in, {0, 0, out.shape[0], out.shape[1]}, out, call);
  }

  Status run_part(View in, const Box& part, MutView out, CallContext& call) const {
    Scratch& scratch = call.scratch();
    std::string_view& decoder = call.facts().decoder;
    HEADRACE_ASSIGN(const ImageHeader header, read_image_header(in.bytes()));
    const DType type = decoding().dtype();
    if (!gives_samples(header, color, type)) return check_samples(header, color, dtype.wanted);
    const size_t pixel = static_cast<size_t>(decoded_channels(header, color)) * size_of(type);
    const size_t row = static_cast<size_t>(header.width) * pixel;
    if (!exif_orientation || header.orientation == 1)
      return decode_samples(in.bytes(), header, color, type, part, out.data, row, scratch, &decoder);
    const Scratch::Mark mark = scratch.mark();
    const size_t size = row * static_cast<size_t>(header.height);
    const auto pixels = scratch.take(size);
    if (pixels.empty()) return scratch.over_budget(size, "an image to turn");
    const Status status = decode_samples(in.bytes(), header, color, type, header.whole(), pixels.data(), row,
                                         scratch, &decoder);
    if (status.ok())
      apply_orientation(reinterpret_cast<const uint8_t*>(pixels.data()), header.height, header.width,
                        static_cast<int>(pixel), header.orientation, out.as<uint8_t>());
    scratch.reset(mark);
    return status;
  }

  // With the dtype of this file in place of "unchanged".
  Result<DecodeImage> settled(View in) const {
    DecodeImage out = *this;
    if (!dtype.unchanged) return out;
    HEADRACE_ASSIGN(const ImageHeader header, read_image_header(in.bytes()));
    out.dtype = {};
    if (header.dtype != DType::u8) out.dtype.wanted = header.dtype;
    return out;
  }

  ImageDecoding decoding() const { return {color, exif_orientation, max_pixels, scale_in_dct, dtype.wanted}; }
};

const Registered<DecodeImage> registered_decode_image;

}  // namespace

Result<ImageHeader> ImageDecoding::header(std::span<const std::byte> bytes) const {
  HEADRACE_ASSIGN(const ImageHeader header, read_image_header(bytes));
  HEADRACE_TRY(check_color(header, color));
  HEADRACE_TRY(check_samples(header, color, wanted));
  if (header.height * header.width <= max_pixels) return header;
  return Status(Code::corrupt, {.expected = "at most " + std::to_string(max_pixels) + " pixels",
                                .got = std::to_string(header.height) + " x " + std::to_string(header.width)});
}

Shape ImageDecoding::shape(const ImageHeader& header) const {
  const bool turned = upright && orientation_transposes(header.orientation);
  return {turned ? header.width : header.height, turned ? header.height : header.width,
          decoded_channels(header, color)};
}

std::optional<ImageDecoding> fast_decoding(const AnyOp& op) {
  const auto* decode = dynamic_cast<const op_detail::Adapter<DecodeImage>*>(&op);
  if (!decode || decode->op().match != DecodeMatch::fast) return std::nullopt;
  if (decode->op().color == Color::index) return std::nullopt;            // class numbers must not be mixed
  if (decode->op().decoding().dtype() != DType::u8) return std::nullopt;  // resampled as decoded pixels
  return decode->op().decoding();
}

}  // namespace headrace
