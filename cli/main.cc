// The `headrace` program: its options, the choice of a subcommand, and how it ends.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "cli/commands.h"

namespace headrace::cli {
namespace {

constexpr const char* kAbout =
    "Look at, check, run and measure data pipelines for training.\n\n"
    "PATH is data in any known format (see `headrace formats`), PIPELINE.json a pipeline saved by save_plan "
    "in Python or\n"
    "by Dataset::plan in C++. Where a subcommand takes both, PATH means the usual ResNet-50 training "
    "pipeline over it.";
constexpr const char* kEnding =
    "examples:\n"
    "  headrace inspect imagenet/train           what is it, and is it what I think it is?\n"
    "  headrace verify imagenet/train            which files are broken, and why?\n"
    "  headrace view imagenet/train              a contact sheet of what the model would see\n"
    "  headrace bench imagenet/train             how fast, and what limits it?\n"
    "  headrace run pipeline.json                one epoch, and a hash of its batches\n\n"
    "exit codes:\n"
    "  0 all is well, 1 the data has problems, 2 the arguments make no sense, 3 something cannot be read or "
    "written";

// Damage in the data is a finding, everything else something that could not be opened.
int exit_code(const Status& status) { return status.code() == Code::corrupt ? kFoundProblems : kCannotRead; }

int complain(std::string_view text, int code) {
  fmt::print(stderr, "headrace: {}\n", text);
  return code;
}

int run_program(int argc, char** argv) {
  CLI::App program(kAbout, "headrace");
  Run run;
  program.set_version_flag("--version", "headrace " HEADRACE_VERSION);
  program.footer(kEnding);
  program.get_formatter()->column_width(26);
  add_inspect(program, run);
  add_view(program, run);
  add_verify(program, run);
  add_explain(program, run);
  add_run(program, run);
  add_bench(program, run);
  add_formats(program, run);
  add_ops(program, run);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return program.exit(success);
  } catch (const CLI::ParseError& error) {
    const auto chosen = program.get_subcommands();
    const std::string help =
        chosen.empty() ? "headrace --help" : "headrace " + chosen[0]->get_name() + " --help";
    return complain(std::string(error.what()) + " (see `" + help + "`)", kUsage);
  }
  if (!run) {
    fmt::print("{}", program.help());
    return kUsage;
  }
  const Result<int> code = run();
  return code.ok() ? *code : complain(code.status().text(), exit_code(code.status()));
}

}  // namespace
}  // namespace headrace::cli

int main(int argc, char** argv) {
  try {
    return headrace::cli::run_program(argc, argv);
  } catch (const std::exception& error) {  // memory ran out; nothing of ours throws
    fmt::print(stderr, "headrace: {}\n", error.what());
    return headrace::cli::kCannotRead;
  }
}
