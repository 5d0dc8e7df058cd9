#include "cli/input/input.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/commands.h"
#include "cli/input/bind.h"
#include "cli/input/open_blocks.h"
#include "cli/input/slots.h"
#include "headrace/codecs/codec.h"
#include "headrace/codecs/image.h"
#include "headrace/core/byte_size.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/opening/patterns.h"
#include "headrace/graph/node.h"
#include "headrace/io/retrying_store.h"

namespace headrace::cli {
namespace {

constexpr uint64_t kLargestPlan = 16 << 20;

// A JSON map of labels is JSON too, so JSON alone is not enough. A state counts as a plan, so that opening it
// fails with a message that says what it is.
bool looks_like_plan(std::string_view text) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         ((has("\"headrace\"") && has("\"verb\"")) || (has("\"fingerprint\"") && has("\"version\"")));
}

// The plan's text, or "" if the path is data.
Result<std::string> plan_text(const InputArguments& arguments) {
  if (!arguments.format.empty() || !arguments.options.empty()) return std::string();
  auto info = file_store()->info(arguments.path);
  if (!info.ok() && is_pattern(arguments.path)) return std::string();
  if (!info.ok()) return info.status();
  if (info->is_directory || info->size > kLargestPlan) return std::string();
  HEADRACE_ASSIGN(std::string text, read_text_file(arguments.path));
  return looks_like_plan(text) ? std::move(text) : std::string();
}

Dataset training(const Dataset& data, const Schema& schema, int image) {
  const Dataset shuffled = data.shuffle({}, kNoLine);
  return shuffled.map(
      [&](const Fields& sample) {
        Outputs out;
        for (size_t i = 0; i < schema.size(); ++i) {
          const Symbol field = sample[schema.names[i]];
          if (static_cast<int>(i) != image) {
            // Fields without a fixed shape cannot be batched, and boxes would not fit the cropped image
            // anyway.
            if (schema.specs[i].is_static()) out.emplace_back(schema.names[i], field);
            continue;
          }
          const Symbol cropped = field.apply("decode_image").apply("random_resized_crop", {{"size", 224}});
          out.emplace_back(schema.names[i],
                           cropped.apply("random_flip")
                               .apply("normalize", {{"mean", Value::List{0.485, 0.456, 0.406}},
                                                    {"std", Value::List{0.229, 0.224, 0.225}},
                                                    {"layout", "CHW"}}));
        }
        return out;
      },
      kNoLine);
}

const Source* first_source(const Node& node) {
  if (const auto* read = node.as<Read>()) return read->source.get();
  for (const NodePtr& input : node.inputs)
    if (const Source* source = first_source(*input)) return source;
  return nullptr;
}

// The error of commands that need data and got a plan or a state.
Status no_data(const std::string& path, std::string_view text) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (has("\"verb\""))
    return invalid({.expected = "data",
                    .got = "the saved pipeline " + in_quotes(path),
                    .fix = "`headrace explain " + path + "` shows it; run, bench and view accept it"});
  return invalid({.expected = "data",
                  .got = in_quotes(path) + ", the saved state of an iteration",
                  .fix = "`headrace run --state` accepts it"});
}

}  // namespace

Value options_value(const std::vector<std::string>& options) {
  Value out{Value::Object()};
  for (const std::string& option : options) {
    const size_t sign = option.find('=');
    if (sign == std::string::npos || sign == 0) refuse("--option: expected NAME=VALUE, got '" + option + "'");
    const std::string text = option.substr(sign + 1);
    auto parsed = Value::parse(text);
    out.set(option.substr(0, sign), parsed.ok() ? *std::move(parsed) : Value(text));
  }
  return out;
}

void add_skip_unreadable(CLI::App& command, InputArguments& arguments) {
  command.add_flag_callback(
      "--skip-unreadable", [&arguments] { arguments.options.emplace_back("skip_unreadable=true"); },
      "Leave out what cannot be examined, such as a folder without permission, with a note; else an error");
}

