// The `headrace` program: its options, the choice of a subcommand, and its exit codes.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "cli/commands.h"
#include "cli/output/as_typed.h"
#include "cli/output/say.h"
#include "headrace/core/said_by.h"
#include "headrace/core/text/closest.h"
#include "headrace/core/value.h"

namespace headrace::cli {
namespace {

constexpr const char* kAbout =
    "Inspect, check, run and benchmark data pipelines for training.\n\n"
    "PATH is data in any known format (see `headrace formats`). PIPELINE.json is a pipeline saved by "
    "save_plan in Python\n"
    "or by Dataset::plan in C++. Where a subcommand takes both, PATH means the usual ResNet-50 training "
    "pipeline over that data.";
constexpr const char* kEnding =
    "examples:\n"
    "  headrace inspect imagenet/train           format, samples, fields, labels\n"
    "  headrace verify imagenet/train            which files are broken, and why\n"
    "  headrace doctor imagenet/train            unusual samples, and what would speed up loading\n"
    "  headrace view imagenet/train              a contact sheet of what the model would see\n"
    "  headrace bench imagenet/train             how fast it is, and what limits it\n"
    "  headrace run pipeline.json                one epoch, and a hash of its batches\n"
    "  headrace index imagenet/train             make the first epoch as fast as later ones\n"
    "  headrace convert imagenet/train t.tar     the same samples in another format";

constexpr const char* kExitCodes =
    "exit codes:\n"
    "  0 success\n"
    "  1 a problem with the data, the run or a file: damaged, missing, not writable\n"
    "  2 the arguments are invalid";

// What CLI11 throws for its own checks, with an error of the library.
struct WrongArgument : CLI::ValidationError {
  explicit WrongArgument(const Status& why) : CLI::ValidationError(std::string(why.text())), status(why) {}
  Status status;
};

// Print on stderr why the program ends, as text or as JSON, with what else is known.
int complain(std::string_view text, std::string_view kind, int code, bool json,
             const ErrorFacts& facts = {}) {
  if (json) {
    Value out;
    out.set("error", text), out.set("kind", kind), out.set("exit_code", code);
    out.set("facts", facts.values());
    fmt::print(stderr, "{}\n", out.dump());
  } else {
    say(stderr, "headrace: {}\n", text);
  }
  return code;
}

// Whether to print errors as JSON. Looks at the raw arguments, which may not parse.
bool wants_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc,
                     [](const char* argument) { return std::string_view(argument) == "--json"; });
}

// The message for a first word that is not a subcommand; "" if it is one, or an option.
std::string unknown_subcommand(const CLI::App& program, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  const std::string_view wrong = argv[1];
  std::vector<std::string> known;
  for (const CLI::App* command : program.get_subcommands(nullptr)) known.push_back(command->get_name());
  if (std::ranges::find(known, wrong) != known.end()) return "";
  const std::vector<std::string_view> names(known.begin(), known.end());
  return "unknown subcommand '" + std::string(wrong) + "'" + did_you_mean(wrong, names);
}

// The message for the first unknown option; "" if all are known.
std::string unknown_option(const CLI::App& command, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i], option = argument.substr(0, argument.find('='));
    if (option == "--") return "";  // paths from here on
    if (option.starts_with("--") && std::ranges::find(names, option) == names.end())
      return "unknown option '" + std::string(option) + "'" + did_you_mean(option, names);
  }
  return "";
}

std::string typed(const Status& status, const CLI::App& program) {
  return as_typed(status, program.got_subcommand("convert"));
}

void add_exit_codes(CLI::App& command) {
  const std::string footer = command.get_footer();
  command.footer(footer + (footer.empty() ? "" : "\n\n") + kExitCodes);
}

int run_program(int argc, char** argv) {
  CLI::App program(kAbout, "headrace");
  Run run;
  program.set_version_flag("--version", "headrace " HEADRACE_VERSION);
  program.get_formatter()->column_width(26);
  add_inspect(program, run);
  add_view(program, run);
  add_verify(program, run);
  add_doctor(program, run);
  add_explain(program, run);
  add_run(program, run);
  add_bench(program, run);
  add_index(program, run);
  add_convert(program, run);
  add_formats(program, run);
  add_ops(program, run);
  program.footer(kEnding);
  for (CLI::App* command : program.get_subcommands({})) add_exit_codes(*command);
  add_exit_codes(program);
  const bool json = wants_json(argc, argv);
  try {
    program.parse(argc, argv);
    if (run) {
      const Result<int> code = run();
      if (std::fflush(stdout) != 0 || std::ferror(stdout))
        return complain("cannot write the output: " + std::string(std::strerror(errno)), code_name(Code::io),
                        kProblem, json);
      if (code.ok()) return *code;
      return complain(typed(code.status(), program), code_name(code.status().code()), kProblem, json,
                      code.status().facts());
    }
  } catch (const CLI::Success& success) {  // --help, --version
    return program.exit(success);
  } catch (const CLI::ParseError& error) {
    const auto chosen = program.get_subcommands();
    if (const std::string wrong = unknown_subcommand(program, argc, argv); !wrong.empty())
      return complain(wrong + " (see `headrace --help`)", "usage", kUsage, json);
    const std::string help =
        chosen.empty() ? "headrace --help" : "headrace " + chosen[0]->get_name() + " --help";
    if (const std::string wrong = chosen.empty() ? "" : unknown_option(*chosen[0], argc, argv);
        !wrong.empty())
      return complain(wrong + " (see `" + help + "`)", "usage", kUsage, json);
    const auto* wrong = dynamic_cast<const WrongArgument*>(&error);
    const Status status = wrong ? wrong->status : invalid(std::string(error.what()));
    return complain(typed(status, program) + " (see `" + help + "`)", "usage", kUsage, json, status.facts());
  }
  fmt::print("{}", program.help());
  return kUsage;
}

}  // namespace

void refuse(const std::string& text) { throw CLI::ValidationError(text); }
void refuse(const Status& status) { throw WrongArgument(status); }

}  // namespace headrace::cli

int main(int argc, char** argv) {
  // A file that may not grow (`ulimit -f`) is an error with a message, and not the end of the process.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  try {
    return headrace::cli::run_program(argc, argv);
  } catch (const std::exception& error) {  // out of memory; Headrace's own code does not throw
    headrace::cli::say(stderr, "headrace: {}\n", headrace::said_by(error).text());
    return headrace::cli::kProblem;
  }
}
