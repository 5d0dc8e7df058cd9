// on_error: what happens to samples that cannot be computed.
#pragma once
#include "headrace/graph/verb_options.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

template <> struct EnumNames<OnErrorPolicy> {
  static constexpr std::array<std::string_view, 3> names{"raise", "skip", "replace"};
};

struct OnError {
  static constexpr std::string_view verb = "on_error",
                                    doc = "What happens to samples that cannot be read or computed.";
  static constexpr VerbFacts facts{.hands_on = true};
  OnErrorPolicy policy = OnErrorPolicy::raise;
  static constexpr std::tuple fields{Member{
      "policy", &OnError::policy, "End the run, leave the sample out, or put another one in its place."}};

  VerbFacts own_facts() const {
    VerbFacts out = facts;
    out.drops_or_adds = policy == OnErrorPolicy::skip;
    return out;
  }
  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
