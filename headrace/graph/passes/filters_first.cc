#include "headrace/graph/passes/filters_first.h"

#include <algorithm>

#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

bool is_engine_field(const Program& program, int value) {
  return static_cast<size_t>(value) < program.input_fields.size() &&
         program.input_fields[static_cast<size_t>(value)] < 0;
}

// Splits a program in two: `first` has the steps that some of the outputs need, and outputs whatever the
// other steps and the outputs need of it and of the incoming sample; `second` has the rest.
class Cut {
 public:
  Cut(const Program& program, const std::vector<int>& wanted) : program_(program) {
    const size_t values = program.specs.size();
    early_.assign(values, false), given_.assign(values, -1);
    std::fill_n(early_.begin(), program.input_fields.size(), true);
    steps_.assign(program.steps.size(), false);
    for (const int v : wanted) early_[index(v)] = true;
    while (add_what_is_read() || add_what_reads_images()) continue;
    for (const int v : wanted) give(v);
    for (size_t s = 0; s < steps_.size(); ++s)
      if (!steps_[s]) std::ranges::for_each(program.steps[s].inputs, [&](int v) { give(v); });
    for (const int v : program.outputs) give(v);
  }

  // Whether `first` has no steps: the incoming samples are enough.
  bool is_none() const {
    return std::ranges::none_of(steps_, [](bool early) { return early; });
  }
  bool is_all() const {
    return std::ranges::all_of(steps_, [](bool early) { return early; });
  }
  // The field of `value` in the samples between the two programs.
  int field_of(int value) const {
    const bool is_incoming = is_none() || is_engine_field(program_, value);
    return is_incoming ? program_.input_fields[index(value)] : given_[index(value)];
  }

  Program first() const {
    Program out = program_;
    out.outputs = fields_;
    std::vector<std::string> names;
    std::vector<TensorSpec> specs;
    for (const int v : fields_) {
      names.push_back(std::to_string(names.size()));
      specs.push_back(program_.specs[index(v)]);
    }
    out.schema = Schema::of(std::move(names), std::move(specs));
    return without_dead_steps(out);
  }

  Program second() const {
    if (is_none()) return program_;
    Program out;
    std::vector<int> value_of(program_.specs.size(), -1);
    const auto add = [&](int v) {
      value_of[index(v)] = out.num_values();
      out.specs.push_back(program_.specs[index(v)]);
    };
    for (size_t v = 0; v < early_.size(); ++v) {
      if (!early_[v] || (given_[v] < 0 && !is_engine_field(program_, static_cast<int>(v)))) continue;
      add(static_cast<int>(v));
      out.input_fields.push_back(field_of(static_cast<int>(v)));
    }
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s]) continue;
      Call step = program_.steps[s];
      for (int& v : step.inputs) v = value_of[index(v)];
      for (int i = 0; i < step.outputs; ++i) add(step.first_output + i);
      step.first_output = value_of[index(step.first_output)];
      out.steps.push_back(std::move(step));
    }
    for (const int v : program_.outputs) out.outputs.push_back(value_of[index(v)]);
    out.schema = program_.schema;
    return without_dead_steps(out);
  }

 private:
  bool add(size_t step) {
    const Call& call = program_.steps[step];
    for (int i = 0; i < call.outputs; ++i) early_[index(call.first_output + i)] = true;
    const bool is_new = !steps_[step];
    steps_[step] = true;
    return is_new;
  }
  // The steps that compute the values needed early.
  bool add_what_is_read() {
    bool changed = false;
    for (size_t s = program_.steps.size(); s-- > 0;) {
      const Call& call = program_.steps[s];
      bool is_early = steps_[s];
      for (int i = 0; i < call.outputs; ++i) is_early = is_early || early_[index(call.first_output + i)];
      if (!is_early) continue;
      changed = add(s) || changed;
      for (const int v : call.inputs) early_[index(v)] = true;
    }
    return changed;
  }
  // All readers of a decode stay in the same program: how much is decoded, and whether it is resampled as
  // stored, depends on all of them (partial_outputs.h, planar.h).
  bool add_what_reads_images() {
    std::vector<bool> is_image(program_.specs.size(), false);
    bool changed = false;
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const Call& call = program_.steps[s];
      const bool reads = std::ranges::any_of(call.inputs, [&](int v) { return is_image[index(v)]; });
      if (!reads && !(steps_[s] && call.op->makes_part())) continue;
      for (int i = 0; i < call.outputs; ++i) is_image[index(call.first_output + i)] = true;
      changed = add(s) || changed;
    }
    return changed;
  }
  static size_t index(int value) { return static_cast<size_t>(value); }
  void give(int value) {
    if (!early_[index(value)] || given_[index(value)] >= 0 || is_engine_field(program_, value)) return;
    given_[index(value)] = static_cast<int>(fields_.size());
    fields_.push_back(value);
  }

  const Program& program_;
  std::vector<bool> steps_;  // whether a step is in `first`
  std::vector<bool> early_;  // values available before or after `first`
  std::vector<int> given_;   // value -> field of the output of `first`, or -1
  std::vector<int> fields_;  // the values in those fields
};

