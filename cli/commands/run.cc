// headrace run: run a pipeline, count and hash its batches; stop and resume exactly.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>

#include "cli/commands.h"
#include "cli/input/input.h"
#include "cli/look/batch_hash.h"
#include "cli/look/on_error_counts.h"
#include "cli/output/as_typed.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "headrace/core/json/exact_json.h"
#include "headrace/graph/explain/notes.h"
#include "headrace/io/look_up.h"
#include "headrace/io/new_file.h"

namespace headrace::cli {
namespace {

struct RunArguments {
  InputArguments input;
  uint64_t epochs = 1, batches = 0, batch_size = 64;
  LoaderOptions loader;
  std::string state;
  bool no_rewrites = false, each = false, json = false;
};

// One epoch, or the part of it run so far. It is saved with the loader's state.
struct Part {
  uint64_t epoch = 0, batches = 0, samples = 0;
  BatchHash hash;
  OnErrorCounts broken;  // of this call only, not saved: samples read ahead would count twice
  bool finished = false;
};

Result<uint64_t> natural(const Value& object, std::string_view key) {
  HEADRACE_ASSIGN(const int64_t number, object.get_integer(key));
  if (number < 0)
    return invalid("'" + std::string(key) + "' must be at least 0, got " + std::to_string(number));
  return static_cast<uint64_t>(number);
}

Result<Part> part_from(const Value& saved) {
  Part out;
  HEADRACE_ASSIGN(out.batches, natural(saved, "batches"));
  HEADRACE_ASSIGN(out.samples, natural(saved, "samples"));
  HEADRACE_ASSIGN(const std::string hash, saved.get_text("hash"));
  if (!BatchHash::is_hash(hash)) return invalid("'hash' must be 32 hex digits, got '" + hash + "'");
  out.hash = BatchHash(hash);
  return out;
}

// The file holds the loader's state, as Python's state_dict() does, and what this epoch gave so far.
Result<Part> load_state(const std::string& path, Loader& loader) {
  HEADRACE_ASSIGN(const std::string text, read_text_file(path));
  const auto parsed = parse_exact(text);
  if (!parsed.ok()) return parsed.status().in_op("state");
  const Value& state = *parsed;
  HEADRACE_TRY(loader.load(state));
  const Value* saved = state.find("so_far");
  if (!saved || state.is_true("finished")) return Part{};
  return part_from(*saved);
}

Status save_state(const std::string& path, const Loader& loader, const Part& part) {
  HEADRACE_ASSIGN(Value state, loader.save());
  Value so_far;
  so_far.set("batches", part.batches), so_far.set("samples", part.samples),
      so_far.set("hash", part.hash.text());
  state.set("so_far", std::move(so_far));
  const std::string text = state.dump(1) + "\n";
  return write_atomically(path, std::as_bytes(std::span(text)));
}

// Checked before running: hours of work would be lost if the state could not be written at the end.
Status check_state_place(const std::string& path) {
  const auto trial = NewFile::make(path);  // without commit() nothing is left of it
  return trial.ok() ? Status() : trial.status().before("--state: ");
}

uint64_t samples_in(const Sample& batch, bool batched) {
  return batched && !batch.fields.empty() ? static_cast<uint64_t>(batch.fields[0].shape[0]) : 1;
}

// Run until the epoch ends or `limit` batches are done.
Status run_part(const RunArguments& arguments, bool batched, uint64_t limit, Loader& loader, Part& part) {
  const auto before = OnErrorCounts::from_report(loader.report());
  HEADRACE_TRY(loader.begin());
  part.epoch = loader.epoch();
  Progress progress(fmt::format("epoch {}", part.epoch),
                    loader.size() && *loader.size() != kInfinite ? *loader.size() : 0);
  Sample batch;
  for (uint64_t n = 0; n < limit; ++n) {
    HEADRACE_ASSIGN(const bool more, loader.next(batch));
    if (!more) {
      part.finished = true;
      break;
    }
    part.hash.add(batch);
    ++part.batches, part.samples += samples_in(batch, batched);
    if (arguments.each) say("  batch {}: {}\n", part.batches - 1, part.hash.text());
    progress.show(part.batches);
  }
  loader.stop();
  part.broken = OnErrorCounts::from_report(loader.report()).since(before);
  const Result<Value> state = loader.save();
  part.finished = part.finished || (state.ok() && state->is_true("finished"));
  return {};
}

void print_part(const Part& part, bool batched, bool json) {
  if (json) {
    Value out;
    out.set("epoch", part.epoch), out.set("batches", part.batches), out.set("samples", part.samples);
    out.set("skipped", part.broken.skipped), out.set("replaced", part.broken.replaced);
    out.set("xxh3_128", part.hash.text()), out.set("finished", part.finished);
    return fmt::print("{}\n", out.dump());
  }
  const std::string counts =
      batched ? count_text(part.batches) + (part.batches == 1 ? " batch" : " batches") + ", " : "";
  std::string broken = part.broken.text();
  if (!broken.empty())
    broken = fmt::format(" ({}{})", broken, part.finished ? "" : ", including those read ahead");
  say("epoch {}: {}{}{}, xxh3-128 {}{}\n", part.epoch, counts, plural(part.samples, "sample"), broken,
      part.hash.text(), part.finished ? "" : " so far");
}

Result<int> run_pipeline(RunArguments arguments) {
  HEADRACE_ASSIGN(const Opened opened, open_pipeline(arguments.input, arguments.batch_size));
  for (const std::string& note : opened.plan.dataset.notes()) say(stderr, "note: {}\n", as_typed(note));
  arguments.loader.seed = opened.plan.seed;
  if (arguments.no_rewrites) arguments.loader.rewrites_off = {"all"};
  HEADRACE_ASSIGN(const std::unique_ptr<Loader> loader, opened.plan.dataset.loader(arguments.loader));
  const bool batched = is_batched(**opened.plan.dataset.node());
  if (loader->size() == kInfinite && arguments.batches == 0)
    refuse("run: this pipeline never ends (it repeats forever); set --batches to stop it");
  if (!arguments.state.empty()) HEADRACE_TRY(check_state_place(arguments.state));
  Part part;
  const Result<FileInfo> state = arguments.state.empty() ? Status(Code::not_found, "no state is wanted")
                                                         : file_store()->info(arguments.state);
  if (!state.ok() && !is_absent(state.status())) return state.status();  // else the epoch would begin again
  if (state.ok()) {
    auto loaded = load_state(arguments.state, *loader);
    if (!loaded.ok()) return loaded.status().before(arguments.state + ": ");
    part = *std::move(loaded);
    if (part.batches > 0 && !arguments.json)
      say("continuing after {} {}\n", count_text(part.batches), part.batches == 1 ? "batch" : "batches");
  }
  uint64_t left = arguments.batches == 0 ? std::numeric_limits<uint64_t>::max() : arguments.batches;
  for (uint64_t epoch = 0; epoch < arguments.epochs && left > 0; ++epoch, part = {}) {
    const uint64_t before = part.batches;
    HEADRACE_TRY(run_part(arguments, batched, left, *loader, part));
    left -= part.batches - before;
    print_part(part, batched, arguments.json);
    std::fflush(stdout);  // a finished epoch is printed, also to a pipe and if Ctrl-C ends the next one
    if (!arguments.state.empty()) HEADRACE_TRY(save_state(arguments.state, *loader, part));
  }
  return kOk;
}

}  // namespace

void add_run(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand("run", "Run a pipeline; print counts and a hash of its batches");
  auto arguments = std::make_shared<RunArguments>();
  add_input_arguments(*command, arguments->input, true);
  add_count(*command, "--epochs", arguments->epochs, "Epochs to run");
  add_count(*command, "--batches", arguments->batches, "Stop after this many batches; by default at the end");
  command
      ->add_option("--state", arguments->state,
                   "Resume from this file if it exists; write it after every epoch")
      ->option_text("FILE");
  add_settings(*command, arguments->loader);
  add_count(*command, "--batch-size", arguments->batch_size, "Samples per batch, when PATH is data");
  command->add_flag("--each", arguments->each,
                    "Print the hash after every batch, to find where two runs diverge");
  add_cache(*command, arguments->loader.cache);
  command->add_flag("--no-rewrites", arguments->no_rewrites,
                    "Run the pipeline as written, without rewrites; the hash is the same");
  command->add_flag("--json", arguments->json, "Print one JSON object per epoch");
  command->footer(
      "examples:\n  headrace run pipeline.json\n"
      "  headrace run pipeline.json --batches 100 --state here.json    stop after 100 batches …\n"
      "  headrace run pipeline.json --state here.json                  … and run the rest of the epoch\n\n"
      "The hash depends only on the data, the pipeline and the epoch, not on workers, interruptions or "
      "rewrites.\n"
      "Samples that on_error() skipped or replaced are counted; with --batches, also those read ahead.");
  command->callback([arguments, &run] { run = [arguments] { return run_pipeline(*arguments); }; });
}

}  // namespace headrace::cli
