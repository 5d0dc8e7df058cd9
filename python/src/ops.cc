// Wraps ops/: listing operators and calling them eagerly.
#include <nanobind/nanobind.h>

#include <functional>

#include "headrace/graph/program.h"
#include "headrace/ops/named_outputs.h"
#include "python/src/arrays/tensors.h"
#include "python/src/base/errors.h"
#include "python/src/base/gil.h"
#include "python/src/base/module.h"
#include "python/src/base/text.h"
#include "python/src/base/value.h"
#include "python/src/functions/function.h"

namespace headrace::python {
namespace {

nb::list op_table() {
  nb::list out;
  for (const auto& [name, info] : ops()) {
    nb::dict row;
    row["name"] = name, row["doc"] = info.doc, row["variadic"] = info.variadic, row["outputs"] = info.outputs;
    row["random"] = info.random;
    row["named"] = named_outputs().contains(name);
    nb::list inputs, params;
    for (const std::string& input : info.inputs) inputs.append(input);
    for (const ParamInfo& param : info.params) {
      nb::dict item;
      item["name"] = param.name, item["type"] = param.type, item["doc"] = param.doc;
      item["fallback"] = to_python(param.fallback), item["required"] = param.required,
      item["bindable"] = param.bindable;
      params.append(item);
    }
    row["inputs"] = inputs, row["params"] = params;
    out.append(row);
  }
  return out;
}

// One step of a program on tensors, in plain heap memory.
Status run_step(const Call& call, std::vector<Tensor>& values, const Program& program, Scratch& scratch) {
  std::vector<View> in;
  for (const int v : call.inputs) in.push_back(values[static_cast<size_t>(v)].view());
  Key key;
  if (call.op->random()) {
    const Key* drawn = next_key_of_function();
    if (!drawn)
      return invalid(std::string(call.op->name()) +
                     ": draws random numbers and needs a key, which exists only within map; call it in a "
                     "function passed to map");
    key = *drawn;
  }
  std::vector<Shape> shapes;
  for (int i = 0; i < call.outputs; ++i)
    shapes.push_back(program.specs[static_cast<size_t>(call.first_output + i)].shape);
  CallContext context(scratch, key);
  HEADRACE_TRY(call.op->measure(in, shapes, context));
  std::vector<MutView> out;
  for (int i = 0; i < call.outputs; ++i) {
    const auto value = static_cast<size_t>(call.first_output + i);
    const TensorSpec spec{program.specs[value].dtype, shapes[static_cast<size_t>(i)]};
    const MutableBufferPtr buffer = HeapBuffer::make(std::max<size_t>(spec.size_bytes(), 1));
    out.push_back({spec.dtype, spec.shape, buffer->mutable_data()});
    values[value] = {buffer, 0, spec.dtype, spec.shape, nullptr};
  }
  return call.op->run(in, out, context);
}

// Scratch memory kept for the next call on a thread: fresh memory costs as much as resizing a small image.
constexpr size_t kKeptScratch = 8 << 20;

// Adds the computation to a builder whose values are the inputs.
using Add = std::function<Result<std::vector<int>>(ProgramBuilder&, std::span<const int> inputs)>;

Result<std::vector<Tensor>> compute(const Add& add, const std::vector<Tensor>& inputs) {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (const Tensor& input : inputs)
    names.push_back(std::to_string(names.size())), specs.push_back(input.view().spec());
  ProgramBuilder builder(Schema::of(names, specs), "");
  std::vector<int> fields;
  for (size_t i = 0; i < inputs.size(); ++i) fields.push_back(builder.field(static_cast<int>(i)));
  HEADRACE_ASSIGN(const std::vector<int> outputs, add(builder, fields));
  names.clear();
  for (size_t i = 0; i < outputs.size(); ++i) names.push_back(std::to_string(i));
  HEADRACE_ASSIGN(const Program program, builder.finish(names, outputs));
  std::vector<Tensor> values(program.specs.size());
  for (size_t i = 0; i < program.input_fields.size(); ++i)
    values[i] = inputs[static_cast<size_t>(program.input_fields[i])];
  thread_local Scratch scratch;
  scratch.clear(), scratch.trim(kKeptScratch);
  for (const Call& call : program.steps) HEADRACE_TRY(run_step(call, values, program, scratch));
  std::vector<Tensor> out;
  for (const int v : program.outputs) out.push_back(values[static_cast<size_t>(v)]);
  return out;
}

nb::list compute_now(const Add& add, const nb::list& data) {
  std::vector<Tensor> inputs;
  for (nb::handle leaf : data) inputs.push_back(to_tensor(leaf));
  Result<std::vector<Tensor>> results = internal_error("");
  {
    const NoGil nogil;
    results = compute(add, inputs);
  }
  nb::list out;
  for (Tensor& tensor : unwrap(std::move(results))) out.append(to_python(std::move(tensor)));
  return out;
}

nb::list compute_op(const std::string& op, nb::handle params, const nb::list& data) {
  const Value wanted = to_value(params);
  return compute_now([&](ProgramBuilder& builder, auto inputs) { return builder.add(op, wanted, inputs); },
                     data);
}

// The parameters with what these data have, where they ask for it.
nb::dict settled(const std::string& op, const nb::dict& params, nb::handle data) {
  const OpInfo* info = find_op(op);
  if (!info || !info->settle) return params;
  const Tensor tensor = to_tensor(data);
  return nb::cast<nb::dict>(to_python(unwrap(info->settle(to_value(params), tensor.view()))));
}

nb::list compute_function(const FunctionHandle& function, const nb::list& data) {
  return compute_now(
      [&](ProgramBuilder& builder, auto inputs) { return builder.add_op(function.op, inputs); }, data);
}

std::string output_structure(const std::string& op, nb::handle params) {
  const auto found = named_outputs().find(op);
  if (found == named_outputs().end()) check(invalid(op + ": its outputs have no names"));
  return unwrap(found->second(to_value(params)));
}

}  // namespace

void bind_ops(nb::module_& m) {
  m.def("op_table", &op_table,
        "The operators, their inputs and parameters, as described in the C++ sources.");
  m.def("compute", &compute_op, nb::arg("op"), nb::arg("params"), nb::arg("data"),
        "Run one operator on arrays, bytes or str, eagerly.");
  m.def("settled", &settled, nb::arg("op"), nb::arg("params"), nb::arg("data"),
        "The parameters of an operator, with what its data have where they ask for that.");
  m.def("compute_function", &compute_function, nb::arg("function"), nb::arg("data"),
        "Run a C function on arrays, bytes or str, eagerly.");
  m.def("output_structure", &output_structure, nb::arg("op"), nb::arg("params"),
        "The nesting of the outputs of an operator that names them: JSON with an ordinal per output.");
}

}  // namespace headrace::python
