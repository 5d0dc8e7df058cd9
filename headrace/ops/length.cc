// Used by bucket_by_length when it is given a field.
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct Length {
  static constexpr std::string_view name = "length";
  static constexpr std::string_view doc =
      "Return the size of the first dimension as int64; for bytes and str, the number of bytes.";
  static constexpr std::tuple<> fields{};
  static constexpr std::array inputs{std::string_view("data")};

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (in.shape.rank() == 0) return invalid({.expected = "at least one dimension", .got = in.text()});
    return TensorSpec{DType::i64, {}};
  }
  Status run(View in, MutView out, CallContext&) const {
    *out.as<int64_t>() = in.shape[0];
    return {};
  }
};

const Registered<Length> registered_length;

}  // namespace
}  // namespace headrace
