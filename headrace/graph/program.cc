#include "headrace/graph/program.h"

#include <algorithm>

#include "headrace/ops/c_function.h"

namespace headrace {

bool Call::operator==(const Call& other) const {
  return op->name() == other.op->name() && op->params() == other.op->params() && inputs == other.inputs &&
         first_output == other.first_output && outputs == other.outputs && ordinal == other.ordinal;
}

namespace {

// Whether the operator would accept one row of the inputs it rejects: the fields are those of a batch.
bool takes_rows_of(const AnyOp& op, std::span<const TensorSpec> inputs) {
  std::vector<TensorSpec> rows(inputs.begin(), inputs.end());
  bool batched = false;
  for (TensorSpec& spec : rows) {
    if (spec.shape.rank() == 0) continue;
    batched = batched || spec.shape.rank() > 3 || (is_text(spec.dtype) && spec.shape.rank() > 1);
    spec.shape = spec.shape.without_front();
  }
  return batched && op.infer(rows).ok();
}

// A hint at the most frequent reasons why an operator rejects a field.
std::string_view hint_for(const AnyOp& op, std::span<const TensorSpec> inputs) {
  if (takes_rows_of(op, inputs)) return "; these are the rows of a batch: map before batch, or after unbatch";
  const bool encoded = std::any_of(inputs.begin(), inputs.end(), [](const TensorSpec& spec) {
    return spec.dtype == DType::bytes && spec.shape.rank() == 1;
  });
  return encoded ? "; if they are an encoded image, decode it first with decode_image" : "";
}

}  // namespace

ProgramBuilder::ProgramBuilder(Schema incoming, std::string made_at)
    : incoming_(std::move(incoming)), made_at_(std::move(made_at)) {}

Result<int> ProgramBuilder::field(std::string_view name) {
  const int index = incoming_.find(name);
  if (index < 0) return invalid("no field '" + std::string(name) + "'; the sample has " + incoming_.text());
  return field(index);
}

int ProgramBuilder::field(int index) {
  const auto& fields = program_.input_fields;
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i] == index) return static_cast<int>(i);
  // Inputs come first: shift the values of steps that exist already.
  const int at = static_cast<int>(fields.size());
  for (Call& step : program_.steps) {
    for (int& v : step.inputs) v += v >= at;
    step.first_output += 1;
  }
  program_.input_fields.push_back(index);
  TensorSpec spec;
  if (index == kIdField)
    spec = {DType::i64, {}};
  else if (index == kValidField)
    spec = {DType::boolean, {}};
  else
    spec = incoming_.specs[static_cast<size_t>(index)];
  program_.specs.insert(program_.specs.begin() + at, spec);
  return at;
}

Result<std::vector<int>> ProgramBuilder::add(std::string_view op, const Value& params,
                                             std::span<const int> inputs) {
  return add(op, params, inputs, {});
}

Result<std::vector<int>> ProgramBuilder::add(std::string_view op, const Value& params,
                                             std::span<const int> inputs,
                                             std::span<const std::pair<std::string, int>> bound) {
  auto values = add_checked(op, params, inputs, bound);
  if (values.ok()) return values;
  return values.status().at_place(made_at_);
}

Result<std::vector<int>> ProgramBuilder::add_checked(std::string_view op, const Value& params,
                                                     std::span<const int> inputs,
                                                     std::span<const std::pair<std::string, int>> bound) {
  const OpInfo* info = find_op(op);
  if (!info) return invalid("no operator named '" + std::string(op) + "'" + suggest_op(op));
  if (info->expand) {
    if (!bound.empty()) return invalid(info->name + ": parameters of a composite cannot come from fields");
    return info->expand(params, *this, inputs);
  }
  std::vector<std::string> names;
  std::vector<int> values(inputs.begin(), inputs.end());
  for (const auto& [name, value] : bound) {
    names.push_back(name);
    values.push_back(value);
  }
  HEADRACE_ASSIGN(OpPtr made, make_op(op, params, names));
  if (!info->variadic && inputs.size() != info->inputs.size())
    return invalid({.expected = std::to_string(info->inputs.size()) + " inputs",
                    .got = std::to_string(inputs.size())})
        .in_op(info->name);
  if (info->variadic && inputs.empty()) return invalid(info->name + ": expected at least one input");
  return add_op(std::move(made), values);
}

Result<std::vector<int>> ProgramBuilder::add_op(OpPtr op, std::span<const int> inputs) {
  std::vector<TensorSpec> specs;
  for (int v : inputs) {
    if (v < 0 || v >= program_.num_values())
      return invalid("no value " + std::to_string(v) + " in this program");
    specs.push_back(spec(v));
  }
  auto inferred = op->infer(specs);
  if (!inferred.ok()) return inferred.status().after(hint_for(*op, specs)).at_place(made_at_);
  std::vector<TensorSpec> outputs = *std::move(inferred);
  Call step{std::move(op),
            {inputs.begin(), inputs.end()},
            program_.num_values(),
            static_cast<int>(outputs.size()),
            static_cast<uint32_t>(program_.steps.size()),
            made_at_};
  std::vector<int> values;
  for (TensorSpec& s : outputs) {
    values.push_back(program_.num_values());
    program_.specs.push_back(std::move(s));
  }
  program_.steps.push_back(std::move(step));
  return values;
}

