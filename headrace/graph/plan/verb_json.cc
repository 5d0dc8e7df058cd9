#include "headrace/graph/plan/verb_json.h"

#include <algorithm>

#include "headrace/formats/opening/open.h"
#include "headrace/graph/plan/plan_json.h"
#include "headrace/graph/plan/plan_members.h"
#include "headrace/graph/plan/plan_slots.h"
#include "headrace/graph/plan/tensor_json.h"

namespace headrace {
namespace {

// Of a member, whose name comes before it.
Status must_be(const std::string& expected, const Value& got) {
  return invalid("must be " + expected + ", got " + got.dump())
      .with({.expected = expected, .got = got.dump()});
}

// A type of member: its JSON, its value from JSON, and its description. Types that need more than a value are
// specialised; the others are those of operators' parameters (ops/param.h).
template <class T> struct MemberType {
  static Value out(const T& v) { return Codec<T>::out(v); }
  static Status in(const Value& v, const MakingVerb& making, T& o) {
    if (Codec<T>::in(v, o)) return {};
    if constexpr (std::is_same_v<T, uint64_t>)
      if (!making.bindings && v.integer()) {  // of a program, whose numbers from 2^63 on wrap in a Value
        o = static_cast<uint64_t>(*v.integer());
        return {};
      }
    return must_be(text(), v);
  }
  static std::string text() {
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    if constexpr (std::is_same_v<T, std::string>) return "a string";
    if constexpr (std::is_same_v<T, uint32_t>) return "a whole number from 0 to 2^32 - 1";
    if constexpr (std::is_unsigned_v<T>) return "a whole number of at least 0";
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, Seed>) return "a whole number";
    if constexpr (requires(T list) { list.push_back(list[0]); })
      return "a list, each " + MemberType<typename T::value_type>::text();
    if constexpr (requires(T item) { item.value_or(*item); })
      return MemberType<typename T::value_type>::text();
    if constexpr (std::is_enum_v<T>) return Codec<T>::wanted();
    return "a number";
  }
};
template <> struct MemberType<Value> {
  static std::string text() { return "a number"; }
};
template <> struct MemberType<std::vector<Value>> {
  static Value out(const std::vector<Value>& v) { return v; }
  static Status in(const Value& v, const MakingVerb&, std::vector<Value>& o) {
    if (!v.list()) return must_be(text(), v);
    o = *v.list();
    return {};
  }
  static std::string text() { return "a list of numbers"; }
};
template <> struct MemberType<std::vector<Tensor>> {
  static Value out(const std::vector<Tensor>& v) {
    Value::List list;
    for (const Tensor& tensor : v) list.push_back(tensor_to_value(tensor));
    return list;
  }
  static Status in(const Value& v, const MakingVerb&, std::vector<Tensor>& o) {
    if (!v.list()) return must_be(text(), v);
    for (const Value& item : *v.list()) {
      auto tensor = tensor_from_value(item);
      if (!tensor.ok()) return tensor.status().before("has a value that is no tensor: ");
      o.push_back(*std::move(tensor));
    }
    return {};
  }
  static std::string text() { return "a list of tensors, each with dtype, shape and bytes in hex"; }
};
template <> struct MemberType<std::vector<MixWeights>> {
  static Value out(const std::vector<MixWeights>& v) {
    Value::List list;
    for (const MixWeights& step : v)
      list.push_back(
          Value::Object{{"from", step.from}, {"weights", Codec<std::vector<double>>::out(step.weights)}});
    return list;
  }
  static Status in(const Value& v, const MakingVerb&, std::vector<MixWeights>& o) {
    const auto wrong = [&] { return must_be(text(), v); };
    if (!v.list()) return wrong();
    for (const Value& step : *v.list()) {
      MixWeights made;
      const Value *from = step.find("from"), *weights = step.find("weights");
      if (!from || !weights || step.object()->size() != 2 || !weights->list() ||
          !Codec<uint64_t>::in(*from, made.from) || !Codec<std::vector<double>>::in(*weights, made.weights))
        return wrong();
      o.push_back(std::move(made));
    }
    return {};
  }
  static std::string text() { return "a list of {\"from\": position, \"weights\": [number, …]}"; }
};
template <> struct MemberType<std::optional<Padding>> {
  static Value out(const std::optional<Padding>& v) { return v ? padding_to_value(*v) : Value(); }
  static Status in(const Value& v, const MakingVerb& making, std::optional<Padding>& o,
                   std::string_view verb) {
    constexpr std::string_view kMembers[] = {"shapes", "fill"};
    const std::string what = (making.bindings ? "plan: " : "") + std::string(verb) + ": padding";
    if (!v.is_null()) HEADRACE_TRY(check_members(v, what, {}, kMembers));
    HEADRACE_ASSIGN(o, padding_from(v.find("shapes"), v.find("fill"), making.inputs[0]->schema, verb));
    return {};
  }
  static std::string text() { return "{\"shapes\": […], \"fill\": […]}, one of each per field"; }
};
template <> struct MemberType<SourcePtr> {
  static Value out(const SourcePtr& v) { return v->describe(); }
  static Status in(const Value& v, const MakingVerb& making, SourcePtr& o, std::string_view) {
    const Value* slot = v.find("slot");
    const bool is_bound = slot && slot->text();
    HEADRACE_ASSIGN(
        o, is_bound ? bound_source(v, *making.bindings, making.beside) : open_described(*making.store, v));
    return {};
  }
  static std::string text() { return "a source"; }
};
template <> struct MemberType<GeneratorPtr> {
  static Value out(const GeneratorPtr& v) { return v->describe(); }
  static Status in(const Value& v, const MakingVerb& making, GeneratorPtr& o, std::string_view) {
    const std::string* slot = v.find("slot") ? v.find("slot")->text() : nullptr;
    if (!slot) return invalid("from_generator: expected a 'generator' with a 'slot'").in_op("plan");
    const auto it = making.bindings->generators.find(*slot);
    if (it == making.bindings->generators.end())
      return invalid("the generator in slot '" + *slot + "' is not bound; pass bind={\"" + *slot +
                     "\": …} in Python")
          .in_op("plan");
    o = it->second;
    return {};
  }
  static std::string text() { return "a generator"; }
};
template <> struct MemberType<EpochOrderPtr> {
  static Value out(const EpochOrderPtr& v) { return v->describe(); }
  static Status in(const Value& v, const MakingVerb& making, EpochOrderPtr& o, std::string_view) {
    const std::string* slot = v.find("slot") ? v.find("slot")->text() : nullptr;
    const auto size = v.get_integer("size");
    if (!slot || !size.ok() || *size < 0)
      return invalid({.expected = "an 'order' with a 'slot' and a 'size'", .got = v.dump()})
          .in_op("reorder")
          .in_op("plan");
    const auto it = making.bindings->orders.find(*slot);
    if (it == making.bindings->orders.end())
      return invalid("the function or sampler in slot '" + *slot + "' is not bound; pass bind={\"" + *slot +
                     "\": …} in Python")
          .in_op("plan");
    o = it->second;
    if (o->size() != static_cast<uint64_t>(*size))
      return invalid({.expected = std::to_string(*size) + " positions an epoch in slot '" + *slot + "'",
                      .got = std::to_string(o->size())})
          .in_op("plan");
    return {};
  }
  static std::string text() { return "an order"; }
};
template <> struct MemberType<Program> {
  static Value out(const Program& v) { return program_to_value(v); }
  static std::string text() { return "a program"; }
};

template <class Verb, class M> using TypeOf =
    std::remove_cvref_t<std::invoke_result_t<decltype(M::get), Verb&>>;

template <class Verb> constexpr auto names_of() {
  if constexpr (requires { Verb::verbs; })
    return Verb::verbs;
  else
    return std::array{Verb::verb};
}

template <class Verb> Verb named(std::string_view verb) {
  if constexpr (requires { Verb::named(verb); })
    return Verb::named(verb);
  else
    return Verb();
}

// Whether a member stands there that is not null.
bool has(const Value& members, std::string_view name) {
  const Value* const value = name.empty() ? nullptr : members.find(name);
  return value && !value->is_null();
}

bool belongs(std::string_view only, std::string_view verb) { return only.empty() || only == verb; }

// `prefix`: "plan: shuffle: ", or "shuffle: " where no plan is read.
template <class Verb> Status read_members(Verb& verb, const std::string& name, const Value& members,
                                          const MakingVerb& making, const std::string& prefix) {
  Status status;
  each_member<Verb>([&]<class M>(const M& member) {
    using T = TypeOf<Verb, M>;
    const Value* value = members.find(member.name);
    if constexpr (!std::is_same_v<T, Program>) {
      if (!status.ok() || !value) return;
      if (has(members, member.unless)) {
        status = invalid({.expected = "no '" + std::string(member.name) + "' beside '" +
                                      std::string(member.unless) + "'",
                          .got = value->dump()})
                     .with({.op = name, .option = std::string(member.name)})
                     .before(prefix);
        return;
      }
      T& out = std::invoke(member.get, verb);
      if constexpr (requires { MemberType<T>::in(*value, making, out, name); })
        status = MemberType<T>::in(*value, making, out, name);
      else
        status = MemberType<T>::in(*value, making, out)
                     .with({.op = name, .option = std::string(member.name)})
                     .before(prefix + std::string(member.name) + " ");
    }
  });
  HEADRACE_TRY(status);
  if constexpr (requires { verb.program; }) {
    if (making.program) {
      verb.program = *making.program;
      return {};
    }
    const Schema& elements = making.inputs[0]->schema;
    Schema incoming = elements;
    if constexpr (requires { verb.incoming(elements); }) incoming = verb.incoming(elements);
    HEADRACE_ASSIGN(
        verb.program,
        program_from_value(*members.find("program"), incoming,
                           making.made_at.empty() ? name : name + " at " + making.made_at, *making.bindings));
  }
  return {};
}

template <class Verb>
Result<Kind> verb_from(const std::string& name, const Value& members, const MakingVerb& making) {
  const std::string prefix = (making.bindings ? "plan: " : "") + name + ": ";
  constexpr bool is_root = std::is_same_v<Verb, Read> || std::is_same_v<Verb, Generate>;
  const bool takes_one = !is_root && !facts_of<Verb>().is_union && !beside_of(name);
  if ((takes_one && making.inputs.size() != 1) || (is_root && !making.inputs.empty()))
    return invalid(prefix + "expected " + (is_root ? "no" : "one") + " input, got " +
                   std::to_string(making.inputs.size()));
  Verb verb = named<Verb>(name);
  HEADRACE_TRY(read_members(verb, name, members, making, prefix));
  return Kind(std::move(verb));
}

struct Entry {
  std::string_view name;
  Result<Kind> (*read)(const std::string&, const Value&, const MakingVerb&);
  VerbInfo (*info)(std::string_view);
};

template <class Verb> VerbInfo info_of(std::string_view name) {
  VerbInfo out{name, Verb::doc, {}};
  each_member<Verb>([&]<class M>(const M& member) {
    if (belongs(member.only, name))
      out.members.push_back({member.name, member.doc, MemberType<TypeOf<Verb, M>>::text(),
                             member.presence == Presence::required, member.unless});
  });
  return out;
}

template <size_t... I> std::vector<Entry> entries(std::index_sequence<I...>) {
  std::vector<Entry> out;
  const auto add = [&]<class Verb>(std::type_identity<Verb>) {
    for (const std::string_view name : names_of<Verb>())
      out.push_back({name, &verb_from<Verb>, &info_of<Verb>});
  };
  (add(std::type_identity<std::variant_alternative_t<I, Kind>>()), ...);
  std::ranges::sort(out, {}, &Entry::name);
  return out;
}

const std::vector<Entry>& all_verbs() {
  static const std::vector<Entry> all = entries(std::make_index_sequence<std::variant_size_v<Kind>>());
  return all;
}

}  // namespace

