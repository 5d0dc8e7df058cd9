// The text of explain(): the plan as written and as it runs, what each rewrite changed, estimated memory, and
// warnings.
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
  std::string caching;           // decisions about automatic caches
  std::shared_ptr<Store> store;  // for measuring some elements where shapes do not give sizes; null: do not
};

std::string explain_run(const Explained& run);

}  // namespace headrace