NodePtr map_of(Program program, const NodePtr& input, const std::string& made_at) {
  const auto made = make_node(Map{std::move(program)}, {input}, made_at);
  return made.ok() ? *made : nullptr;
}

const Map* map_below(const Node& node) {
  const Node* below = &node;
  while (moves_indices(*below)) below = below->input().get();
  return below->as<Map>();
}

// Null where the filter stays where it is.
NodePtr cut_below(const Node& node) {
  const Map* const top = map_below(*node.input());
  if (!top) return nullptr;
  // All maps below as one, and below it the verbs between them that move indices: the position of a sample
  // does not depend on what the maps do to it.
  Program program;
  std::vector<const Node*> verbs;
  std::string made_at;
  NodePtr source = node.input();
  for (; source->as<Map>() || moves_indices(*source); source = source->input()) {
    const auto* map = source->as<Map>();
    if (!map) {
      verbs.push_back(source.get());
      continue;
    }
    program = map == top ? map->program : compose(map->program, program);
    made_at = source->made_at;
  }
  // The validity of a sample is known within a level, not after it.
  if (std::ranges::find(program.input_fields, kValidField) != program.input_fields.end()) return nullptr;
  Program predicate = node.as<Filter>()->program;
  std::vector<int> wanted;
  for (const int field : predicate.input_fields)
    if (field >= 0) wanted.push_back(program.outputs[static_cast<size_t>(field)]);
  const Cut cut(program, wanted);
  if (cut.is_all()) return nullptr;
  for (int& field : predicate.input_fields)
    if (field >= 0) field = cut.field_of(program.outputs[static_cast<size_t>(field)]);
  NodePtr data = cut.is_none() ? source : map_of(cut.first(), source, made_at);
  for (auto verb = verbs.rbegin(); verb != verbs.rend(); ++verb) data = with_data(**verb, data);
  if (!data) return nullptr;
  const auto filter = make_node(Filter{std::move(predicate)}, {data}, node.made_at);
  return filter.ok() ? map_of(cut.second(), *filter, made_at) : nullptr;
}

}  // namespace

NodePtr filters_first(const NodePtr& root) {
  std::vector<NodePtr> inputs;
  bool changed = false;
  for (const NodePtr& input : root->inputs) {
    inputs.push_back(filters_first(input));
    changed = changed || inputs.back() != input;
  }
  NodePtr node = changed ? with_inputs(*root, std::move(inputs)) : root;
  if (!node) return root;
  const NodePtr made = node->as<Filter>() ? cut_below(*node) : nullptr;
  return made ? made : node;
}

}  // namespace headrace
