// What a loader's options leave open: numbers to begin with, and between which bounds the tuner turns them.
#pragma once
#include "headrace/run/loader.h"
#include "headrace/tune/tuner.h"

namespace headrace {

size_t cores_of(const LoaderOptions& options);
// An error where there are more threads than anybody means.
Status check_threads(const LoaderOptions& options);
LoaderOptions with_defaults(LoaderOptions options);
// The three numbers of options with defaults, as the tuner has them: of no workers one, who is the caller.
Settings settings_of(const LoaderOptions& options);
// `given`: as the user gave them; `chosen`: with defaults.
SettingLimits limits_of(const LoaderOptions& given, const LoaderOptions& chosen);

}  // namespace headrace
