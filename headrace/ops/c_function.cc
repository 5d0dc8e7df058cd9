#include "headrace/ops/c_function.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

constexpr size_t kMostFields = 32;  // inputs, outputs, and names of dimensions

using Names = std::vector<std::string>;
using Sizes = std::array<int64_t, kMostFields>;  // of named dimensions, in the order of Names

Value layout_to_value(const FieldLayout& layout) {
  Value::List dims;
  for (const Dim& dim : layout.shape)
    dims.push_back(!dim.name.empty() ? Value(dim.name) : dim.size == kAny ? Value() : Value(dim.size));
  return Value::List{short_name(layout.dtype), std::move(dims)};
}

Value layouts_to_value(const std::vector<FieldLayout>& layouts) {
  Value::List out;
  for (const FieldLayout& layout : layouts) out.push_back(layout_to_value(layout));
  return out;
}

NativeSignature signature_of(const CFunction& function) {
  NativeSignature out;
  for (const FieldLayout& input : function.inputs) out.arguments.push_back(input.dtype);
  out.result = function.outputs[0].dtype;
  return out;
}

std::string layouts_text(const std::vector<FieldLayout>& layouts) {
  std::string out;
  for (const FieldLayout& layout : layouts) out += (out.empty() ? "" : ", ") + layout.text();
  return out;
}

std::string specs_text(std::span<const TensorSpec> specs) {
  std::string out;
  for (const TensorSpec& spec : specs) out += (out.empty() ? "" : ", ") + spec.text();
  return out.empty() ? "none" : out;
}

// Parameters that every C function has; how its fields are handled is up to the two classes below.
class CFunctionOp : public AnyOp {
 public:
  explicit CFunctionOp(CFunction function) : function_(std::move(function)) {}
  const CFunction& function() const { return function_; }

  std::string_view name() const final { return kCFunctionOp; }
  std::span<const std::string> bound() const final { return {}; }
  bool random() const final { return function_.random; }
  Value params() const final {
    Value out{Value::Object()};
    out.set("slot", function_.slot.empty() ? function_.name : function_.slot);
    out.set("calls", function_.by_element ? "elements" : "arrays");
    out.set("inputs", layouts_to_value(function_.inputs));
    out.set("outputs", layouts_to_value(function_.outputs));
    out.set("random", function_.random);
    return out;
  }

 protected:
  Status refused(std::string text) const { return invalid(function_.name + ": " + std::move(text)); }
  Status check_count(std::span<const TensorSpec> in) const {
    if (in.size() == function_.inputs.size()) return {};
    return refused("expected the fields (" + layouts_text(function_.inputs) + "), got " +
                   std::to_string(in.size()) + " (" + specs_text(in) + ")");
  }
  CFunction function_;
};

class OfElements final : public CFunctionOp {
 public:
  explicit OfElements(CFunction function)
      : CFunctionOp(std::move(function)), signature_(signature_of(function_)) {}

