#include "function.h"

#include <nanobind/stl/string.h>

#include <cstring>

#include "errors.h"
#include "headrace/codecs/decoded_by.h"

namespace headrace::python {
namespace {

// What measure() found, for the run() that follows it on the same thread. A plain pointer, since a thread may
// end without the GIL; then the last result stays behind.
thread_local struct {
  const AnyOp* op = nullptr;
  PyObject* results = nullptr;
} measured;

// Keys of the operators that a function calls: the n-th of them draws from n and the function's own key.
struct Drawing {
  const Key* function = nullptr;
  uint32_t calls = 0;
  Key key;
};
thread_local Drawing drawing;

// Lets operators that are called on this thread draw from a function's key, for as long as it lives.
class DrawsFrom {
 public:
  explicit DrawsFrom(const Key& key) : outer_(std::exchange(drawing, {&key, 0, {}})) {}
  ~DrawsFrom() { drawing = outer_; }
  DrawsFrom(const DrawsFrom&) = delete;
  DrawsFrom& operator=(const DrawsFrom&) = delete;

 private:
  Drawing outer_;
};

uint64_t word64(const Key& key, uint32_t draw) {
  return key.bits(draw) | static_cast<uint64_t>(key.bits(draw + 1)) << 32;
}

class FunctionOp final : public AnyOp {
 public:
  FunctionOp(FunctionInfo info, nb::object call) : info_(std::move(info)), call_(share(std::move(call))) {}

  std::string_view name() const override { return kFunctionOp; }
  std::span<const std::string> bound() const override { return {}; }
  Phase phase() const override { return Phase::python; }
  bool random() const override { return true; }  // operators called within may draw
  Value params() const override {
    Value out{Value::Object()};
    out.set("slot", info_.slot);
    out.set("input", info_.input);
    out.set("output", info_.output);
    Value::List outputs;
    for (const TensorSpec& spec : info_.outputs) {
      Value::List dims;
      for (const int64_t dim : spec.shape.dims()) dims.push_back(dim == kAny ? Value() : Value(dim));
      outputs.push_back(Value::List{dtype_name(spec.dtype), std::move(dims)});
    }
    out.set("outputs", std::move(outputs));
    out.set("random", info_.random);
    return out;
  }
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec>) const override { return info_.outputs; }

  Status measure(std::span<const View> in, const Key& key, std::span<Shape> out) const override {
    nb::gil_scoped_acquire gil;
    std::vector<Tensor> results;
    HEADRACE_TRY(call(in, key, results));
    for (size_t i = 0; i < out.size(); ++i) out[i] = results[i].shape;
    auto held = std::make_unique<std::vector<Tensor>>(std::move(results));
    const nb::capsule keeper(held.release(),
                             [](void* p) noexcept { delete static_cast<std::vector<Tensor>*>(p); });
    Py_XDECREF(measured.results);
    measured.op = this;
    measured.results = nb::object(keeper).release().ptr();
    return {};
  }

  Status run(std::span<const View> in, const Key& key, std::span<const MutView> out,
             Scratch&) const override {
    nb::gil_scoped_acquire gil;
    std::vector<Tensor> results;
    if (measured.op == this) {
      const auto keeper = nb::steal<nb::capsule>(measured.results);
      measured = {};
      results = std::move(*static_cast<std::vector<Tensor>*>(keeper.data()));
    } else {
      HEADRACE_TRY(call(in, key, results));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      const View from = results[i].view();
      if (!(from.shape == out[i].shape)) return mismatch(i, from.spec());
      if (from.size_bytes() > 0) std::memcpy(out[i].data, from.data, from.size_bytes());
    }
    return {};
  }

 private:
  Status mismatch(size_t i, const TensorSpec& got) const {
    return invalid(info_.label + ": returned " + info_.outputs[i].text() + " for output " +
                   std::to_string(i) + " when the graph was built, and now " + got.text());
  }

  // The function's results, checked against what it returned when the graph was built.
  Status call(std::span<const View> in, const Key& key, std::vector<Tensor>& results) const {
    try {
      const DrawsFrom draws(key);
      nb::list leaves;
      for (const View& view : in) leaves.append(copy_to_python(view));
      nb::object words = nb::none();
      if (info_.random) words = nb::make_tuple(key.bits(0), key.bits(1), key.bits(2), key.bits(3));
      for (nb::handle leaf : nb::cast<nb::list>((*call_)(leaves, words))) results.push_back(to_tensor(leaf));
    } catch (nb::python_error& error) {
      return foreign(error, info_.label);
    } catch (const std::exception& error) {  // a result that no tensor can hold
      return invalid(info_.label + ": " + error.what());
    }
    (void)take_decoded_by();  // what the function decodes is not counted as the chain's
    if (results.size() != info_.outputs.size())
      return invalid(info_.label + ": wants " + std::to_string(info_.outputs.size()) + " results, got " +
                     std::to_string(results.size()));
    for (size_t i = 0; i < results.size(); ++i)
      if (!info_.outputs[i].admits(results[i].view().spec())) return mismatch(i, results[i].view().spec());
    return {};
  }

  FunctionInfo info_;
  SharedObject call_;
};

}  // namespace

OpPtr function_op(FunctionInfo info, nb::object call) {
  return std::make_shared<FunctionOp>(std::move(info), std::move(call));
}

FunctionInfo function_info(const Value& params) {
  FunctionInfo out;
  out.slot = unwrap(params.get_text("slot"));
  out.label = out.slot;
  out.input = unwrap(params.get_text("input"));
  out.output = unwrap(params.get_text("output"));
  const Value* random = params.find("random");
  out.random = random && random->boolean() && *random->boolean();
  const Value* outputs = params.find("outputs");
  if (!outputs || !outputs->list()) check(invalid("plan: a Python function wants 'outputs'"));
  for (const Value& output : *outputs->list()) {
    const auto* pair = output.list();
    if (!pair || pair->size() != 2 || !(*pair)[0].text() || !(*pair)[1].list() ||
        (*pair)[1].list()->size() > kMaxRank)
      check(invalid("plan: an output wants [dtype, [dimensions]], got " + output.dump()));
    TensorSpec spec{unwrap(parse_dtype(*(*pair)[0].text())), {}};
    std::vector<int64_t> dims;
    for (const Value& dim : *(*pair)[1].list()) {
      if (!dim.is_null() && (!dim.integer() || *dim.integer() < 0))
        check(invalid("plan: a dimension wants null or a number of at least 0, got " + dim.dump()));
      dims.push_back(dim.is_null() ? kAny : *dim.integer());
    }
    spec.shape = Shape(std::span<const int64_t>(dims));
    out.outputs.push_back(spec);
  }
  return out;
}

nb::object call_once(const nb::object& call, const nb::object& leaves, const nb::object& words) {
  const Key key;
  const DrawsFrom draws(key);
  return call(leaves, words);
}

const Key* next_key_of_function() {
  if (!drawing.function) return nullptr;
  drawing.key = Key(word64(*drawing.function, 4), drawing.calls++, {});
  return &drawing.key;
}

}  // namespace headrace::python
