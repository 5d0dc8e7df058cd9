// Defaults of a loader's options: initial settings, and the limits within which the tuner changes them.
#pragma once
#include "headrace/run/loader.h"
#include "headrace/tune/tuner.h"

namespace headrace {

size_t cores_of(const LoaderOptions& options);
// An error for unreasonable numbers of threads.
Status check_threads(const LoaderOptions& options);
// `store`: what the run reads from.
LoaderOptions with_defaults(LoaderOptions options, const Store& store);
// The settings of options with defaults, for the tuner: without workers, the caller counts as one.
Settings settings_of(const LoaderOptions& options);
// `given`: as the user gave them; `chosen`: with defaults.
SettingLimits limits_of(const LoaderOptions& given, const LoaderOptions& chosen);

}  // namespace headrace