void members_to_value(const Kind& kind, Value& out) {
  std::visit(
      [&]<class Verb>(const Verb& verb) {
        static const Verb fallback{};
        each_member<Verb>([&]<class M>(const M& member) {
          using T = TypeOf<Verb, M>;
          if (!belongs(member.only, name_of(verb)) || has(out, member.unless)) return;
          const T& value = std::invoke(member.get, verb);
          if constexpr (!std::is_same_v<T, std::vector<Tensor>> && requires { value == value; })
            if (member.presence == Presence::if_changed && value == std::invoke(member.get, fallback)) return;
          out.set(member.name, MemberType<T>::out(value));
        });
      },
      kind);
}

Status check_members_of(const std::string& verb, const Value& members, std::string_view prefix,
                        bool passes_program, std::span<const std::string_view> common) {
  const auto it = std::ranges::find(all_verbs(), verb, &Entry::name);
  if (it == all_verbs().end())
    return invalid(std::string(prefix) + "no verb named '" + verb + "'").with({.op = "plan", .got = verb});
  std::vector<std::string_view> required, optional;
  const VerbInfo info = it->info(verb);
  for (const MemberInfo& member : info.members)
    if (!passes_program || member.name != "program")
      (member.required && !has(members, member.unless) ? required : optional).push_back(member.name);
  optional.insert(optional.end(), common.begin(), common.end());
  return check_members(members, std::string(prefix) + verb, required, optional);
}

Result<Kind> kind_from_members(const std::string& verb, const Value& members, const MakingVerb& making) {
  return std::ranges::find(all_verbs(), verb, &Entry::name)->read(verb, members, making);
}

std::vector<VerbInfo> verb_table() {
  std::vector<VerbInfo> out;
  for (const Entry& entry : all_verbs()) out.push_back(entry.info(entry.name));
  return out;
}

}  // namespace headrace
