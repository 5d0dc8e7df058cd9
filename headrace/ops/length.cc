// What bucket_by_length looks at when it is given a field.
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct Length {
  static constexpr std::string_view name = "length";
  static constexpr std::string_view doc =
      "Give the size of the first dimension, i64; of bytes and str how many bytes they are.";
  static constexpr std::tuple<> fields{};
  static constexpr std::array inputs{std::string_view("data")};

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (in.shape.rank() == 0) return invalid("wants at least one dimension, got " + in.text());
    return TensorSpec{DType::i64, {}};
  }
  Status run(View in, const Key&, MutView out, Scratch&) const {
    *out.as<int64_t>() = in.shape[0];
    return {};
  }
};

const Registered<Length> registered_length;

}  // namespace
}  // namespace headrace
