// Verbs as JSON and back, from the members that each describes (verbs/verb.h).
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/graph/node.h"
#include "headrace/graph/plan/bindings.h"
#include "headrace/io/store.h"

namespace headrace {

// What members of some types need besides their value.
struct MakingVerb {
  const std::vector<NodePtr>& inputs;
  std::string made_at = "";
  // A plan: its programs and sources are values of it. Null: `program` is the member of that type.
  Store* store = nullptr;
  const Bindings* bindings = nullptr;
  std::optional<Beside> beside = std::nullopt;  // set for the side input of a verb
  const Program* program = nullptr;
};

// The members of a verb, without its name and inputs.
void members_to_value(const Kind& kind, Value& out);

// Whether the object has the members of the verb, apart from a program that is passed, and only these and
// `common` ones. An unknown verb is an error, too. `prefix`: of messages.
Status check_members_of(const std::string& verb, const Value& members, std::string_view prefix,
                        bool passes_program, std::span<const std::string_view> common = {});

// The kind of a verb from an object of its members. REQUIRES: check_members_of() accepts it. Values that do
// not fit are errors that name verb and member.
Result<Kind> kind_from_members(const std::string& verb, const Value& members, const MakingVerb& making);

struct MemberInfo {
  std::string_view name, doc;
  std::string type;
  bool required = false;
  std::string_view unless = "";  // a member that stands for it
};
struct VerbInfo {
  std::string_view name, doc;
  std::vector<MemberInfo> members;
};
// All verbs of plans, by name: for documentation.
std::vector<VerbInfo> verb_table();

}  // namespace headrace
