// How a verb describes itself. A verb is a struct in a file of its own: its name, its members in one tuple
// `fields`, infer(), and details(), the text in explain(). JSON, the members that a plan may have, messages,
// the Python binding and docs/plans.md come from the tuple.
//
// Two verbs may share a struct: then `verbs` holds both names, named(name) makes a value and name() tells
// which.
//
//   struct Take {
//     static constexpr std::string_view verb = "take", doc = "The first `count` elements.";
//     uint64_t count = 0;
//     static constexpr std::tuple fields{Member{"count", &Take::count, "Number of elements."}};
//     Status infer(Node& node) const;    // schema, total, random access from those of the inputs
//     std::string details() const;       // "5"
//   };
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "headrace/graph/handles.h"
#include "headrace/ops/param.h"

namespace headrace {

// What passes and the run ask of a verb: `static constexpr VerbFacts facts{…}` where one is true. Where one
// depends on the members, `VerbFacts own_facts() const` has those of the value.
struct VerbFacts {
  bool moves_indices = false;  // only chooses or permutes positions, while there is random access
  bool gathers = false;        // an element is made of several
  bool is_union = false;       // elements come from several inputs
  bool drops_or_adds = false;  // how many elements come out depends on the data
  bool hands_on = false;       // elements come out unchanged
  bool jumps = false;          // with random access, positions that follow one another are far apart below
  bool reorders = false;       // another order in each epoch
  bool counts = false;         // behind a shard it counts this rank's elements: another world has others
};

enum class Presence : uint8_t {
  required,    // a plan must have it
  optional,    // may be missing; is always written
  if_changed,  // may be missing; is written when it differs from its default
};

// One described member. `get` is a pointer to it or, for a member of a member, a function of the verb.
template <class Get> struct Member {
  std::string_view name;
  Get get;
  std::string_view doc;
  Presence presence = Presence::required;
  std::string_view only = "";    // of the verbs that share a struct, the one that has this member
  std::string_view unless = "";  // a member before it, in whose presence a plan must not have this one
};
template <class Get> Member(std::string_view, Get, std::string_view) -> Member<Get>;
template <class Get> Member(std::string_view, Get, std::string_view, Presence) -> Member<Get>;
template <class Get> Member(std::string_view, Get, std::string_view, Presence, std::string_view)
    -> Member<Get>;
template <class Get>
Member(std::string_view, Get, std::string_view, Presence, std::string_view, std::string_view) -> Member<Get>;

template <class Verb, class F> void each_member(F&& f) {
  std::apply([&](const auto&... member) { (f(member), ...); }, Verb::fields);
}

// The verb's name in plans and messages: "batch", or "padded_batch" of the two that share a struct.
template <class Verb> std::string_view name_of(const Verb& verb) {
  if constexpr (requires { verb.name(); })
    return verb.name();
  else
    return Verb::verb;
}

template <class Verb> constexpr VerbFacts facts_of() {
  if constexpr (requires { Verb::facts; })
    return Verb::facts;
  else
    return {};
}

template <class Verb> VerbFacts facts_of(const Verb& verb) {
  if constexpr (requires { verb.own_facts(); })
    return verb.own_facts();
  else
    return facts_of<Verb>();
}

// A number of 64 bits without a sign that JSON keeps as one with a sign: seeds.
struct Seed {
  uint64_t value = 0;
  Seed() = default;
  Seed(uint64_t v) : value(v) {}
  operator uint64_t() const { return value; }
};
template <> struct Codec<Seed> {
  static std::string py() { return "int"; }
  static Value out(const Seed& v) { return v.value; }
  static bool in(const Value& v, Seed& o) {
    if (!v.integer()) return false;
    o = static_cast<uint64_t>(*v.integer());
    return true;
  }
};

}  // namespace headrace
