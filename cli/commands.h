// The subcommands of the `headrace` program: one file each, and what they share about ending.
//
// A subcommand adds its name, options and help to the program; when the user calls it, its work is put into
// `run`. Work prints its results to stdout and answers the exit code, or the Status that ended it, which
// main() prints to stderr: as one line, or with --json as {"error", "kind", "exit_code"}.
#pragma once
#include <functional>
#include <string>

#include "headrace/core/status.h"

namespace CLI {
class App;
}

namespace headrace::cli {

enum Exit : int {
  kOk = 0,
  kProblem = 1,  // the data, the run or a file: damaged, missing, refused
  kUsage = 2,    // the arguments make no sense: another command line is wanted
};

// End the program with kUsage and this text. Throws what CLI11 throws for the checks of its own.
[[noreturn]] void refuse(const std::string& text);

using Run = std::function<Result<int>()>;

void add_inspect(CLI::App& program, Run& run);
void add_view(CLI::App& program, Run& run);
void add_verify(CLI::App& program, Run& run);
void add_doctor(CLI::App& program, Run& run);
void add_explain(CLI::App& program, Run& run);
void add_run(CLI::App& program, Run& run);
void add_bench(CLI::App& program, Run& run);
void add_index(CLI::App& program, Run& run);
void add_convert(CLI::App& program, Run& run);
void add_ops(CLI::App& program, Run& run);
void add_formats(CLI::App& program, Run& run);

}  // namespace headrace::cli
