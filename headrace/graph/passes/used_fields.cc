#include "headrace/graph/passes/used_fields.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "headrace/graph/passes/dead_fields.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

using Fields = std::vector<int>;  // ascending

Fields all_of(const Node& node) {
  Fields out(node.schema.size());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Fields united(const Fields& a, const Fields& b) {
  Fields out;
  std::ranges::set_union(a, b, std::back_inserter(out));
  return out;
}

// The fields of an element that a program uses; they follow `first` others.
Fields looked_at(const Program& program, int first = 0) {
  Fields out;
  for (const int field : program.input_fields)
    if (field >= first) out.push_back(field - first);
  std::ranges::sort(out);
  const auto [end, last] = std::ranges::unique(out);
  out.erase(end, last);
  return out;
}

int place_in(const Fields& fields, int field) {
  return static_cast<int>(std::ranges::lower_bound(fields, field) - fields.begin());
}

void renumber(Program& program, const Fields& fields, int first = 0) {
  for (int& field : program.input_fields)
    if (field >= first) field = first + place_in(fields, field - first);
}

void renumber(Batch& batch, const Fields& fields) {
  if (!batch.padding) return;
  Padding padding;
  for (const int field : fields) {
    padding.shapes.push_back(batch.padding->shapes[static_cast<size_t>(field)]);
    padding.fill.push_back(batch.padding->fill[static_cast<size_t>(field)]);
  }
  batch.padding = std::move(padding);
}

// A node with these of its original fields.
struct Narrowed {
  NodePtr node;
  Fields fields;
};

Narrowed narrow(const NodePtr& node, const Fields& wanted);

// Narrows a node of each kind to at least the fields in `wanted`.
struct Narrowing {
  const NodePtr& node;
  const Fields& wanted;

  Narrowed operator()(const Read& read) const {
    if (wanted.size() == node->schema.size()) return whole();
    const SourcePtr source = narrowed(read.source, wanted);
    return source ? made(Read{source, read.ordinal, true}, {}, wanted) : whole();
  }
  Narrowed operator()(const Generate&) const { return whole(); }

  // Verbs with a program; those that are borders run it on each element.
  Narrowed operator()(Map map) const {
    const Fields made_fields = wanted.empty() ? all_of(*node) : wanted;
    Program program = with_outputs(map.program, made_fields);
    const Narrowed below = narrow(node->input(), looked_at(program));
    if (made_fields.size() == node->schema.size() && !is_less(below)) return over(below);
    renumber(program, below.fields);
    map.program = std::move(program);
    auto out = make_node(std::move(map), {below.node}, node->made_at);
    return out.ok() ? Narrowed{*std::move(out), made_fields} : whole();
  }
  Narrowed operator()(Filter filter) const {
    const Narrowed below = looks(filter.program);
    return made(std::move(filter), {below.node}, below.fields);
  }
  Narrowed operator()(TakeWhile take) const {
    const Narrowed below = looks(take.program);
    return made(std::move(take), {below.node}, below.fields);
  }
  Narrowed operator()(Unique unique) const {
    const Narrowed below = looks(unique.program);
    return made(std::move(unique), {below.node}, below.fields);
  }
  Narrowed operator()(GroupBy group) const {
    const Narrowed below = looks(group.program);
    renumber(group.batch, below.fields);
    return made(std::move(group), {below.node}, below.fields);
  }
  Narrowed operator()(Scan scan) const {
    const int states = static_cast<int>(scan.initial.size());
    const Narrowed below = narrow(node->input(), looked_at(scan.program, states));
    renumber(scan.program, below.fields, states);
    return made(std::move(scan), {below.node}, all_of(*node));
  }

  // Verbs that make one element of several.
  Narrowed operator()(Batch batch) const {
    const Narrowed below = rows();
    renumber(batch, below.fields);
    return made(std::move(batch), {below.node}, below.fields);
  }
  Narrowed operator()(const Window& window) const {
    const Narrowed below = rows();
    return made(window, {below.node}, below.fields);
  }
  Narrowed operator()(Pack pack) const {
    Fields packed = pack.packed;
    std::ranges::sort(packed);
    const Narrowed below = narrow(node->input(), packed);
    for (int& field : pack.packed) field = place_in(below.fields, field);
    return made(std::move(pack), {below.node}, all_of(*node));
  }
  Narrowed operator()(const Unbatch&) const { return over(narrow(node->input(), all_of(*node->input()))); }
  Narrowed operator()(const Cache&) const { return over(narrow(node->input(), all_of(*node->input()))); }

  // Verbs that pass elements on; their other inputs, if any, are side inputs of numbers.
  template <class Verb> Narrowed operator()(const Verb& verb) const {
    static_assert(facts_of<Verb>().hands_on);
    const Narrowed below = narrow(node->input(), wanted);
    std::vector<NodePtr> inputs = node->inputs;
    inputs[0] = below.node;
    return made(verb, std::move(inputs), below.fields);
  }

  Narrowed operator()(const Concatenate& verb) const { return joined(verb); }
  Narrowed operator()(const Interleave& verb) const { return joined(verb); }
  Narrowed operator()(const Mix& verb) const { return joined(verb); }
  Narrowed operator()(const Choose& verb) const { return joined(verb); }
  // Fields of all inputs, one input after the other.
  Narrowed operator()(const Zip& zip) const {
    std::vector<NodePtr> inputs;
    Fields fields;
    int first = 0;
    for (const NodePtr& input : node->inputs) {
      const int end = first + static_cast<int>(input->schema.size());
      Fields some;
      for (const int field : wanted)
        if (field >= first && field < end) some.push_back(field - first);
      const Narrowed below = narrow(input, some);
      inputs.push_back(below.node);
      for (const int field : below.fields) fields.push_back(first + field);
      first = end;
    }
    return made(zip, std::move(inputs), std::move(fields));
  }

 private:
  Narrowed whole() const { return {node, all_of(*node)}; }
  Narrowed over(const Narrowed& below) const { return made(node->kind, {below.node}, all_of(*node)); }
  bool is_less(const Narrowed& below) const { return below.fields.size() < node->input()->schema.size(); }

  Narrowed made(Kind kind, std::vector<NodePtr> inputs, Fields fields) const {
    if (!inputs.empty() && inputs == node->inputs) return whole();
    auto out = make_node(std::move(kind), std::move(inputs), node->made_at);
    return out.ok() ? Narrowed{*std::move(out), std::move(fields)} : whole();
  }
  // The input of a program that uses elements and passes them on.
  Narrowed looks(Program& program) const {
    Narrowed below = narrow(node->input(), united(wanted, looked_at(program)));
    renumber(program, below.fields);
    return below;
  }
  // The number of rows of a batch can be taken from any field: the cheapest one.
  Narrowed rows() const {
    const bool is_counted = wanted.empty() && node->input()->schema.size() > 0;
    return narrow(node->input(), is_counted ? Fields{smallest()} : wanted);
  }
  int smallest() const {
    const std::vector<TensorSpec>& specs = node->input()->schema.specs;
    const auto size = [](const TensorSpec& spec) {
      return spec.is_static() ? spec.size_bytes() : ~size_t{0};
    };
    return static_cast<int>(std::ranges::min_element(specs, {}, size) - specs.begin());
  }

  // Several datasets with the same fields: fields that only one of them uses are not read from the others.
  Narrowed joined(const Kind& kind) const {
    const size_t count = num_datasets(*node);
    std::vector<NodePtr> inputs = node->inputs, chosen = node->inputs;
    bool is_less = false;
    for (size_t i = 0; i < count; ++i) {
      Narrowed below = narrow(node->inputs[i], wanted);
      is_less = is_less || below.fields.size() < node->schema.size();
      inputs[i] = below.node, chosen[i] = choose(below);
      if (!chosen[i]) return whole();
    }
    if (!is_less) return made(kind, std::move(inputs), all_of(*node));
    return made(kind, std::move(chosen), wanted);
  }
  // A flat dict of the wanted fields.
  NodePtr choose(const Narrowed& below) const {
    ProgramBuilder builder(below.node->schema, "");
    std::vector<std::string> names;
    std::vector<int> values;
    for (const int field : wanted) {
      names.push_back(node->schema.names[static_cast<size_t>(field)]);
      values.push_back(builder.field(place_in(below.fields, field)));
    }
    const auto program = builder.finish(std::move(names), std::move(values));
    if (!program.ok()) return nullptr;
    if (program->schema == below.node->schema) return below.node;
    const auto map = make_node(Map{*program}, {below.node});
    return map.ok() ? *map : nullptr;
  }
};

Narrowed narrow(const NodePtr& node, const Fields& wanted) {
  return std::visit(Narrowing{node, wanted}, node->kind);
}

}  // namespace

NodePtr with_used_fields(const NodePtr& root) { return narrow(root, all_of(*root)).node; }

NodePtr with_fewest_fields(const NodePtr& root) {
  NodePtr best = with_used_fields(root);
  const auto handles = [](const Node& node) {
    const auto* on_error = node.as<OnError>();
    return on_error && on_error->policy != OnErrorPolicy::raise;
  };
  if (find_node(*root, handles)) return best;
  // Steps first, then fields that are read.
  const auto cost = [](const NodePtr& node) {
    std::pair<size_t, size_t> out{0, 0};
    each_call(*node, [&](const Call&) { ++out.first; });
    each_node(*node, [&](const Node& one) { out.second += one.inputs.empty() ? one.schema.size() : 0; });
    return out;
  };
  for (const int field : all_of(*root)) {
    NodePtr made = narrow(root, {field}).node;
    if (cost(made) < cost(best)) best = std::move(made);
  }
  return best;
}

}  // namespace headrace
