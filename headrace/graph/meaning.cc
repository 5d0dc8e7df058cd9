#include "headrace/graph/meaning.h"

#include <algorithm>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/meaning/logical_type.h"

namespace headrace {
namespace {

using Meanings = std::vector<LeafMeaning>;

// COCO's ids with their names, sorted; empty where labels are no ids.
std::vector<std::pair<int64_t, std::string>> category_ids(const Value& metadata) {
  const Value *names = metadata.find("categories"), *ids = metadata.find("category_ids");
  std::vector<std::pair<int64_t, std::string>> out;
  if (!names || !names->list() || !ids || !ids->list()) return out;
  for (size_t i = 0; i < std::min(names->list()->size(), ids->list()->size()); ++i)
    if (const Value &id = (*ids->list())[i], &name = (*names->list())[i]; id.integer() && name.text())
      out.emplace_back(*id.integer(), *name.text());
  std::ranges::sort(out);
  return out;
}

Meanings meanings_of_read(const Source& source) {
  const Schema& schema = source.schema();
  Meanings out(schema.size());
  const Value metadata = source.metadata();
  const Value* types = metadata.find("types");
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].is_of_read = true;
    if (const Value* type = types ? types->find(schema.names[i]) : nullptr; type && type->text())
      out[i].type = *type->text();
  }
  for (ClassList& list : class_lists(metadata, schema))
    if (list.field >= 0)
      out[static_cast<size_t>(list.field)].classes = std::move(list.names);
    else if (list.key == "classes")
      for (size_t i = 0; i < out.size(); ++i)
        if (is_text(schema.specs[i].dtype)) out[i].inside = list.names;
  if (const int field = label_field(schema); field >= 0)
    out[static_cast<size_t>(field)].ids = category_ids(metadata);
  return out;
}

// The class names that a call of `relabel` states.
std::optional<ClassNames> classes_of_call(const Call& call) {
  if (call.op->name() != "relabel") return std::nullopt;
  const Value params = call.op->params();
  const Value* classes = params.find("classes");
  if (!classes || !classes->list() || classes->list()->empty()) return std::nullopt;
  ClassNames out;
  for (const Value& one : *classes->list()) out.push_back(one.text() ? *one.text() : "");
  return out;
}

bool has_classes_of_its_own(const Program& program) {
  return std::ranges::any_of(program.steps,
                             [](const Call& call) { return classes_of_call(call).has_value(); });
}

// Whether an operator's numbers are those of its first input: others of them, or at other places.
bool keeps_numbers(const Call& call, const Program& program) {
  const std::string_view name = call.op->name();
  const DType to = program.specs[static_cast<size_t>(call.first_output)].dtype;
  if (name == "cast") return to != DType::boolean;
  return name == "reshape" || call.op->placing() == Placing::moves;
}

bool parses(const Call& call) {
  const std::string_view name = call.op->name();
  return name.starts_with("parse_") || name == "decode_raw" || name == "example_feature";
}

// A number or a list of them, as labels are, and no pixels.
bool may_be_labels(const TensorSpec& spec) {
  return !is_text(spec.dtype) && !is_float(spec.dtype) && spec.dtype != DType::boolean &&
         spec.shape.rank() <= 1;
}

// What is known of an output that is computed from values with these meanings.
LeafMeaning computed(const Call& call, const TensorSpec& spec, const Meanings& values) {
  LeafMeaning out;
  if (call.op->name() == "length") return out;  // of the shape alone
  for (const int input : call.inputs) {
    const LeafMeaning& in = values[static_cast<size_t>(input)];
    const auto& classes = in.classes ? in.classes : in.of_classes;
    if (classes && !out.of_classes) out.of_classes = classes, out.made_by = call.op->name();
    if (parses(call) && in.inside && may_be_labels(spec) && !out.of_classes)
      out.of_classes = in.inside, out.made_by = call.op->name();
  }
  return out;
}

// What users' own functions compute is theirs to know.
Meanings meanings_of_map(const Program& program, const Meanings& in) {
  Meanings values(program.specs.size());
  for (size_t i = 0; i < program.input_fields.size(); ++i)
    if (const int field = program.input_fields[i]; field >= 0) values[i] = in[static_cast<size_t>(field)];
  for (const Call& call : program.steps) {
    if (may_wait(call)) continue;
    for (int k = 0; k < call.outputs; ++k) {
      const auto at = static_cast<size_t>(call.first_output + k);
      const auto input = static_cast<size_t>(k);  // operators on several images have an output for each
      if (auto classes = classes_of_call(call))
        values[at].classes = std::move(classes);
      else if (keeps_numbers(call, program) && input < call.inputs.size())
        values[at] = values[static_cast<size_t>(call.inputs[input])];
      else
        values[at] = computed(call, program.specs[at], values);
    }
  }
  Meanings out;
  for (const int value : program.outputs) out.push_back(values[static_cast<size_t>(value)]);
  return out;
}

