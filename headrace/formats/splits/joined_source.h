// Several sources one after the other as one: splits and partitions that are not files of one list. Any
// thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

struct PartOfJoined {
  std::string name;  // for messages: "split \"train\""
  SourcePtr source;
};
// REQUIRES: at least one part. Their fields, and the class names in their metadata(), must be the same.
Result<SourcePtr> joined_source(std::vector<PartOfJoined> parts, Value description);

}  // namespace headrace
