#include "cli/input/slots.h"

#include <algorithm>

#include "headrace/formats/described.h"

namespace headrace::cli {
namespace {

Slot::Kind kind_of(const Value& holder) {
  const Value* format = holder.find("format");
  if (holder.find("size") && !format) return Slot::order;
  if (!format) return holder.find("outputs") ? Slot::function : Slot::generator;
  return format->text() && *format->text() == "arrays" ? Slot::data : Slot::python_data;
}

void find_slots(const Value& value, std::vector<Slot>& out) {
  if (const auto* list = value.list())
    for (const Value& item : *list) find_slots(item, out);
  if (!value.object()) return;
  const Value* name = value.find("slot");
  const bool is_slot = name && name->text();
  if (is_slot && std::ranges::find(out, *name->text(), &Slot::name) == out.end())
    out.push_back({*name->text(), kind_of(value), value});
  // Inputs first, in the order of execution.
  const auto is_below = [](std::string_view key) { return key == "input" || key == "inputs"; };
  for (const bool below : {true, false})
    for (const auto& [key, item] : *value.object())
      if (is_below(key) == below) find_slots(item, out);
}

void write_steps(const Value& node, const std::string& indent, std::string& out) {
  if (const Value* input = node.find("input")) write_steps(*input, indent, out);
  if (const Value* inputs = node.find("inputs"); inputs && inputs->list())
    for (const Value& input : *inputs->list()) write_steps(input, indent + "  ", out);
  const Value *verb = node.find("verb"), *at = node.find("at");
  out += indent + (verb && verb->text() ? *verb->text() : "?");
  if (const Value* source = node.find("source"))
    if (const Value* slot = source->find("slot"); slot && slot->text()) out += "  slot " + *slot->text();
  out += (at && at->text() ? "    (" + *at->text() + ")" : "") + "\n";
}

}  // namespace

std::vector<Slot> slots_of(std::string_view plan) {
  std::vector<Slot> out;
  const auto parsed = Value::parse(plan);
  if (const Value* root = parsed.ok() ? parsed->find("plan") : nullptr) find_slots(*root, out);
  return out;
}

std::string expected_text(const Slot& slot) {
  if (slot.kind == Slot::function) return "a Python function";
  if (slot.kind == Slot::order) return "a function of the epoch or a sampler in Python";
  const auto wanted = described_schema(slot.described);
  const std::string fields = wanted.ok() && *wanted ? fields_text(**wanted) + " per row" : "columns";
  if (slot.kind == Slot::generator) return "an iterable in Python: " + fields;
  return slot.kind == Slot::python_data ? "items in Python: " + fields : fields;
}

std::string bind_text(const Slot& slot) {
  if (slot.kind != Slot::data) return "load_plan(…, bind={\"" + slot.name + "\": …}) in Python";
  const auto wanted = described_schema(slot.described);
  if (!wanted.ok() || !*wanted || ((*wanted)->size() == 1 && (*wanted)->structure == "0"))
    return "--bind " + slot.name + "=FILE";
  std::string out;
  for (const std::string& field : (*wanted)->names)
    out += (out.empty() ? "" : " ") + ("--bind " + slot.name + "/" + field + "=FILE");
  return out;
}

std::string steps_text(std::string_view plan) {
  std::string out;
  const auto parsed = Value::parse(plan);
  if (const Value* root = parsed.ok() ? parsed->find("plan") : nullptr) write_steps(*root, "", out);
  return out;
}

}  // namespace headrace::cli
