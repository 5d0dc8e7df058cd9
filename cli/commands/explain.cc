// headrace explain: what a pipeline will do, without running it.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/input/input.h"
#include "cli/input/slots.h"
#include "cli/output/say.h"

namespace headrace::cli {
namespace {

struct ExplainArguments {
  InputArguments input;
  uint64_t batch = 64;
  std::string cache;
  LoaderOptions loader;
  bool no_rewrites = false, measure = false, json = false;
};

// For a pipeline whose data is not bound: its steps as written, and the data it needs.
Result<int> explain_unbound(const ExplainArguments& arguments, std::string_view plan) {
  if (arguments.json) {
    Value::List slots;
    for (const Slot& slot : slots_of(plan))
      slots.push_back(
          Value::Object{{"slot", slot.name}, {"expected", expected_text(slot)}, {"bind", bind_text(slot)}});
    Value out;
    out.set("pipeline", arguments.input.path), out.set("steps", steps_text(plan));
    out.set("slots", std::move(slots));
    fmt::print("{}\n", out.dump(1));
    return kOk;
  }
  say("{}\n\n{}\nThe pipeline needs data that its file does not contain; when all of it is bound, explain "
      "shows what will run.\n",
      arguments.input.path, Lines{steps_text(plan)});
  for (const Slot& slot : slots_of(plan))
    say("  {:<12} {}\n  {:<12}   {}\n", slot.name, expected_text(slot), "", bind_text(slot));
  return kOk;
}

Result<int> explain(const ExplainArguments& arguments) {
  HEADRACE_ASSIGN(const std::string unbound, unbound_plan(arguments.input));
  if (!unbound.empty()) return explain_unbound(arguments, unbound);
  HEADRACE_ASSIGN(const Opened opened, open_pipeline(arguments.input, arguments.batch));
  LoaderOptions options = arguments.loader;
  options.seed = opened.plan.seed;
  options.cache = arguments.cache;
  options.only_explained = true;
  if (arguments.no_rewrites) options.rewrites_off = {"all"};
  HEADRACE_ASSIGN(const std::unique_ptr<Loader> loader, opened.plan.dataset.loader(options));
  if (arguments.json) {
    Value out;
    out.set("pipeline", opened.title), out.set("explain", loader->explain(arguments.measure));
    out.set("fingerprint", loader->fingerprint());
    fmt::print("{}\n", out.dump(1));
    return kOk;
  }
  say("{}\n\n{}fingerprint {}\n", opened.title, Lines{loader->explain(arguments.measure)},
      loader->fingerprint());
  return kOk;
}

}  // namespace

void add_explain(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand(
      "explain", "Show what a pipeline will do: its steps, before and after rewrites, and its memory");
  auto arguments = std::make_shared<ExplainArguments>();
  add_input_arguments(*command, arguments->input, true);
  add_count(*command, "--batch-size", arguments->batch, "Samples per batch, when PATH is data");
  add_cache(*command, arguments->cache);
  add_memory_budget(*command, arguments->loader);
  command->add_flag("--no-rewrites", arguments->no_rewrites,
                    "Explain the pipeline as written, without rewrites");
  command->add_flag("--measure", arguments->measure,
                    "Compute a few elements to measure sizes that do not follow from shapes");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer("example:\n  headrace explain pipeline.json");
  command->callback([arguments, &run] { run = [arguments] { return explain(*arguments); }; });
}

}  // namespace headrace::cli