  bool elementwise() const override { return true; }
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const override {
    HEADRACE_TRY(check_count(in));
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i].dtype != signature_.arguments[i])
        return refused("argument " + std::to_string(i) + " of " + signature_.text() + ": expected " +
                       std::string(dtype_name(signature_.arguments[i])) + ", got " + in[i].text() +
                       "; convert it with cast");
    Shape shape;
    for (const TensorSpec& spec : in) HEADRACE_TRY(join(shape, spec.shape, in));
    return std::vector<TensorSpec>{{signature_.result, shape}};
  }
  Status measure(std::span<const View> in, std::span<Shape> out, CallContext&) const override {
    HEADRACE_ASSIGN(out[0], shape_of(in));
    return {};
  }
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext&) const override {
    HEADRACE_ASSIGN(const Shape shape, shape_of(in));
    if (!(shape == out[0].shape))
      return refused("expected fields of " + out[0].shape.text() + ", got " + shape.text());
    call_each(function_.code, signature_, in, out[0]);
    return {};
  }

 private:
  // The shapes are equal or (), which is repeated.
  Status join(Shape& all, const Shape& one, std::span<const TensorSpec> in) const {
    if (one.rank() == 0) return {};
    if (all.rank() == 0) {
      all = one;
      return {};
    }
    bool same = all.rank() == one.rank();
    for (int d = 0; same && d < one.rank(); ++d) {
      if (all[d] == kAny) all.set(d, one[d]);
      same = one[d] == kAny || all[d] == one[d];
    }
    return same ? Status() : refused("expected fields of one shape, or scalars, got " + specs_text(in));
  }
  Result<Shape> shape_of(std::span<const View> in) const {
    Shape shape;
    const auto fits = [&](const View& view) {
      if (view.shape.rank() == 0 || view.shape == shape) return true;
      const bool first = shape.rank() == 0;
      shape = first ? view.shape : shape;
      return first;
    };
    if (std::ranges::all_of(in, fits)) return shape;
    std::vector<TensorSpec> specs;
    for (const View& view : in) specs.push_back(view.spec());
    return refused("expected fields of one shape, or scalars, got " + specs_text(specs));
  }

  NativeSignature signature_;
};

class OfArrays final : public CFunctionOp {
 public:
  OfArrays(CFunction function, Names names) : CFunctionOp(std::move(function)), names_(std::move(names)) {
    for (const FieldLayout& input : function_.inputs) inputs_.push_back(numbered(input));
    for (const FieldLayout& output : function_.outputs) outputs_.push_back(numbered(output));
  }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const override {
    HEADRACE_TRY(check_count(in));
    Sizes sizes;
    sizes.fill(kAny);
    for (size_t i = 0; i < in.size(); ++i) HEADRACE_TRY(learn(i, in[i].dtype, in[i].shape, sizes));
    std::vector<TensorSpec> out;
    for (size_t i = 0; i < outputs_.size(); ++i)
      out.push_back({function_.outputs[i].dtype, with_sizes(outputs_[i], sizes)});
    return out;
  }
  Status measure(std::span<const View> in, std::span<Shape> out, CallContext&) const override {
    HEADRACE_ASSIGN(const Sizes sizes, sizes_of(in));
    for (size_t i = 0; i < out.size(); ++i) out[i] = with_sizes(outputs_[i], sizes);
    return {};
  }
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const override {
    HEADRACE_ASSIGN(const Sizes sizes, sizes_of(in));
    std::array<const void*, kMostFields> inputs;
    std::array<const int64_t*, kMostFields> shapes;
    std::array<void*, kMostFields> outputs;
    for (size_t i = 0; i < in.size(); ++i) inputs[i] = in[i].data, shapes[i] = in[i].shape.dims().data();
    for (size_t i = 0; i < out.size(); ++i) {
      const Shape wanted = with_sizes(outputs_[i], sizes);
      if (!(wanted == out[i].shape))
        return refused("output " + std::to_string(i) + ": expected " + out[i].shape.text() + ", got " +
                       wanted.text());
      outputs[i] = out[i].data;
      if (out[i].size_bytes() > 0) std::memset(out[i].data, 0, out[i].size_bytes());
    }
    const std::array<uint64_t, 2> drawn =
        function_.random ? key_words(call.key()) : std::array<uint64_t, 2>{};
    const auto function = reinterpret_cast<headrace_function>(function_.code);
    const int code = function(inputs.data(), shapes.data(), outputs.data(),
                              function_.random ? drawn.data() : nullptr, function_.user);
    if (code != 0) return refused("the C function returned " + std::to_string(code) + ", which is not 0");
    for (const MutView& view : out)
      if (view.dtype == DType::boolean) make_bools(view);
    return {};
  }