// The type of values of both types, if they have it unchanged.
std::optional<std::string> shared_type(const std::string& a, const std::string& b) {
  const auto out = common_type(a, b);
  return out && factor_between(a, *out) == 1 && factor_between(b, *out) == 1 ? out : std::nullopt;
}

// Whether elements leave the verb as they come.
bool passes_on(const Node& node) {
  return !node.inputs.empty() && !node.as<Map>() && !node.as<Zip>() && !node.as<Scan>() && !node.as<Pack>() &&
         node.input()->schema.names == node.schema.names;
}

// The datasets that are joined by a node, and by joins below it: one that does not say what its numbers mean
// does not hide that two others differ. Each once.
void add_joined(const Node& node, std::set<const Node*>& seen, std::vector<Meanings>& out) {
  if (!seen.insert(&node).second) return;
  if (const size_t count = joined_inputs(node)) {
    for (size_t k = 0; k < count; ++k) add_joined(*node.inputs[k], seen, out);
  } else if (passes_on(node)) {
    add_joined(*node.input(), seen, out);
  } else {
    out.push_back(meanings_of(node));
  }
}

// What holds for both.
LeafMeaning common(const LeafMeaning& a, const LeafMeaning& b) {
  LeafMeaning out;
  out.is_of_read = a.is_of_read && b.is_of_read;
  out.type = shared_type(a.type, b.type).value_or("");
  if (a.classes && b.classes) out.classes = common_classes(*a.classes, *b.classes);
  if (a.ids == b.ids) out.ids = a.ids;
  if (a.of_classes && b.of_classes && a.made_by == b.made_by)
    if (out.of_classes = common_classes(*a.of_classes, *b.of_classes); out.of_classes)
      out.made_by = a.made_by;
  if (a.inside && b.inside) out.inside = common_classes(*a.inside, *b.inside);
  return out;
}

Meanings meanings_of_joined(const Node& node, size_t count) {
  Meanings out = meanings_of(*node.inputs[0]);
  for (size_t k = 1; k < count; ++k) {
    const Meanings other = meanings_of(*node.inputs[k]);
    for (size_t i = 0; i < out.size(); ++i) out[i] = common(out[i], other[i]);
  }
  return out;
}

std::string of_field(const Node& node, size_t leaf) {
  return std::string(kind_name(node.kind)) + ": field " + in_quotes(node.schema.names[leaf]);
}

std::string how_to_convert(const std::string& a, const std::string& b) {
  const auto unit = common_type(a, b);
  if (!unit) return "convert one of them with map() first";
  const auto times = [&](const std::string& from) {
    return std::to_string(factor_between(from, *unit)) + " times its values";
  };
  return factor_between(a, *unit) != 1 ? "map the first one first: " + times(a) + " are " + *unit
                                       : "map the other one first: " + times(b) + " are " + *unit;
}

Status check_leaf(const Node& node, size_t leaf, const LeafMeaning& a, const LeafMeaning& b) {
  if (!a.type.empty() && !b.type.empty() && !shared_type(a.type, b.type))
    return invalid(of_field(node, leaf) + " is " + a.type + " in one dataset, " + b.type + " in another; " +
                   how_to_convert(a.type, b.type));
  for (const auto& [id, name] : a.ids)
    if (const auto other = std::ranges::find(b.ids, id, &std::pair<int64_t, std::string>::first);
        other != b.ids.end() && other->second != name)
      return invalid(of_field(node, leaf) + " has other category ids: " + std::to_string(id) + " is " +
                     in_quotes(name) + " in one dataset, and " + in_quotes(other->second) +
                     " in another; read them with labels=\"index\" and join them with align_labels=True");
  if (a.made_by == "one_hot" && b.made_by == a.made_by && !common_classes(*a.of_classes, *b.of_classes))
    return invalid(of_field(node, leaf) + " is one-hot codes of " + classes_text(*a.of_classes) +
                   " in one dataset, and of " + classes_text(*b.of_classes) +
                   " in another; join the datasets with align_labels=True before one_hot");
  if (!a.classes || !b.classes || common_classes(*a.classes, *b.classes)) return {};
  size_t at = 0;
  while ((*a.classes)[at] == (*b.classes)[at]) ++at;
  return invalid(of_field(node, leaf) + " has different classes: " + std::to_string(at) + " is " +
                 in_quotes((*a.classes)[at]) + " in one dataset (" + classes_text(*a.classes) + "), and " +
                 in_quotes((*b.classes)[at]) + " in another (" + classes_text(*b.classes) +
                 "); align_labels=True maps labels by name to one list, or leave the field out with map() "
                 "first");
}

