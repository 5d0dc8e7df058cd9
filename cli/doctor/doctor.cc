// headrace doctor: what is wrong or unusual about data, and what would make it faster on this machine.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "cli/commands.h"
#include "cli/doctor/report.h"
#include "cli/input/hints.h"
#include "cli/output/terminal.h"
#include "headrace/formats/data_notes.h"
#include "headrace/run/measure/machine.h"

namespace headrace::cli {

bool Diagnosis::is_broken() const {
  const Source& source = reader.source();
  return !look.broken.empty() || !told_of(source, "missing").empty() || !told_of(source, "differs").empty();
}

namespace {

struct DoctorArguments {
  InputArguments input;
  uint64_t samples = 0, workers = 0;
  bool no_advice = false, json = false;
};

Result<int> doctor(const DoctorArguments& arguments) {
  HEADRACE_ASSIGN(const SourcePtr source, open_data_or_image(arguments.input));
  const SampleReader reader(source);
  const LabelReader labels(reader);
  const size_t workers = arguments.workers > 0 ? arguments.workers : usable_cores();
  const uint64_t count = arguments.samples > 0 ? arguments.samples : std::numeric_limits<uint64_t>::max();
  Look look;
  look_at_samples(reader, labels, count, workers, look);
  Diagnosis found{.reader = reader,
                  .labels = labels,
                  .path = arguments.input.path,
                  .hints = hints_for(*source, arguments.input.path, *file_store()),
                  .look = look,
                  .copies = find_copies(look),
                  .suspicions = find_suspicions(look),
                  .balance = find_balance(look, class_names(*source).size()),
                  .slow = find_slow(reader, look),
                  .measured = std::nullopt};
  if (!arguments.no_advice) found.measured = measure(source, reader, look, arguments.input);
  if (arguments.json)
    fmt::print("{}\n", json_of(found).dump(1));
  else
    print_text(found);
  return found.is_broken() ? kProblem : kOk;
}

}  // namespace

void add_doctor(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand(
      "doctor", "Find broken, duplicate, unusual and slow samples, and what would speed up loading here");
  auto arguments = std::make_shared<DoctorArguments>();
  add_input_arguments(*command, arguments->input, false);
  add_count(*command, "--samples", arguments->samples,
            "Number of samples to examine, evenly spread; all of them by default");
  add_count(*command, "--workers", arguments->workers,
            "Number of threads; by default one for each core this process may use", kMostThreads);
  command->add_flag("--no-advice", arguments->no_advice,
                    "Only examine the samples: no measurements, no temporary files");
  command->add_flag("--json", arguments->json, "Print JSON, with all samples: see docs/doctor.md");
  command->footer(
      "The exit code is 1 if samples are broken, shards are missing, or the number of samples differs from "
      "what was written;\nunusual, duplicate and slow samples do not change it.\n"
      "For advice, up to 500 samples are read in several ways (from the disk, if the system can drop them "
      "from its cache) and\nwritten to temporary files, which are then deleted, in the cache folder "
      "($XDG_CACHE_HOME or ~/.cache) or $TMPDIR.\n\n"
      "examples:\n  headrace doctor imagenet/train\n  headrace doctor 'shards/*.tar' --samples 10000\n"
      "  headrace doctor photos --json | jq -r '.duplicates.conflicts[][].file'");
  command->callback([arguments, &run] { run = [arguments] { return doctor(*arguments); }; });
}

}  // namespace headrace::cli