 private:
  // Sizes as they are, names as the numbers below kAny.
  Shape numbered(const FieldLayout& layout) const {
    Shape out;
    for (size_t d = 0; d < layout.shape.size(); ++d) out = out.with_front(0);
    for (size_t d = 0; d < layout.shape.size(); ++d) {
      const Dim& dim = layout.shape[d];
      const int64_t place = std::ranges::find(names_, dim.name) - names_.begin();
      out.set(static_cast<int>(d), dim.name.empty() ? dim.size : kAny - 1 - place);
    }
    return out;
  }
  static bool is_name(int64_t dim) { return dim < kAny; }
  static size_t place_of(int64_t dim) { return static_cast<size_t>(kAny - 1 - dim); }

  Shape with_sizes(const Shape& layout, const Sizes& sizes) const {
    Shape out = layout;
    for (int d = 0; d < out.rank(); ++d)
      if (is_name(out[d])) out.set(d, sizes[place_of(out[d])]);
    return out;
  }

  // Sets the named dimensions that input `i` fixes; a dimension of kAny fixes nothing.
  Status learn(size_t i, DType dtype, const Shape& shape, Sizes& sizes) const {
    const Shape& wanted = inputs_[i];
    bool fits = dtype == function_.inputs[i].dtype && shape.rank() == wanted.rank();
    for (int d = 0; fits && d < shape.rank(); ++d) {
      if (shape[d] == kAny || wanted[d] == kAny) continue;
      if (!is_name(wanted[d])) {
        fits = wanted[d] == shape[d];
        continue;
      }
      int64_t& size = sizes[place_of(wanted[d])];
      if (size != kAny && size != shape[d])
        return refused("input " + std::to_string(i) + ": expected " + function_.inputs[i].text() + " where " +
                       names_[place_of(wanted[d])] + " is " + std::to_string(size) + ", got " +
                       TensorSpec{dtype, shape}.text());
      size = shape[d];
    }
    if (fits) return {};
    return refused("input " + std::to_string(i) + ": expected " + function_.inputs[i].text() + ", got " +
                   TensorSpec{dtype, shape}.text());
  }
  Result<Sizes> sizes_of(std::span<const View> in) const {
    Sizes sizes;
    std::fill_n(sizes.begin(), names_.size(), kAny);
    for (size_t i = 0; i < in.size(); ++i) HEADRACE_TRY(learn(i, in[i].dtype, in[i].shape, sizes));
    return sizes;
  }

  // The key that a Python function's generator gets, so that both draw the same numbers.
  static std::array<uint64_t, 2> key_words(const Key& key) {
    const auto word = [&](uint32_t draw) { return key.bits(draw) | uint64_t{key.bits(draw + 1)} << 32; };
    return {word(0), word(2)};
  }

  static void make_bools(const MutView& view) {
    auto* const bytes = view.as<uint8_t>();
    for (size_t i = 0; i < view.size_bytes(); ++i) bytes[i] = bytes[i] != 0;
  }

  Names names_;  // of dimensions
  std::vector<Shape> inputs_, outputs_;
};

Status check_layout(const FieldLayout& layout) {
  if (layout.shape.size() > static_cast<size_t>(kMaxRank))
    return invalid({.expected = "at most 8 dimensions", .got = layout.text()});
  for (const Dim& dim : layout.shape)
    if (dim.size < kAny) return invalid("sizes must be at least 0, got " + layout.text());
  return {};
}

// The names of the inputs' dimensions; an error where an output has others.
Result<Names> names_in(const CFunction& function) {
  Names names;
  for (const FieldLayout& input : function.inputs) {
    HEADRACE_TRY(check_layout(input));
    for (const Dim& dim : input.shape)
      if (!dim.name.empty() && std::ranges::find(names, dim.name) == names.end()) names.push_back(dim.name);
  }
  for (const FieldLayout& output : function.outputs) {
    HEADRACE_TRY(check_layout(output));
    if (is_text(output.dtype)) return invalid("an output must be numbers or bool, got " + output.text());
    for (const Dim& dim : output.shape) {
      const bool known =
          dim.name.empty() ? dim.size != kAny : std::ranges::find(names, dim.name) != names.end();
      if (!known)
        return invalid("dimensions of an output must be sizes or names of input dimensions, got " +
                       output.text());
    }
  }
  const size_t most = std::max({names.size(), function.inputs.size(), function.outputs.size()});
  if (function.inputs.empty() || function.outputs.empty() || most > kMostFields)
    return invalid({.expected = "1 to " + std::to_string(kMostFields) + " inputs and as many outputs",
                    .got = std::to_string(function.inputs.size()) + " and " +
                           std::to_string(function.outputs.size()) + ", with " +
                           std::to_string(names.size()) + " names of dimensions"});
  return names;
}