// {"types": …, "classes": …} of the leaves, as far as known.
void set_meanings(const Schema& schema, const Meanings& meanings, bool with_classes, Value& out) {
  Value types;
  Value::Object lists;
  for (size_t i = 0; i < meanings.size(); ++i) {
    if (!meanings[i].type.empty()) types.set(schema.names[i], meanings[i].type);
    if (meanings[i].classes)
      lists.emplace_back(schema.names[i],
                         Value::List(meanings[i].classes->begin(), meanings[i].classes->end()));
  }
  if (!types.is_null()) out.set("types", std::move(types));
  if (!with_classes || lists.empty()) return;
  const bool all_same =
      std::ranges::all_of(lists, [&](const auto& list) { return list.second == lists[0].second; });
  if (all_same)
    out.set("classes", lists[0].second);
  else
    out.set("classes_of", std::move(lists));
}

bool is_of_meaning(std::string_view key) {
  return key == "types" || key == "classes" || key == "classes_of" || key == "class_names";
}

// Counts of files and the like are added up; anything else holds for all only where it is the same.
Value metadata_of_joined(const Node& node, size_t count) {
  std::vector<Value> all;
  for (size_t k = 0; k < count; ++k) all.push_back(metadata_of(*node.inputs[k]));
  Value out{Value::Object()};
  if (!all[0].object()) return out;
  bool same_classes = true;
  for (const auto& [key, value] : *all[0].object()) {
    bool same = true, counts = is_of_reading(key) && value.integer();
    int64_t sum = 0;
    for (const Value& one : all) {
      const Value* other = one.find(key);
      same = same && other && *other == value;
      counts = counts && other && other->integer();
      if (counts) sum += *other->integer();
    }
    if (key == "types") continue;
    if (is_of_meaning(key)) same_classes = same_classes && same;
    if (counts)
      out.set(key, sum);
    else if (same)
      out.set(key, value);
  }
  if (!same_classes) remove_class_lists(out);
  const bool has_classes = out.find("classes") || out.find("classes_of") || out.find("class_names");
  set_meanings(node.schema, meanings_of(node), !has_classes, out);
  return out;
}

// Fields lie next to each other, so a key is taken from the first dataset that has it, unless it is about the
// meaning of a field.
Value metadata_of_zip(const Node& node) {
  Value out{Value::Object()};
  for (const NodePtr& input : node.inputs)
    if (const Value one = metadata_of(*input); one.object())
      for (const auto& [key, value] : *one.object())
        if (!is_of_meaning(key) && !out.find(key)) out.set(key, value);
  set_meanings(node.schema, meanings_of(node), true, out);
  return out;
}

}  // namespace

size_t joined_inputs(const Node& node) { return is_union(node) && !node.as<Zip>() ? num_datasets(node) : 0; }

std::vector<LeafMeaning> meanings_of(const Node& node) {
  if (const auto* read = node.as<Read>()) return meanings_of_read(*read->source);
  if (const auto* map = node.as<Map>()) return meanings_of_map(map->program, meanings_of(*node.input()));
  if (const size_t count = joined_inputs(node)) return meanings_of_joined(node, count);
  Meanings out;
  if (node.as<Zip>()) {
    for (const NodePtr& input : node.inputs)
      for (LeafMeaning& one : meanings_of(*input)) out.push_back(std::move(one));
    return out;
  }
  if (passes_on(node)) return meanings_of(*node.input());
  out.resize(node.schema.size());
  return out;
}

Status check_meanings(const Node& node) {
  const size_t count = joined_inputs(node);
  if (count < 2) return {};
  std::set<const Node*> seen;
  std::vector<Meanings> joined;
  add_joined(node, seen, joined);
  Meanings all = joined[0];
  for (size_t k = 1; k < joined.size(); ++k) {
    const Meanings& other = joined[k];
    for (size_t i = 0; i < all.size(); ++i) {
      HEADRACE_TRY(check_leaf(node, i, all[i], other[i]));
      if (all[i].type.empty()) all[i].type = other[i].type;
      if (all[i].ids.empty()) all[i].ids = other[i].ids;
      if (!all[i].of_classes) all[i].of_classes = other[i].of_classes, all[i].made_by = other[i].made_by;
      all[i].classes = all[i].classes && other[i].classes ? common_classes(*all[i].classes, *other[i].classes)
                       : all[i].classes                   ? all[i].classes
                                                          : other[i].classes;
    }
  }
  return {};
}