Result<Program> ProgramBuilder::finish(std::vector<std::string> names, std::vector<int> outputs,
                                       std::string structure) {
  Program out = program_;
  std::vector<TensorSpec> specs;
  for (int v : outputs) {
    if (v < 0 || v >= out.num_values()) return invalid("no value " + std::to_string(v) + " in this program");
    specs.push_back(out.specs[static_cast<size_t>(v)]);
  }
  out.outputs = std::move(outputs);
  out.schema = Schema::of(std::move(names), std::move(specs));
  if (!structure.empty()) out.schema.structure = std::move(structure);
  return without_dead_steps(out);
}

namespace {

// Appends `program` to `out`, with its values renumbered by `value_of`.
void append_steps(Program& out, const Program& program, std::vector<int>& value_of) {
  for (const Call& step : program.steps) {
    Call copy = step;
    for (int& v : copy.inputs) v = value_of[static_cast<size_t>(v)];
    copy.first_output = out.num_values();
    for (int i = 0; i < step.outputs; ++i) {
      value_of[static_cast<size_t>(step.first_output + i)] = out.num_values();
      out.specs.push_back(program.specs[static_cast<size_t>(step.first_output + i)]);
    }
    out.steps.push_back(std::move(copy));
  }
}

}  // namespace

bool varies_by_epoch(const Call& call) {
  return call.op->phase() == Phase::python ? call.op->params().is_true("random") : call.op->random();
}

bool may_vary_by_call(const Call& call) {
  return call.op->phase() == Phase::python && !call.op->params().is_true("pure");
}

bool may_wait(const Call& call) { return call.op->phase() == Phase::python || c_function_of(*call.op); }

Program compose(const Program& first, const Program& second) {
  Program out;
  out.input_fields = first.input_fields;
  // Engine fields may be new inputs of the second program.
  for (int field : second.input_fields)
    if (field < 0 &&
        std::find(out.input_fields.begin(), out.input_fields.end(), field) == out.input_fields.end())
      out.input_fields.push_back(field);
  std::vector<int> value_of(static_cast<size_t>(first.num_values()));
  for (size_t i = 0; i < out.input_fields.size(); ++i) {
    if (i < first.input_fields.size()) {
      value_of[i] = static_cast<int>(i);
      out.specs.push_back(first.specs[i]);
    } else {
      out.specs.push_back(out.input_fields[i] == kIdField ? TensorSpec{DType::i64, {}}
                                                          : TensorSpec{DType::boolean, {}});
    }
  }
  append_steps(out, first, value_of);
  std::vector<int> then(static_cast<size_t>(second.num_values()));
  for (size_t i = 0; i < second.input_fields.size(); ++i) {
    const int field = second.input_fields[i];
    if (field >= 0) {
      then[i] = value_of[static_cast<size_t>(first.outputs[static_cast<size_t>(field)])];
    } else {
      then[i] = static_cast<int>(std::find(out.input_fields.begin(), out.input_fields.end(), field) -
                                 out.input_fields.begin());
    }
  }
  append_steps(out, second, then);
  for (int v : second.outputs) out.outputs.push_back(then[static_cast<size_t>(v)]);
  out.schema = second.schema;
  return without_dead_steps(out);
}

Program without_dead_steps(const Program& program) {
  std::vector<bool> live(program.specs.size(), false);
  for (int v : program.outputs) live[static_cast<size_t>(v)] = true;
  std::vector<bool> keep(program.steps.size(), false);
  for (size_t s = program.steps.size(); s-- > 0;) {
    const Call& step = program.steps[s];
    for (int i = 0; i < step.outputs; ++i)
      keep[s] = keep[s] || live[static_cast<size_t>(step.first_output + i)];
    if (keep[s])
      for (int v : step.inputs) live[static_cast<size_t>(v)] = true;
  }
  Program out;
  std::vector<int> value_of(program.specs.size(), -1);
  for (size_t i = 0; i < program.input_fields.size(); ++i) {
    if (!live[i]) continue;
    value_of[i] = out.num_values();
    out.input_fields.push_back(program.input_fields[i]);
    out.specs.push_back(program.specs[i]);
  }
  for (size_t s = 0; s < program.steps.size(); ++s) {
    if (!keep[s]) continue;
    Program one;
    one.specs = program.specs;
    one.steps = {program.steps[s]};
    append_steps(out, one, value_of);
  }
  for (int v : program.outputs) out.outputs.push_back(value_of[static_cast<size_t>(v)]);
  out.schema = program.schema;
  return out;
}

}  // namespace headrace
