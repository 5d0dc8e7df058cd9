// headrace index: find in advance where the records of containers and the rows of JPEG files begin, for
// decode_image(match="fast").
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/input/input.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"

namespace headrace::cli {
namespace {

struct IndexArguments {
  InputArguments input;
  IndexOptions index;
  uint64_t workers = 0;
  bool json = false;
};

Value json_of(const IndexedPoints& made, double seconds) {
  Value out;
  out.set("samples", made.samples), out.set("files", made.files), out.set("failed", made.failed);
  out.set("bytes", made.bytes), out.set("path", made.path), out.set("seconds", seconds);
  return out;
}

Result<int> make_index(IndexArguments arguments) {
  const auto begin = std::chrono::steady_clock::now();
  HEADRACE_ASSIGN(const SourcePtr source, open_data(arguments.input));
  Progress progress("indexing", source->size());
  arguments.index.workers = arguments.workers;
  arguments.index.progress = [&](uint64_t done) { return progress.show(done), true; };
  HEADRACE_ASSIGN(const IndexedPoints made, index(from_source(source), arguments.index));
  const double seconds = seconds_since(begin);
  const int code = made.failed == 0 ? kOk : kProblem;
  if (arguments.json) {
    fmt::print("{}\n", json_of(made, seconds).dump(1));
    return code;
  }
  say("{}: {}, {} with entropy points", arguments.input.path, plural(made.samples, "sample"),
      plural(made.files, "JPEG file"));
  if (made.failed > 0) say(", {} unreadable (see `headrace verify`)", count_text(made.failed));
  say(" ({:.1f} s)\n", seconds);
  if (made.bytes > 0) say("{} in {}\n", size_text(static_cast<double>(made.bytes)), made.path);
  return code;
}

}  // namespace

void add_index(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand(
      "index",
      "Find in advance where records and the rows of JPEG files begin, so that training does not have to");
  auto arguments = std::make_shared<IndexArguments>();
  add_input_arguments(*command, arguments->input, false);
  command
      ->add_option("--step", arguments->index.step,
                   "An entropy point before every N MCUs (8 to 16 pixels) of a row: 8 makes crops of "
                   "match=\"fast\" faster and the index larger; 0: one before each row")
      ->option_text("N = 0")
      ->check(CLI::Range(int64_t{0}, kMostStep));
  command->add_flag("--beside", arguments->index.beside,
                    "Store the index next to the data, in a folder .headrace, for all users of the data");
  add_count(*command, "--workers", arguments->workers,
            "Number of threads; by default one for each core this process may use", kMostThreads);
  command->add_flag(
      "--json", arguments->json,
      "Print JSON: {\"samples\", \"files\" (with points), \"failed\", \"bytes\" (of the index), "
      "\"path\", \"seconds\"}");
  command->footer(
      "For containers, the index also stores the offset of each record, which is all that random access "
      "needs.\n"
      "The index is stored in the user's cache folder ($XDG_CACHE_HOME or ~/.cache) and identifies images by "
      "their content, so data\n"
      "may be read-only, moved or changed. Without an index, loaders find the entropy points in their first "
      "epoch,\nand the records when they open the files. Results do not depend on it.\n\n"
      "examples:\n  headrace index imagenet/train\n  headrace index imagenet/train --step 8");
  command->callback([arguments, &run] { run = [arguments] { return make_index(*arguments); }; });
}

}  // namespace headrace::cli
