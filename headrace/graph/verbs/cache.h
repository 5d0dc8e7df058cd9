// cache: elements are computed once.
#pragma once
#include <memory>

#include "headrace/graph/verbs/verb.h"

namespace headrace {

class MemoryCaches;

// Elements are computed as in epoch 0 and stored by the sample they come from.
struct Cache {
  static constexpr std::string_view verb = "cache",
                                    doc = "Elements are computed once, as in epoch 0, and kept.";
  static constexpr VerbFacts facts{.hands_on = true};
  std::string path;         // a folder; "": in memory
  uint64_t max_memory = 0;  // bytes; 0: half of what the process may use
  std::string version;  // of the user's functions below, for files: a new version ignores the old elements
  std::shared_ptr<MemoryCaches> memory = nullptr;  // filled in by make_node
  std::string key = "";  // identifies what determines the elements; filled in by lowering
  bool moving = false;   // a shard gives this rank other elements each epoch; filled in by lowering
  static constexpr std::tuple fields{
      Member{"path", &Cache::path, "A folder for the elements; without it they are kept in memory.",
             Presence::if_changed},
      Member{"max_memory", &Cache::max_memory, "Most bytes in memory; 0: half of what the process may use.",
             Presence::if_changed},
      Member{"version", &Cache::version, "Version of the functions below: a new one ignores old elements.",
             Presence::if_changed}};

  Status infer(Node& node);
  std::string details() const;
};

}  // namespace headrace
