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
  OnErrorPolicy policy = OnErrorPolicy::raise;
  static constexpr std::tuple fields{Member{
      "policy", &OnError::policy, "End the run, leave the sample out, or put another one in its place."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
