// headrace bench: how fast a pipeline runs on this machine, and what limits it.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/input/input.h"
#include "cli/output/as_typed.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "headrace/io/new_file.h"
#include "headrace/run/report/report.h"
#include "headrace/run/report/report_page.h"
#include "headrace/run/report/timeline.h"

namespace headrace::cli {
namespace {

struct BenchArguments {
  InputArguments input;
  uint64_t batches = 0, batch_size = 64;
  double seconds = 10;
  LoaderOptions loader;
  std::string html;
  bool no_rewrites = false, json = false;
};

struct Timed {
  uint64_t batches = 0, epochs = 0;
  double first_batch_s = 0;
};

double number(const Value& report, std::string_view key) {
  const Value* value = report.find(key);
  if (value && value->real()) return *value->real();
  return value && value->integer() ? static_cast<double>(*value->integer()) : 0;
}

// Run epochs until the time or the number of batches is reached, discarding the batches.
Result<Timed> measure(const BenchArguments& arguments, Loader& loader) {
  Timed out;
  const auto begin = std::chrono::steady_clock::now();
  constexpr double kShowEvery_s = 0.1;  // report() costs more than a small batch
  double next_show_s = 0;
  const auto is_over = [&] {
    return arguments.batches > 0 ? out.batches >= arguments.batches
                                 : seconds_since(begin) >= arguments.seconds;
  };
  const std::string limit = arguments.batches > 0 ? "" : fmt::format(" of {:g}", arguments.seconds);
  Progress progress("measuring", arguments.batches);
  Sample batch;
  HEADRACE_TRY(loader.begin());
  while (!is_over()) {
    HEADRACE_ASSIGN(const bool more, loader.next(batch));
    if (!more) {
      if (out.batches == 0) return invalid("bench: the pipeline yields no batches");
      ++out.epochs;
      HEADRACE_TRY(loader.begin());
      continue;
    }
    if (out.batches++ == 0) out.first_batch_s = seconds_since(begin);
    const double now_s = seconds_since(begin);
    if (now_s < next_show_s) continue;
    next_show_s = now_s + kShowEvery_s;
    const double rate = number(loader.report(), "samples_per_s");
    progress.show(out.batches, fmt::format("batches, {:.0f} samples/s, {:.0f}{} s", rate, now_s, limit));
  }
  loader.stop();
  return out;
}

Result<int> bench(BenchArguments arguments) {
  HEADRACE_ASSIGN(const Opened opened, open_pipeline(arguments.input, arguments.batch_size));
  for (const std::string& note : opened.plan.dataset.notes()) say(stderr, "note: {}\n", as_typed(note));
  arguments.loader.seed = opened.plan.seed;
  if (arguments.no_rewrites) arguments.loader.rewrites_off = {"all"};
  HEADRACE_ASSIGN(const std::unique_ptr<Loader> loader, opened.plan.dataset.loader(arguments.loader));
  std::unique_ptr<NewFile> page;  // made before measuring, so that a failure shows at once
  if (!arguments.html.empty()) {
    auto made = NewFile::make(arguments.html);
    HEADRACE_TRY(made.status().before("bench: --html: "));
    page = *std::move(made);
  }
  HEADRACE_ASSIGN(const Timed measured, measure(arguments, *loader));
  Value report = loader->report();
  if (arguments.loader.cache.empty()) {
    LoaderOptions caching = arguments.loader;
    caching.cache = "auto", caching.only_explained = true, caching.trace = "";
    const auto looked = opened.plan.dataset.loader(caching);
    if (looked.ok()) add_what_if(report, *(*looked)->report().find("what_if")->list());
  }
  if (page) {
    const std::string text = report_page(report, loader->timeline().get(), opened.title);
    HEADRACE_TRY(page->write(0, std::as_bytes(std::span(text))).before("bench: --html: "));
    HEADRACE_TRY(page->commit(NewFile::Lasts::as_the_system_likes).before("bench: --html: "));
  }
  if (arguments.json) {
    Value out;
    out.set("pipeline", opened.title), out.set("batches", measured.batches),
        out.set("epochs", measured.epochs);
    out.set("first_batch_s", measured.first_batch_s), out.set("report", report);
    fmt::print("{}\n", out.dump(1));
    return kOk;
  }
  say("{}\n{} {}, {}; first batch after {:.2f} s; {:.0f} workers\n\n{}", opened.title,
      count_text(measured.batches), measured.batches == 1 ? "batch" : "batches",
      plural(measured.epochs, "whole epoch"), measured.first_batch_s, number(report, "workers"),
      Lines{report_text(report)});
  if (!arguments.html.empty()) say("{}: the same with charts\n", arguments.html);
  if (!arguments.loader.trace.empty())
    say("{}: a trace of the first epoch, for ui.perfetto.dev\n", arguments.loader.trace);
  return kOk;
}

}  // namespace

void add_bench(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand(
      "bench", "Measure a pipeline: samples per second, time per operator, what limits it");
  auto arguments = std::make_shared<BenchArguments>();
  add_input_arguments(*command, arguments->input, true);
  command->add_option("--seconds", arguments->seconds, "How long to measure")
      ->option_text("S = 10")
      ->check(more_than_zero());
  add_count(*command, "--batches", arguments->batches, "Measure this many batches instead of a time");
  add_settings(*command, arguments->loader);
  add_count(*command, "--batch-size", arguments->batch_size, "Samples per batch, when PATH is data");
  add_cache(*command, arguments->loader.cache);
  command->add_flag("--no-rewrites", arguments->no_rewrites,
                    "Run the pipeline as written, without rewrites, to see what they gain");
  command->add_option("--html", arguments->html, "Write a page with charts: threads, costs, memory")
      ->option_text("FILE");
  command
      ->add_option("--trace", arguments->loader.trace,
                   "Write a trace of all threads in the first epoch, for ui.perfetto.dev")
      ->option_text("FILE");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer(
      "examples:\n  headrace bench imagenet/train\n  headrace bench pipeline.json --workers 1 --seconds "
      "30\n\n"
      "If the data was not read recently, the first run measures the disk; a second run measures the page "
      "cache.");
  command->callback([arguments, &run] { run = [arguments] { return bench(*arguments); }; });
}

}  // namespace headrace::cli
