// The subcommands of the `headrace` program, one file each, and their exit codes.
//
// A subcommand adds its name, options and help to the program; when the user calls it, it stores its work in
// `run`. The work prints its results to stdout and returns the exit code, or an error Status, which main()
// prints to stderr: as one line, or with --json as {"error", "kind", "exit_code"}.
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
  kProblem = 1,  // with the data, the run or a file: damaged, missing, refused
  kUsage = 2,    // invalid arguments
};

// End the program with kUsage and this text. Throws the exception that CLI11 throws for its own checks.
[[noreturn]] void refuse(const std::string& text);
[[noreturn]] void refuse(const Status& status);  // the same, with the facts of the error

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
