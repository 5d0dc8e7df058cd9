// Registered<Op>: the one statement that makes an operator exist everywhere. For ops/*.cc only.
#pragma once
#include <type_traits>

#include "headrace/ops/geometry.h"
#include "headrace/ops/op.h"
#include "headrace/ops/param.h"

namespace headrace {
namespace op_detail {

template <class Op> constexpr bool is_variadic() {
  if constexpr (requires { Op::variadic; }) return Op::variadic;
  return false;
}
template <class Op> constexpr bool is_elementwise() {
  if constexpr (requires { Op::elementwise; }) return Op::elementwise;
  return false;
}
template <class Op> constexpr bool is_random() {
  if constexpr (requires { Op::random; }) return Op::random;
  return false;
}

template <class Op, class F> void each_field(F&& f) {
  std::apply([&](const auto&... field) { (f(field), ...); }, Op::fields);
}

// Whether plans leave out a parameter of this value.
template <class Op> bool is_omitted(std::string_view name, const Value& value, const Value& fallback) {
  if constexpr (requires { Op::omitted; })
    for (std::string_view omitted : Op::omitted)
      if (omitted == name) return value == fallback;
  return false;
}

template <class Op> Status check(const Op& op) {
  if constexpr (requires { op.check(); }) return op.check().in_op(Op::name);
  return {};
}

// Parameters from an object. Unknown names and values that do not fit are errors that state what was
// expected.
template <class Op> Result<Op> parse(const Value& params) {
  Op op;
  if (const auto* object = params.object()) {
    for (const auto& [key, value] : *object) {
      bool known = false, fits = false;
      std::string wanted;
      each_field<Op>([&, &key = key, &value = value](const auto& field) {
        if (field.name != key) return;
        using T = std::remove_cvref_t<decltype(op.*field.member)>;
        known = true;
        fits = Codec<T>::in(value, op.*field.member);
        wanted = wanted_text<T>();
      });
      if (!known) return invalid("has no parameter '" + key + "'").with({.option = key}).in_op(Op::name);
      if (!fits)
        return invalid(key + " must be " + wanted + ", got " + value.dump())
            .with({.option = key, .expected = wanted, .got = value.dump()})
            .in_op(Op::name);
    }
  } else if (!params.is_null()) {
    return invalid("parameters must be an object, got " + params.dump()).in_op(Op::name);
  }
  return op;
}

// Reads one scalar of any numeric dtype into a bound parameter.
template <class T> bool read_scalar(const View& v, T& out) {
  if (is_text(v.dtype) || v.shape.count() != 1) return false;
  visit_dtype(v.dtype, [&]<class S>() {
    if constexpr (std::is_same_v<S, half_t>)
      out = static_cast<T>(f16_to_f32(v.as<uint16_t>()[0]));
    else if constexpr (std::is_same_v<S, bfloat_t>)
      out = static_cast<T>(bf16_to_f32(v.as<uint16_t>()[0]));
    else
      out = static_cast<T>(v.as<S>()[0]);
  });
  return true;
}

template <class Op> class Adapter final : public AnyOp {
 public:
  Adapter(Op op, std::vector<std::string> bound) : op_(std::move(op)), bound_(std::move(bound)) {}

  const Op& op() const { return op_; }
  std::string_view name() const override { return Op::name; }
  std::span<const std::string> bound() const override { return bound_; }
  bool elementwise() const override { return is_elementwise<Op>(); }
  bool random() const override { return is_random<Op>(); }

  Value params() const override {
    Value out{Value::Object()};
    each_field<Op>([&](const auto& field) {
      using T = std::remove_cvref_t<decltype(op_.*field.member)>;
      const Value value = Codec<T>::out(op_.*field.member);
      if (!is_omitted<Op>(field.name, value, Codec<T>::out(Op().*field.member))) out.set(field.name, value);
    });
    return out;
  }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const override {
    const auto data = in.first(in.size() - bound_.size());
    if constexpr (requires(const TensorSpec& s) {
                    { op_.infer(s) } -> std::same_as<Result<TensorSpec>>;
                  }) {
      auto spec = op_.infer(data[0]);
      if (!spec.ok()) return spec.status().in_op(Op::name);
      return std::vector<TensorSpec>{*spec};
    } else {
      auto specs = op_.infer(data);
      if (!specs.ok()) return specs.status().in_op(Op::name);
      return specs;
    }
  }

  Status measure(std::span<const View> in, std::span<Shape> out, CallContext& call) const override {
    const auto data = in.first(in.size() - bound_.size());
    return with_args(in, [&](const Op& op) -> Status {
      if constexpr (kMeasuresOne) {
        HEADRACE_ASSIGN(out[0], op.measure(data[0], call));
        return {};
      } else if constexpr (kMeasuresAll) {
        return op.measure(data, out, call);
      } else if constexpr (requires(const TensorSpec& s) {
                             { op.infer(s) } -> std::same_as<Result<TensorSpec>>;
                           }) {
        HEADRACE_ASSIGN(const TensorSpec spec, op.infer(data[0].spec()));
        out[0] = spec.shape;
        return {};
      } else {
        std::vector<TensorSpec> specs;
        for (const View& v : data) specs.push_back(v.spec());
        HEADRACE_ASSIGN(const std::vector<TensorSpec> inferred, op.infer(std::span<const TensorSpec>(specs)));
        for (size_t i = 0; i < out.size(); ++i) out[i] = inferred[i].shape;
        return {};
      }
    });
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const override {
    const auto data = in.first(in.size() - bound_.size());
    return with_args(in, [&](const Op& op) -> Status {
      if constexpr (kRunsOne)
        return op.run(data[0], out[0], call);
      else
        return op.run(data, out, call);
    });
  }

  bool reads_part() const override { return kReadsPart && bound_.empty(); }
  Result<Box> reads(const Shape& image, const Key& key) const override {
    if constexpr (kReadsPart) return op_.reads(image, key);
    return AnyOp::reads(image, key);
  }
  bool makes_part() const override { return kMakesPart && bound_.empty(); }
  Status run_part(std::span<const View> in, const Box& part, std::span<const MutView> out,
                  CallContext& call) const override {
    if constexpr (kMakesPart) return op_.run_part(in[0], part, out[0], call).in_op(Op::name);
    return run(in, out, call);
  }

  Placing placing() const override {
    if constexpr (kPlaces && requires(const Op& op) { op.placing(); }) return op_.placing();
    return kPlaces ? Placing::moves : Placing::none;
  }
  Result<Geometry> place(const Geometry& image, std::span<const View> bound, const Key& key) const override {
    if constexpr (kPlaces) {
      Geometry out;
      HEADRACE_TRY(with_args(bound, [&](const Op& op) -> Status {
        HEADRACE_ASSIGN(out, op.place(image, key));
        return {};
      }));
      return out;
    }
    return AnyOp::place(image, bound, key);
  }
  OpPtr of_masks() const override {
    if constexpr (requires(const Op& op) { op.of_masks(); })
      return std::make_shared<Adapter>(op_.of_masks(), bound_);
    return nullptr;
  }

 private:
  static constexpr bool kPlaces = requires(const Op& op, const Geometry& image, const Key& key) {
    { op.place(image, key) } -> std::same_as<Result<Geometry>>;
  };
  static constexpr bool kReadsPart = requires(const Op& op, const Shape& image, const Key& key) {
    { op.reads(image, key) } -> std::same_as<Result<Box>>;
  };
  static constexpr bool kMakesPart =
      requires(const Op& op, View in, const Box& part, MutView out, CallContext& call) {
        { op.run_part(in, part, out, call) } -> std::same_as<Status>;
      };
  static constexpr bool kMeasuresOne = requires(const Op& op, View in, CallContext& call) {
    { op.measure(in, call) } -> std::same_as<Result<Shape>>;
  };
  static constexpr bool kMeasuresAll =
      requires(const Op& op, std::span<const View> in, std::span<Shape> out, CallContext& call) {
        { op.measure(in, out, call) } -> std::same_as<Status>;
      };
  static constexpr bool kRunsOne = requires(const Op& op, View in, MutView out, CallContext& call) {
    { op.run(in, out, call) } -> std::same_as<Status>;
  };
  static constexpr bool kRunsAll =
      requires(const Op& op, std::span<const View> in, std::span<const MutView> out, CallContext& call) {
        { op.run(in, out, call) } -> std::same_as<Status>;
      };
  // An optional method of another form would be left out without a word.
  static_assert(kRunsOne || kRunsAll,
                "run() must be: Status run(View in, MutView out, CallContext& call) const; or, of several "
                "inputs or outputs: Status run(std::span<const View> in, std::span<const MutView> out, "
                "CallContext& call) const;");
  static_assert(
      kMeasuresOne || kMeasuresAll || !requires { &Op::measure; },
      "measure() must be: Result<Shape> measure(View in, CallContext& call) const; or, of several "
      "inputs or outputs: Status measure(std::span<const View> in, std::span<Shape> out, "
      "CallContext& call) const;");
  static_assert(
      kMakesPart || !requires { &Op::run_part; },
      "run_part() must be: Status run_part(View in, const Box& part, MutView out, CallContext& "
      "call) const;");

  template <class F> Status with_args(std::span<const View> in, F&& f) const {
    if (bound_.empty()) return f(op_).in_op(Op::name);
    Op op = op_;
    HEADRACE_TRY(fill(op, in.last(bound_.size())));
    HEADRACE_TRY(check(op));
    return f(op).in_op(Op::name);
  }

  Status fill(Op& op, std::span<const View> args) const {
    Status status;
    for (size_t i = 0; i < bound_.size(); ++i)
      each_field<Op>([&](const auto& field) {
        using T = std::remove_cvref_t<decltype(op.*field.member)>;
        if constexpr (is_arg<T>)
          if (field.name == bound_[i] && !read_scalar(args[i], (op.*field.member).value))
            status = invalid(bound_[i] + " must be a scalar, got " + args[i].spec().text())
                         .with({.option = bound_[i], .expected = "a scalar", .got = args[i].spec().text()})
                         .in_op(Op::name);
      });
    return status;
  }

  Op op_;
  std::vector<std::string> bound_;
};

template <class Op> Status check_bound(std::span<const std::string> bound) {
  for (const std::string& b : bound) {
    bool bindable = false;
    each_field<Op>([&](const auto& field) {
      using T = std::remove_cvref_t<decltype(std::declval<Op&>().*field.member)>;
      if (field.name == b) bindable = is_arg<T>;
    });
    if (!bindable)
      return invalid("parameter '" + b + "' cannot come from a field").with({.option = b}).in_op(Op::name);
  }
  return {};
}

template <class Op> OpInfo describe() {
  OpInfo info;
  info.name = Op::name;
  info.doc = Op::doc;
  for (std::string_view in : Op::inputs) info.inputs.emplace_back(in);
  info.variadic = is_variadic<Op>();
  info.elementwise = is_elementwise<Op>();
  info.random = is_random<Op>();
  if constexpr (requires { Op::outputs; }) info.outputs = Op::outputs;
  const Op defaults;
  each_field<Op>([&](const auto& field) {
    using T = std::remove_cvref_t<decltype(defaults.*field.member)>;
    ParamInfo p;
    p.name = field.name;
    p.doc = field.doc;
    p.type = Codec<T>::py();
    p.fallback = Codec<T>::out(defaults.*field.member);
    p.bindable = is_arg<T>;
    if constexpr (requires { Op::required; })
      for (std::string_view r : Op::required) p.required = p.required || r == field.name;
    info.params.push_back(std::move(p));
  });
  return info;
}

}  // namespace op_detail

template <class Op> struct Registered {
  Registered() {
    OpInfo info = op_detail::describe<Op>();
    if constexpr (requires(const Op op, Builder& b, std::span<const int> in) { op.expand(b, in); }) {
      info.expand = [](const Value& params, Builder& b, std::span<const int> in) -> Result<std::vector<int>> {
        HEADRACE_ASSIGN(const Op op, op_detail::parse<Op>(params));
        HEADRACE_TRY(op_detail::check(op));
        return op.expand(b, in);
      };
    } else {
      info.make = [](const Value& params, std::span<const std::string> bound) -> Result<OpPtr> {
        HEADRACE_ASSIGN(const Op op, op_detail::parse<Op>(params));
        HEADRACE_TRY(op_detail::check_bound<Op>(bound));
        HEADRACE_TRY(op_detail::check(op));
        return OpPtr(std::make_shared<op_detail::Adapter<Op>>(
            op, std::vector<std::string>(bound.begin(), bound.end())));
      };
    }
    if constexpr (requires(const Op op, View in) { op.settled(in); }) {
      info.settle = [](const Value& params, View in) -> Result<Value> {
        HEADRACE_ASSIGN(const Op op, op_detail::parse<Op>(params));
        auto settled = op.settled(in);
        if (!settled.ok()) return settled.status().in_op(Op::name);
        return op_detail::Adapter<Op>(*settled, {}).params();
      };
    }
    op_registry_for_registration().emplace(info.name, std::move(info));
  }
};

}  // namespace headrace