void add_input_arguments(CLI::App& command, InputArguments& arguments, bool plan) {
  command
      .add_option("PATH", arguments.path,
                  plan ? "Data, or a saved pipeline" : "Data: a file, a folder or a glob pattern in quotes")
      ->required()
      ->option_text(" ");
  command
      .add_option("--format", arguments.format, "Name of the format; by default detected from the content")
      ->option_text("NAME")
      ->check([](const std::string& name) { return find_format(name) ? std::string() : no_format(name); });
  command
      .add_option("--option", arguments.options,
                  "An option of the format, such as classes='[\"cat\", \"dog\"]'; may be repeated")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  add_skip_unreadable(command, arguments);
  if (!plan) return;
  command
      .add_option(
          "--bind", arguments.bind,
          "Data for a slot of a saved pipeline: an .npy file, a .txt file with one string per line, or an "
          ".npz file with several columns; NAME/FIELD=FILE for one of several columns; read_0=PATH: another "
          "path for its first read; may be repeated")
      ->option_text("NAME=FILE")
      ->allow_extra_args(false);
}

void add_count(CLI::App& command, const std::string& name, uint64_t& variable, const std::string& doc,
               uint64_t most) {
  command.add_option(name, variable, doc)
      ->option_text(variable == 0 ? "N" : "N = " + std::to_string(variable))
      ->check(CLI::Range(uint64_t{1}, most));
}

void add_workers(CLI::App& command, std::optional<size_t>& variable) {
  command
      .add_option("--workers", variable,
                  "Worker threads; by default chosen automatically; 0: all work in the main thread")
      ->option_text("N")
      ->check(CLI::Range(uint64_t{0}, kMostThreads));
}

CLI::Validator more_than_zero() {
  return {[](const std::string& text) {
            double number = 0;
            const bool is_number =
                CLI::detail::lexical_cast(text, number) && number > 0 && std::isfinite(number);
            return is_number ? std::string() : "must be more than 0, got " + text;
          },
          "POSITIVE"};
}

void add_settings(CLI::App& command, LoaderOptions& options) {
  add_workers(command, options.workers);
  add_count(command, "--io", options.io, "Concurrent reads; by default chosen automatically", kMostThreads);
  add_count(command, "--ready", options.ready,
            "Batches in progress or ready; by default chosen automatically");
  command
      .add_option_function<std::string>(
          "--tuning", [&options](const std::string& how) { options.tuned = how == "auto"; },
          "locked: keep the initial values of settings that are not given")
      ->option_text("auto|locked")
      ->check(CLI::IsMember({"auto", "locked"}));
  command.add_option("--retries", options.retries, "How often a read is tried again that failed for now")
      ->option_text("N = " + std::to_string(options.retries))
      ->check(CLI::Range(size_t{0}, Retries::kMost));
  add_memory_budget(command, options);
}

void add_memory_budget(CLI::App& command, LoaderOptions& options) {
  command
      .add_option_function<std::string>(
          "--memory-budget",
          [&options](const std::string& text) {
            const Result<uint64_t> bytes = parse_byte_size(text);
            if (!bytes.ok()) refuse("--memory-budget: " + std::string(bytes.status().text()));
            options.memory_budget = *bytes;
          },
          "Memory that the pipeline may use, such as 512MB; by default a quarter of the usable memory")
      ->option_text("SIZE");
}

void add_cache(CLI::App& command, std::string& variable) {
  command
      .add_option(
          "--cache", variable,
          "Cache elements where that pays off, in memory or in the user's cache folder; the batches are the "
          "same")
      ->option_text("auto")
      ->check(CLI::IsMember({"auto"}));
}

Result<SourcePtr> open_data(const InputArguments& arguments) {
  if (const auto text = plan_text(arguments); text.ok() && !text->empty())
    return no_data(arguments.path, *text);
  const Value options = options_value(arguments.options);
  auto opened = open_source(*file_store(), arguments.path, arguments.format, options);
  // If it opens without the options, the options are wrong: a usage error, not a problem with the data.
  if (!arguments.options.empty() && opened.status().code() == Code::invalid &&
      open_source(*file_store(), arguments.path, arguments.format).ok())
    refuse(opened.status());
  return opened;
}

Result<SourcePtr> open_data_or_image(const InputArguments& arguments) {
  std::error_code ignored;
  if (!arguments.format.empty() || !has_image_ending(arguments.path) ||
      !std::filesystem::is_regular_file(arguments.path, ignored))
    return open_data(arguments);
  ImageFiles files;
  files.names.add(arguments.path);
  OpenRequest request;
  request.probes.emplace_back().path = arguments.path;
  return image_files_source(std::move(files), "images", request);
}

