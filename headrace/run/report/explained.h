// What explain() says of a run: the plan as it was written and as it runs, what each rewrite did, what memory
// it will take, and what is worth a warning.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/run/lower/loader_options.h"
#include "headrace/run/lower/pipeline.h"
#include "headrace/tune/settings.h"

namespace headrace {

struct Explained {
  NodePtr written;
  const Pipeline& pipeline;
  const std::vector<Stage*>& stages;
  const LoaderOptions& options;
  Settings settings;
  SettingLimits limits;
  std::string caching;  // what was decided of caches
  std::shared_ptr<Store>
      store;  // for looking at some elements where sizes do not follow from shapes; null: none
};

std::string explain_run(const Explained& run);

}  // namespace headrace
