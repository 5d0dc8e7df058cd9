#include <algorithm>
#include <cstring>

#include "headrace/ops/registered.h"
#include "headrace/ops/whole_shape.h"

namespace headrace {
namespace {

struct DecodeRaw {
  static constexpr std::string_view name = "decode_raw";
  static constexpr std::string_view doc =
      "Reinterpret bytes as numbers, as tf.io.decode_raw does: a tensor of rank 1, or of `shape`.";
  DType dtype = DType::u8;
  std::optional<std::vector<int64_t>> shape;
  bool little_endian = true;
  static constexpr std::tuple fields{
      Field{"dtype", &DecodeRaw::dtype, "dtype of the numbers."},
      Field{"shape", &DecodeRaw::shape,
            "Shape of the result; one dimension may be -1, inferred from the rest. None: (-1,)."},
      Field{"little_endian", &DecodeRaw::little_endian, "Whether the lowest byte of a number comes first."}};
  static constexpr std::array inputs{std::string_view("data")};
  static constexpr std::array required{std::string_view("dtype")};

  Status check() const {
    if (is_text(dtype)) return invalid("dtype must be numeric, got " + std::string(dtype_name(dtype)));
    return shape ? check_whole_shape(*shape) : Status();
  }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (in.shape.rank() != 1 || (in.dtype != DType::bytes && in.dtype != DType::u8))
      return invalid({.expected = "bytes", .got = in.text()});
    if (!shape) return TensorSpec{dtype, {kAny}};
    return TensorSpec{dtype, Shape(*shape)};  // -1 is kAny
  }

  Result<Shape> measure(View in, CallContext&) const {
    const size_t each = size_of(dtype), size = in.size_bytes();
    if (size % each != 0)
      return corrupt({.expected = "a multiple of " + std::to_string(each) + " bytes for " +
                                  std::string(dtype_name(dtype)),
                      .got = std::to_string(size)});
    const auto count = static_cast<int64_t>(size / each);
    if (!shape) return Shape{count};
    auto whole = whole_shape(*shape, count);
    if (!whole)
      return corrupt({.expected = "values for shape " + Shape(*shape).text(), .got = std::to_string(count)});
    return *whole;
  }

  Status run(View in, MutView out, CallContext& call) const {
    HEADRACE_TRY(measure(in, call).status());  // a known shape is not measured
    const size_t each = size_of(dtype), size = out.size_bytes();
    if (size == 0) return {};
    if (dtype == DType::boolean)
      std::transform(in.data, in.data + size, out.data,
                     [](std::byte b) { return std::byte(b != std::byte{0}); });
    else
      std::memcpy(out.data, in.data, size);
    if (!little_endian)
      for (std::byte* at = out.data; at != out.data + size; at += each) std::reverse(at, at + each);
    return {};
  }
};

const Registered<DecodeRaw> registered_decode_raw;

}  // namespace
}  // namespace headrace
