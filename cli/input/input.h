// The input of a subcommand: data in some format, or a saved pipeline.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/headrace.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace headrace::cli {

// The arguments PATH, --format, --option and --bind.
struct InputArguments {
  std::string path, format;
  std::vector<std::string> options;  // "name=value"
  std::vector<std::string> bind;     // "name=file", for a saved pipeline
};
// Each is "name=value"; the value is JSON, "classes=[\"cat\"]", else a string, "root=images".
Value options_value(const std::vector<std::string>& options);
// --skip-unreadable.
void add_skip_unreadable(CLI::App& command, InputArguments& arguments);
// `plan`: whether PATH may also be a saved pipeline.
void add_input_arguments(CLI::App& command, InputArguments& arguments, bool plan);

// For nodes that the command line builds itself: its own source lines mean nothing to the user.
inline const Line kNoLine;

inline constexpr uint64_t kMostThreads = 4096;  // as in options(workers=…)
// An option that takes a number of at least 1. 0 in `variable` means "not given" and is not shown as a
// default.
void add_count(CLI::App& command, const std::string& name, uint64_t& variable, const std::string& doc,
               uint64_t most = uint64_t{1} << 62);
// --workers of a loader.
void add_workers(CLI::App& command, std::optional<size_t>& variable);

// Checks that an option's number is more than 0. CLI::PositiveNumber would print the smallest and the largest
// double, with 309 digits.
CLI::Validator more_than_zero();

// --workers, --io, --ready, --tuning and --memory-budget.
void add_settings(CLI::App& command, LoaderOptions& options);

// --memory-budget 512MB.
void add_memory_budget(CLI::App& command, LoaderOptions& options);

// --cache auto.
void add_cache(CLI::App& command, std::string& variable);

Result<SourcePtr> open_data(const InputArguments& arguments);
// The same, or one image by itself.
Result<SourcePtr> open_data_or_image(const InputArguments& arguments);

// A field of encoded images, or -1: of type bytes, with an image in the first samples that can be read.
int find_image_field(const SourcePtr& source, Store& store);

// A saved pipeline, or the training pipeline over data: shuffle, decode, random_resized_crop 224,
// random_flip, normalize, batch. Broken samples are replaced and counted. Data without images is only
// shuffled and batched.
struct Opened {
  LoadedPlan plan;
  std::string title;  // "pipeline.json", or "the ResNet-50 training pipeline over imagenet/train"
};
Result<Opened> open_pipeline(const InputArguments& arguments, uint64_t batch);

// The text of a saved pipeline with unbound slots; "" if it can be opened.
Result<std::string> unbound_plan(const InputArguments& arguments);

// The class names of the first read; empty if it has none.
std::vector<std::string> class_names(const Node& plan);
std::vector<std::string> class_names(const Source& source);

Result<std::string> read_text_file(const std::string& path);

}  // namespace headrace::cli