Status check_elements(const CFunction& function) {
  if (function.outputs.size() != 1) return invalid("expected one result");
  for (const FieldLayout& input : function.inputs)
    if (!input.shape.empty()) return invalid({.expected = "scalars", .got = input.text()});
  if (function.random) return invalid("a function of scalars cannot take a key");
  return check_native(signature_of(function));
}

}  // namespace

std::string FieldLayout::text() const {
  std::string out;
  for (const Dim& dim : shape)
    out += (out.empty() ? "" : ", ") + (!dim.name.empty()  ? dim.name
                                        : dim.size == kAny ? "?"
                                                           : std::to_string(dim.size));
  return std::string(dtype_name(dtype)) + " (" + out + ")";
}

CFunction c_function(std::string name, headrace_function function, std::vector<FieldLayout> inputs,
                     std::vector<FieldLayout> outputs) {
  CFunction out;
  out.name = std::move(name), out.code = reinterpret_cast<CodePointer>(function);
  out.inputs = std::move(inputs), out.outputs = std::move(outputs);
  return out;
}

Result<OpPtr> c_function_op(CFunction function) {
  const std::string before = function.name + ": ";
  if (!function.code) return invalid(before + "expected the address of a function, got 0");
  if (function.by_element) {
    HEADRACE_TRY(check_elements(function).before(before));
    return OpPtr(std::make_shared<OfElements>(std::move(function)));
  }
  auto names = names_in(function);
  if (!names.ok()) return names.status().before(before);
  return OpPtr(std::make_shared<OfArrays>(std::move(function), *std::move(names)));
}

const CFunction* c_function_of(const AnyOp& op) {
  const auto* const made = dynamic_cast<const CFunctionOp*>(&op);
  return made ? &made->function() : nullptr;
}

namespace {

// Those of layouts_to_value(); nothing if it is something else.
std::vector<FieldLayout> layouts_from_value(const Value& value) {
  std::vector<FieldLayout> out;
  for (const Value& layout : value.list() ? *value.list() : Value::List()) {
    const Value::List* pair = layout.list();
    if (!pair || pair->size() != 2 || !(*pair)[0].text() || !(*pair)[1].list()) return {};
    const auto dtype = parse_dtype(*(*pair)[0].text());
    if (!dtype.ok()) return {};
    out.push_back({*dtype, {}});
    for (const Value& dim : *(*pair)[1].list()) {
      if (!dim.is_null() && !dim.text() && !dim.integer()) return {};
      out.back().shape.push_back(dim.is_null() ? Dim(kAny)
                                 : dim.text()  ? Dim(*dim.text())
                                               : Dim(*dim.integer()));
    }
  }
  return out;
}

std::string shown(const Value& value) {
  const std::vector<FieldLayout> layouts = layouts_from_value(value);
  return layouts.empty() ? value.dump() : layouts_text(layouts);
}

}  // namespace

Status check_c_function(const AnyOp& op, const Value& params) {
  const CFunction* const function = c_function_of(op);
  if (!function)
    return invalid({.expected = "a C function", .got = "the operator " + std::string(op.name())});
  const Value own = op.params();
  for (const std::string_view what : {"calls", "inputs", "outputs", "random"}) {
    const Value *wanted = params.find(what), *given = own.find(what);
    if (!wanted) return invalid("expected '" + std::string(what) + "' of a C function");
    if (!(*wanted == *given))
      return invalid({.expected = "a C function with " + std::string(what) + " " + shown(*wanted),
                      .got = function->name + " with " + shown(*given)});
  }
  return {};
}

}  // namespace headrace
