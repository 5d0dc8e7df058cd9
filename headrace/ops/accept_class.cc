// The draw of rejection_resample: whether to keep a sample of some class, so that the kept classes have the
// wanted shares.
//
// Where p[i] is the share of class i in the input and t[i] the wanted share, class i is kept with probability
// (t[i] / p[i]) / max(t / p): the highest that gives these shares.
#include <algorithm>
#include <cmath>
#include <concepts>

#include "headrace/ops/registered.h"

namespace headrace {
namespace {

Status check_shares(std::string_view name, std::span<const double> shares) {
  if (shares.empty()) return invalid({.expected = "a share for each class", .got = "none"}).in_op(name);
  for (const double share : shares)
    if (!std::isfinite(share) || share < 0)
      return invalid(std::string(name) + ": shares must be at least 0, got " + std::to_string(share));
  if (std::ranges::all_of(shares, [](double share) { return share == 0; }))
    return invalid({.expected = "a share above 0", .got = "none"}).in_op(name);
  return {};
}

Status check_seed(int64_t seed) {
  if (seed >= 0 && seed < int64_t{1} << 31) return {};
  return invalid("seed must be from 0 to 2**31 - 1, got " + std::to_string(seed));
}

Status check_label(const TensorSpec& label) {
  if (!is_text(label.dtype) && !is_float(label.dtype) && label.dtype != DType::boolean &&
      label.shape.rank() == 0)
    return {};
  return invalid({.expected = "a class (one integer)", .got = label.text()});
}

Result<size_t> class_of(const View& label, size_t num_classes) {
  return visit_dtype(label.dtype, [&]<class T>() -> Result<size_t> {
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      const T value = *label.as<T>();
      if (std::cmp_greater_equal(value, 0) && std::cmp_less(value, num_classes))
        return static_cast<size_t>(value);
      return invalid(
          {.expected = "a class from 0 to " + std::to_string(num_classes - 1), .got = std::to_string(value)});
    }
    return internal_error("expected a class that infer accepted");
  });
}

// `come`: numbers in the proportions of p. REQUIRES: above 0 where `wanted` is.
template <class T> double rate(std::span<const double> wanted, const T* come, size_t of) {
  const auto ratio = [&](size_t i) { return wanted[i] == 0 ? 0 : wanted[i] / static_cast<double>(come[i]); };
  double most = 0;
  for (size_t i = 0; i < wanted.size(); ++i) most = std::max(most, ratio(i));
  return ratio(of) / most;
}

bool is_kept(const Key& key, int64_t seed, double rate) {
  return key.uniform64(static_cast<uint32_t>(seed)) < rate;
}

struct AcceptClass {
  static constexpr std::string_view name = "accept_class";
  static constexpr std::string_view doc =
      "Draw whether to keep a sample of a class, so that kept samples have the class shares "
      "`target`.";
  std::vector<double> target, initial;
  int64_t seed = 0;
  static constexpr std::tuple fields{
      Field{"target", &AcceptClass::target, "Wanted share of each class; any sum."},
      Field{"initial", &AcceptClass::initial, "Share of each class in the input; any sum."},
      Field{"seed", &AcceptClass::seed, "Selects the draws, together with the pipeline's seed."}};
  static constexpr std::array inputs{std::string_view("label")};
  static constexpr std::array required{std::string_view("target"), std::string_view("initial")};
  static constexpr bool random = true;

  Status check() const {
    HEADRACE_TRY(check_shares("target", target));
    HEADRACE_TRY(check_shares("initial", initial));
    if (initial.size() != target.size())
      return invalid("initial must have as many classes as target, " + std::to_string(target.size()) +
                     ", got " + std::to_string(initial.size()));
    for (size_t i = 0; i < target.size(); ++i)
      if (target[i] > 0 && initial[i] == 0)
        return invalid("initial must have a share above 0 for class " + std::to_string(i) +
                       ", which has one in target");
    return check_seed(seed);
  }
  Result<TensorSpec> infer(const TensorSpec& in) const {
    HEADRACE_TRY(check_label(in));
    return TensorSpec{DType::boolean, {}};
  }
  Status run(View in, MutView out, CallContext& call) const {
    HEADRACE_ASSIGN(const size_t of, class_of(in, target.size()));
    *out.as<bool>() = is_kept(call.key(), seed, rate(target, initial.data(), of));
    return {};
  }
};

struct AcceptCountedClass {
  static constexpr std::string_view name = "accept_counted_class";
  static constexpr std::string_view doc =
      "Draw whether to keep a sample of a class, as accept_class does, where `counts` is how often each "
      "class occurred so far.";
  std::vector<double> target;
  int64_t seed = 0;
  static constexpr std::tuple fields{
      Field{"target", &AcceptCountedClass::target, "Wanted share of each class; any sum."},
      Field{"seed", &AcceptCountedClass::seed, "Selects the draws, together with the pipeline's seed."}};
  static constexpr std::array inputs{std::string_view("label"), std::string_view("counts")};
  static constexpr std::array required{std::string_view("target")};
  static constexpr bool random = true;

  Status check() const {
    HEADRACE_TRY(check_shares("target", target));
    return check_seed(seed);
  }
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    HEADRACE_TRY(check_label(in[0]));
    const TensorSpec wanted{DType::i64, {static_cast<int64_t>(target.size())}};
    if (!wanted.admits(in[1]))
      return invalid({.expected = "a count for each class, " + wanted.text(), .got = in[1].text()});
    return std::vector<TensorSpec>{{DType::boolean, {}}};
  }
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const {
    HEADRACE_ASSIGN(const size_t of, class_of(in[0], target.size()));
    const auto* counts = in[1].as<int64_t>();
    for (size_t i = 0; i < target.size(); ++i)
      if (counts[i] < 1) return invalid("counts must be at least 1, got " + std::to_string(counts[i]));
    *out[0].as<bool>() = is_kept(call.key(), seed, rate(target, counts, of));
    return {};
  }
};

const Registered<AcceptClass> accept_class;
const Registered<AcceptCountedClass> accept_counted_class;

}  // namespace
}  // namespace headrace
