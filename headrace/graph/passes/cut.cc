#include "headrace/graph/passes/cut.h"

#include <algorithm>
#include <string>

namespace headrace {
namespace {

bool is_field_of_sample(const Program& program, int value) {
  const auto at = static_cast<size_t>(value);
  return at < program.input_fields.size() && program.input_fields[at] >= 0;
}
bool is_field_of_engine(const Program& program, int value) {
  const auto at = static_cast<size_t>(value);
  return at < program.input_fields.size() && program.input_fields[at] < 0;
}

// Appends the steps of `program` in `wanted` to `out`; `value_of` maps its values to those of `out`.
void append_steps(Program& out, const Program& program, const std::vector<bool>& wanted,
                  std::vector<int>& value_of) {
  for (size_t s = 0; s < program.steps.size(); ++s) {
    if (!wanted[s]) continue;
    Call call = program.steps[s];
    for (int& value : call.inputs) value = value_of[static_cast<size_t>(value)];
    call.first_output = out.num_values();
    for (int i = 0; i < call.outputs; ++i) {
      const auto was = static_cast<size_t>(program.steps[s].first_output + i);
      value_of[was] = out.num_values();
      out.specs.push_back(program.specs[was]);
    }
    out.steps.push_back(std::move(call));
  }
}

}  // namespace

std::vector<bool> repeatable_steps(const Program& program) {
  std::vector<bool> repeatable_value(program.specs.size(), true), out;
  for (size_t i = 0; i < program.input_fields.size(); ++i)
    repeatable_value[i] = program.input_fields[i] != kValidField;
  for (const Call& call : program.steps) {
    const bool same =
        !varies_by_epoch(call) && !may_vary_by_call(call) && std::ranges::all_of(call.inputs, [&](int value) {
          return repeatable_value[static_cast<size_t>(value)];
        });
    for (int i = 0; i < call.outputs; ++i)
      repeatable_value[static_cast<size_t>(call.first_output + i)] = same;
    out.push_back(same);
  }
  return out;
}

Halves cut(const Program& program, const std::vector<bool>& kept) {
  std::vector<bool> first_has(program.specs.size(), false), second_wants(program.specs.size(), false);
  for (size_t value = 0; value < program.input_fields.size(); ++value)
    first_has[value] = is_field_of_sample(program, static_cast<int>(value));
  std::vector<bool> rest(kept.size());
  for (size_t s = 0; s < kept.size(); ++s) {
    rest[s] = !kept[s];
    const Call& call = program.steps[s];
    for (int i = 0; kept[s] && i < call.outputs; ++i)
      first_has[static_cast<size_t>(call.first_output + i)] = true;
    if (rest[s])
      for (const int value : call.inputs) second_wants[static_cast<size_t>(value)] = true;
  }
  for (const int value : program.outputs) second_wants[static_cast<size_t>(value)] = true;

  Halves out;
  out.first.input_fields = program.input_fields;
  std::vector<int> value_of(program.specs.size(), -1), field_of(program.specs.size(), -1);
  for (size_t i = 0; i < program.input_fields.size(); ++i) {
    value_of[i] = static_cast<int>(i);
    out.first.specs.push_back(program.specs[i]);
  }
  append_steps(out.first, program, kept, value_of);
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (size_t value = 0; value < program.specs.size(); ++value) {
    if (!first_has[value] || !second_wants[value]) continue;
    field_of[value] = static_cast<int>(names.size());
    out.first.outputs.push_back(value_of[value]);
    names.push_back(std::to_string(names.size()));
    specs.push_back(program.specs[value]);
  }
  out.first.schema = Schema::of(std::move(names), std::move(specs));
  out.first = without_dead_steps(out.first);

  std::fill(value_of.begin(), value_of.end(), -1);
  for (size_t value = 0; value < program.specs.size(); ++value) {
    const bool of_engine = is_field_of_engine(program, static_cast<int>(value)) && second_wants[value];
    if (field_of[value] < 0 && !of_engine) continue;
    value_of[value] = out.second.num_values();
    out.second.input_fields.push_back(of_engine ? program.input_fields[value] : field_of[value]);
    out.second.specs.push_back(program.specs[value]);
  }
  append_steps(out.second, program, rest, value_of);
  for (const int value : program.outputs) out.second.outputs.push_back(value_of[static_cast<size_t>(value)]);
  out.second.schema = program.schema;
  return out;
}

}  // namespace headrace
