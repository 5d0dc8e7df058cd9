#include "headrace/graph/plan/plan_json.h"

#include <algorithm>

#include "headrace/formats/described.h"
#include "headrace/graph/plan/plan_members.h"
#include "headrace/graph/plan/plan_slots.h"
#include "headrace/graph/plan/verb_json.h"
#include "headrace/ops/c_function.h"

namespace headrace {
namespace {

Value list_of(std::span<const int> values) {
  Value::List out;
  for (int v : values) out.emplace_back(v);
  return out;
}

Result<std::vector<int>> ints(const Value* list, std::string_view what) {
  if (!list || !list->list()) return invalid(std::string(what) + " must be a list of numbers").in_op("plan");
  std::vector<int> out;
  for (const Value& v : *list->list()) {
    if (!v.integer())
      return invalid(std::string(what) + " must contain numbers, got " + v.dump()).in_op("plan");
    const int64_t n = *v.integer();
    if (n != static_cast<int>(n))
      return invalid(std::string(what) + " must contain 32-bit numbers, got " + v.dump()).in_op("plan");
    out.push_back(static_cast<int>(n));
  }
  return out;
}

// `beside`: set for the side input of a verb.
Result<NodePtr> node_from(const Value& plan, Store& store, const Bindings& bindings,
                          std::optional<Beside> beside) {
  constexpr std::string_view kCommon[] = {"verb", "input", "inputs", "at"};
  const auto named = plan.get_text("verb");
  if (!named.ok()) return named.status().in_op("plan");
  const std::string& verb = *named;
  HEADRACE_TRY(check_members_of(verb, plan, "plan: ", false, kCommon));
  std::vector<NodePtr> inputs;
  if (const Value* input = plan.find("input")) {
    HEADRACE_ASSIGN(NodePtr node, node_from(*input, store, bindings, std::nullopt));
    inputs.push_back(std::move(node));
  }
  const Value *many = plan.find("inputs"), *at = plan.find("at");
  if (many && !many->list())
    return invalid({.expected = "a list of plans", .got = many->dump()})
        .with({.option = "inputs"})
        .before("plan: " + verb + ": inputs: ");
  if (many && plan.find("input"))
    return invalid({.expected = "'input' or 'inputs'", .got = "both"}).before("plan: " + verb + ": ");
  if (at && !at->text())
    return invalid({.expected = "a string", .got = at->dump()})
        .with({.option = "at"})
        .before("plan: " + verb + ": at: ");
  if (many)
    for (const Value& input : *many->list()) {
      const bool is_last = &input == &many->list()->back();
      HEADRACE_ASSIGN(NodePtr node,
                      node_from(input, store, bindings, is_last ? beside_of(verb) : std::nullopt));
      inputs.push_back(std::move(node));
    }
  const std::string made_at = at ? *at->text() : "";
  HEADRACE_ASSIGN(Kind kind, kind_from_members(verb, plan, {inputs, made_at, &store, &bindings, beside}));
  return make_node(std::move(kind), std::move(inputs), made_at);
}

}  // namespace

Value plan_to_value(const NodePtr& root) {
  Value out{Value::Object()};
  out.set("verb", kind_name(root->kind));
  members_to_value(root->kind, out);
  if (!root->made_at.empty()) out.set("at", root->made_at);
  if (root->inputs.size() == 1) out.set("input", plan_to_value(root->input()));
  if (root->inputs.size() > 1) {
    Value::List inputs;
    for (const NodePtr& in : root->inputs) inputs.push_back(plan_to_value(in));
    out.set("inputs", std::move(inputs));
  }
  return out;
}

Result<NodePtr> plan_from_value(const Value& plan, Store& store, const Bindings& bindings) {
  return node_from(plan, store, bindings, std::nullopt);
}

Value program_to_value(const Program& program) {
  Value out{Value::Object()};
  out.set("inputs", list_of(program.input_fields));
  Value::List steps;
  for (const Call& step : program.steps) {
    Value s{Value::Object()};
    s.set("op", step.op->name());
    s.set("params", step.op->params());
    s.set("in", list_of(step.inputs));
    if (!step.op->bound().empty()) {
      Value::List bound;
      for (const std::string& name : step.op->bound()) bound.emplace_back(name);
      s.set("bound", std::move(bound));
    }
    steps.push_back(std::move(s));
  }
  out.set("steps", std::move(steps));
  Value::List names;
  for (const std::string& name : program.schema.names) names.emplace_back(name);
  out.set("outputs", list_of(program.outputs));
  out.set("names", std::move(names));
  out.set("structure", program.schema.structure);
  return out;
}

Result<Program> program_from_value(const Value& value, const Schema& incoming, const std::string& made_at,
                                   const Bindings& bindings) {
  constexpr std::string_view kMembers[] = {"inputs", "steps", "outputs", "names", "structure"};
  constexpr std::string_view kRequired[] = {"op", "in"}, kOptional[] = {"params", "bound"};
  HEADRACE_TRY(check_members(value, "plan: a program", kMembers, {}));
  ProgramBuilder builder(incoming, made_at);
  HEADRACE_ASSIGN(const std::vector<int> fields, ints(value.find("inputs"), "inputs"));
  for (int f : fields) {
    if (f < kValidField || f >= static_cast<int>(incoming.size()))
      return invalid("no field " + std::to_string(f) + " in " + incoming.text()).in_op("plan");
    builder.field(f);
  }
  const Value* steps = value.find("steps");
  if (!steps->list())
    return invalid("'steps' of a program must be a list, got " + steps->dump()).in_op("plan");
  for (const Value& step : *steps->list()) {
    const auto named = step.get_text("op");
    if (!named.ok()) return named.status().before("a step: ").in_op("plan");
    const std::string& op = *named;
    HEADRACE_TRY(check_members(step, "plan: the step " + op, kRequired, kOptional));
    HEADRACE_ASSIGN(std::vector<int> in, ints(step.find("in"), op + ".in"));
    const Value params = step.find("params") ? *step.find("params") : Value();
    if (const Value* slot = params.find("slot"); slot && slot->text() && !find_op(op)) {
      if (!bindings.function)
        return invalid("the " + std::string(op == kCFunctionOp ? "C" : "Python") + " function in slot '" +
                       *slot->text() + "' is not bound; open the plan in Python with bind={\"" +
                       *slot->text() + "\": f}")
            .in_op("plan");
      HEADRACE_ASSIGN(OpPtr made, bindings.function(*slot->text(), params));
      if ((op == kCFunctionOp) != (made->name() == kCFunctionOp))
        return invalid("slot '" + *slot->text() + "': expected a " +
                       (op == kCFunctionOp ? "C function, got a Python function"
                                           : "Python function, got a C function"))
            .in_op("plan");
      if (op == kCFunctionOp)
        HEADRACE_TRY(check_c_function(*made, params).before("plan: slot '" + *slot->text() + "': "));
      HEADRACE_TRY(builder.add_op(std::move(made), in).status());
      continue;
    }
    std::vector<std::pair<std::string, int>> bound;
    if (const Value* names = step.find("bound")) {
      if (!names->list())
        return invalid({.expected = "a list of names", .got = names->dump()})
            .before(op + ".bound: ")
            .in_op("plan");
      const size_t n = names->list()->size();
      if (n > in.size()) return invalid(op + " binds more parameters than it has inputs").in_op("plan");
      for (size_t i = 0; i < n; ++i) {
        if (!(*names->list())[i].text()) return invalid(op + ".bound must contain names").in_op("plan");
        bound.emplace_back(*(*names->list())[i].text(), in[in.size() - n + i]);
      }
      in.resize(in.size() - n);
    }
    HEADRACE_TRY(builder.add(op, params, in, bound).status());
  }
  HEADRACE_ASSIGN(std::vector<int> outputs, ints(value.find("outputs"), "outputs"));
  std::vector<std::string> names;
  const Value& list = *value.find("names");
  if (!list.list())
    return invalid({.expected = "a list of strings", .got = list.dump()})
        .before("'names' of a program: ")
        .in_op("plan");
  for (const Value& name : *list.list()) {
    if (!name.text())
      return invalid({.expected = "strings", .got = name.dump()})
          .before("'names' of a program: ")
          .in_op("plan");
    names.push_back(*name.text());
  }
  if (names.size() != outputs.size())
    return invalid("a program must have as many names as outputs").in_op("plan");
  const auto structure = value.get_text("structure");
  if (!structure.ok()) return structure.status().before("a program: ").in_op("plan");
  HEADRACE_TRY(check_structure(*structure, outputs.size()).before("a program: ").in_op("plan"));
  return builder.finish(std::move(names), std::move(outputs), *structure);
}

}  // namespace headrace