std::vector<std::string> notes_on_meanings(const Node& node) {
  std::vector<std::string> out;
  const size_t count = joined_inputs(node);
  if (count < 2) return out;
  std::set<const Node*> seen;
  std::vector<Meanings> all;
  add_joined(node, seen, all);
  for (size_t i = 0; i < node.schema.size(); ++i) {
    std::string type;
    const ClassNames *classes = nullptr, *computed_from = nullptr, *others = nullptr;
    std::string made_by;
    bool is_plain = false, is_unnamed = false;  // in a read that does not say what its numbers mean
    for (const Meanings& one : all) {
      if (!one[i].type.empty()) type = one[i].type;
      if (one[i].classes) classes = &*one[i].classes;
      if (!one[i].made_by.empty()) made_by = one[i].made_by;
      if (const auto& list = one[i].classes ? one[i].classes : one[i].of_classes; list && computed_from) {
        if (!common_classes(*computed_from, *list)) others = &*list;
      } else if (list) {
        computed_from = &*list;
      }
      is_plain = is_plain || (one[i].is_of_read && one[i].type.empty());
      is_unnamed = is_unnamed || (one[i].is_of_read && !one[i].classes);
    }
    if (!type.empty() && is_plain && !shared_type(type, ""))
      out.push_back(
          of_field(node, i) + " is " + type +
          " in one dataset, and a plain number in another: nothing says whether they mean the same");
    if (others && !made_by.empty())
      out.push_back(of_field(node, i) + " is made by " + made_by + " from class numbers that differ: of " +
                    classes_text(*computed_from) + " in one dataset, of " + classes_text(*others) +
                    " in another; join the datasets with align_labels=True before, or replace the numbers "
                    "with ops.relabel(labels, numbers, classes)");
    if (classes && is_unnamed)
      out.push_back(
          of_field(node, i) + " has " + classes_text(*classes) +
          " in one dataset, and no list of classes in another: nothing says whether its numbers mean "
          "the same");
  }
  return out;
}

Value metadata_of(const Node& node) {
  if (const auto* read = node.as<Read>()) return read->source->metadata();
  if (node.inputs.empty()) return Value(Value::Object());
  if (const size_t count = joined_inputs(node); count > 1) return metadata_of_joined(node, count);
  if (node.as<Zip>()) return metadata_of_zip(node);
  Value out = metadata_of(*node.input());
  if (const auto* map = node.as<Map>(); map && has_classes_of_its_own(map->program)) {
    remove_class_lists(out);
    set_meanings(node.schema, meanings_of(node), true, out);
  }
  return out;
}

Result<std::vector<NodePtr>> align_labels(std::vector<NodePtr> datasets, const std::string& made_at) {
  std::vector<Meanings> all;
  for (const NodePtr& dataset : datasets) {
    if (dataset->schema.names != datasets[0]->schema.names) return datasets;  // the verb says what is wrong
    all.push_back(meanings_of(*dataset));
  }
  bool any = false;
  std::vector<std::vector<std::pair<size_t, Value>>> changes(datasets.size());  // by leaf: parameters
  for (size_t i = 0; !datasets.empty() && i < datasets[0]->schema.size(); ++i) {
    const auto has_classes = [&](const Meanings& one) { return one[i].classes.has_value(); };
    if (std::ranges::none_of(all, has_classes)) continue;
    any = true;
    const std::string field = in_quotes(datasets[0]->schema.names[i]);
    ClassNames joined;
    for (size_t k = 0; k < all.size(); ++k) {
      if (!all[k][i].classes)
        return invalid("field " + field + " has a list of classes in some datasets, but not in " +
                       "dataset " + std::to_string(k))
            .in_op("align_labels");
      joined = joined_classes(joined, *all[k][i].classes);
    }
    for (size_t k = 0; k < all.size(); ++k) {
      if (common_classes(*all[k][i].classes, joined) == joined) continue;
      auto numbers = numbers_in(*all[k][i].classes, joined);
      if (!numbers.ok()) return numbers.status().before("field " + field + ": ").in_op("align_labels");
      changes[k].emplace_back(i, Value::Object{{"numbers", Value::List(numbers->begin(), numbers->end())},
                                               {"classes", Value::List(joined.begin(), joined.end())}});
    }
  }
  if (!any)
    return invalid({.expected = "a field with a list of classes", .got = "none"}).in_op("align_labels");
  for (size_t k = 0; k < datasets.size(); ++k) {
    if (changes[k].empty()) continue;
    const Schema& schema = datasets[k]->schema;
    ProgramBuilder builder(schema, made_at.empty() ? "" : "align_labels at " + made_at);
    std::vector<int> values;
    for (size_t i = 0; i < schema.size(); ++i) values.push_back(builder.field(static_cast<int>(i)));
    for (const auto& [leaf, params] : changes[k]) {
      HEADRACE_ASSIGN(const std::vector<int> made, builder.add("relabel", params, {&values[leaf], 1}));
      values[leaf] = made[0];
    }
    HEADRACE_ASSIGN(Program program, builder.finish(schema.names, values, schema.structure));
    HEADRACE_ASSIGN(datasets[k], make_node(Map{std::move(program)}, {datasets[k]}, made_at));
  }
  return datasets;
}

}  // namespace headrace
