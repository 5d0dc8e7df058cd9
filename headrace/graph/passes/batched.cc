#include "headrace/graph/passes/batched.h"

#include <algorithm>

namespace headrace {
namespace {

// An input of another shape is broadcast over the first: over many samples that is not a single step.
bool is_for_each_value(const Call& call, const Program& program) {
  const auto shape = [&](int value) { return program.specs[static_cast<size_t>(value)].shape; };
  return call.op->elementwise() && call.op->bound().empty() && !call.inputs.empty() &&
         std::ranges::all_of(call.inputs, [&](int value) { return shape(value) == shape(call.inputs[0]); });
}

bool is_for_each_value(const Program& program) {
  return std::ranges::all_of(program.input_fields, [](int field) { return field >= 0; }) &&
         std::ranges::all_of(program.steps, [&](const Call& c) { return is_for_each_value(c, program); }) &&
         std::ranges::all_of(program.specs, [](const TensorSpec& spec) { return spec.is_static(); });
}

}  // namespace

std::optional<Program> batched(const Program& program, const Schema& incoming) {
  if (!is_for_each_value(program)) return std::nullopt;
  ProgramBuilder builder(incoming, "");
  std::vector<int> value_of(program.specs.size(), -1);
  for (size_t i = 0; i < program.input_fields.size(); ++i)
    value_of[i] = builder.field(program.input_fields[i]);
  for (const Call& call : program.steps) {
    std::vector<int> inputs;
    for (int v : call.inputs) inputs.push_back(value_of[static_cast<size_t>(v)]);
    auto made = builder.add_op(call.op, inputs);
    if (!made.ok()) return std::nullopt;
    for (size_t i = 0; i < made->size(); ++i)
      value_of[static_cast<size_t>(call.first_output) + i] = (*made)[i];
  }
  std::vector<int> outputs;
  for (int v : program.outputs) outputs.push_back(value_of[static_cast<size_t>(v)]);
  auto out = builder.finish(program.schema.names, outputs, program.schema.structure);
  if (!out.ok() || out->steps.size() != program.steps.size()) return std::nullopt;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    out->steps[s].ordinal = program.steps[s].ordinal;
    out->steps[s].made_at = program.steps[s].made_at;
  }
  return *out;
}

}  // namespace headrace
