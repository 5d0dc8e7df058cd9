// The rank of this process and how many there are, as its launcher says: the one table of launchers, for
// C++, Python and the command line. docs/ranks.md lists what each launch gives.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "headrace/core/status.h"

namespace headrace {

struct Ranks {
  uint32_t rank = 0, world = 1;
  std::string launcher = "none";  // who decided: "torchrun", "Slurm"
  std::string why = {};           // a sentence
  std::string warning = {};       // what is odd about it; empty: nothing

  bool operator==(const Ranks&) const = default;
};

// The value of an environment variable.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> variable_of_process(const char* name);

// 0 of 1 without a launcher. The launcher that is nearest to the process decides: torchrun, then MPI and the
// like, then Slurm. An error where those equally near disagree, where a rank has no world size, or where a
// variable is not a number.
Result<Ranks> ranks(const Environment& environment = variable_of_process);

// The same where `replicate` consecutive ranks share their data. An error if they do not divide the world.
Result<Ranks> with_replicas(Ranks of, uint32_t replicate);

}  // namespace headrace
