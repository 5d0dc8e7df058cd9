// Several sources one after the other as one: splits and partitions that are not files of one list. Any
// thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

struct PartOfJoined {
  std::string name;  // for messages: "split \"train\""
  SourcePtr source;
};
// Parts agree as files of one data set do (meaning/files_agree.h). `align_labels`: the option; nothing where
// the format has none, whose class names must be the same then. REQUIRES: at least one part.
Result<SourcePtr> joined_source(std::vector<PartOfJoined> parts, Value description,
                                std::optional<bool> align_labels);

}  // namespace headrace