namespace {

// Whether the name alone suggests images: "image", "image/bytes", "jpg", "0.png".
bool is_named_image(std::string_view name) {
  return name == "image" || name == "image/bytes" || has_image_ending("." + std::string(name));
}

}  // namespace

// Looks at the first samples, and at some spread over all. If they are broken or have no known images, the
// field's name decides.
int find_image_field(const SourcePtr& source, Store& store) {
  constexpr uint64_t kLooks = 16;
  const Schema& schema = source->schema();
  std::vector<int> fields;  // candidates: no others are read
  for (size_t f = 0; f < schema.size(); ++f)
    if (schema.specs[f].dtype == DType::bytes) fields.push_back(static_cast<int>(f));
  const uint64_t size = source->size(), looks = fields.empty() ? 0 : std::min(size, 2 * kLooks);
  const SourcePtr part = fields.size() < schema.size() && looks > 0 ? narrowed(source, fields) : nullptr;
  OpenBlocks blocks;
  OpenBlocks::Held held;
  for (uint64_t i = 0; i < looks; ++i) {
    const uint64_t index = i < kLooks ? i : size / kLooks * (i - kLooks);
    const auto sample = blocks.read(part ? *part : *source, index, store, held);
    if (!sample.ok()) continue;
    for (size_t n = 0; n < fields.size(); ++n) {
      const Tensor& field = (*sample)[part ? n : static_cast<size_t>(fields[n])];
      if (!field.is_ragged() && read_image_header(field.view().bytes()).ok()) return fields[n];
    }
  }
  for (const int field : fields)
    if (size > 0 && is_named_image(schema.names[static_cast<size_t>(field)])) return field;
  return -1;
}

Result<Opened> open_pipeline(const InputArguments& arguments, uint64_t batch) {
  HEADRACE_ASSIGN(const std::string text, plan_text(arguments));
  if (!text.empty()) {
    HEADRACE_ASSIGN(const Bindings bound, bindings(arguments.bind, text));
    auto plan = load_plan(text, bound);
    if (!plan.ok()) return plan.status().before(arguments.path + ": ");
    HEADRACE_TRY(plan->dataset.node().status());
    return Opened{*plan, arguments.path};
  }
  if (!arguments.bind.empty()) refuse("--bind is for saved pipelines, but '" + arguments.path + "' is data");
  HEADRACE_ASSIGN(const SourcePtr source, open_data(arguments));
  const Schema& schema = source->schema();
  const int image = find_image_field(source, *file_store());
  const Dataset data = from_source(source);
  Dataset out = image < 0 ? data.shuffle({}, kNoLine) : training(data, schema, image);
  out = out.on_error(OnErrorPolicy::replace, kNoLine).batch(batch, {.ragged = image < 0}, kNoLine);
  if (!out.node().ok()) return out.node().status();
  const std::string what = image < 0 ? "shuffle and batch over " : "the ResNet-50 training pipeline over ";
  return Opened{LoadedPlan{out, 0}, what + arguments.path};
}

Result<std::string> unbound_plan(const InputArguments& arguments) {
  HEADRACE_ASSIGN(std::string text, plan_text(arguments));
  if (text.empty()) return text;
  const auto is_bound = [&](const Slot& slot) {
    return std::ranges::any_of(arguments.bind, [&](const std::string& one) {
      return one.substr(0, one.find_first_of("/=")) == slot.name;
    });
  };
  return std::ranges::all_of(slots_of(text), is_bound) ? std::string() : text;
}

std::vector<std::string> class_names(const Source& source) {
  std::vector<std::string> out;
  const Value metadata = source.metadata();
  if (const Value* classes = metadata.find("classes"); classes && classes->list())
    for (const Value& name : *classes->list()) out.push_back(name.text() ? *name.text() : name.dump());
  return out;
}

std::vector<std::string> class_names(const Node& plan) {
  const Source* source = first_source(plan);
  return source ? class_names(*source) : std::vector<std::string>();
}

Result<std::string> read_text_file(const std::string& path) {
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, file_store()->open(path));
  auto bytes = read_bytes(*file, 0, ~uint64_t{0}, kLargestPlan);
  if (!bytes.ok()) return bytes.status().in_file(path);
  return std::string(reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size());
}

}  // namespace headrace::cli
