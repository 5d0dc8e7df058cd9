#include "headrace/graph/ranks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

// How near a launcher is to the process: the nearest started it, whatever those around it say.
enum Nearness : uint8_t { around_containers, around_nodes, near, nearest };

struct Launcher {
  const char* name;
  Nearness nearness;
  const char* rank;
  std::array<const char*, 2> sizes;  // the first that is set counts; null: it has none
};

// The order decides which of several that agree is named.
constexpr Launcher kLaunchers[] = {
    {"torchrun", near, "RANK", {"WORLD_SIZE", nullptr}},
    {"Open MPI", near, "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE", nullptr}},
    {"MVAPICH", near, "MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE", nullptr}},
    {"PALS", near, "PALS_RANKID", {"PALS_NRANKS", nullptr}},
    {"Flux", near, "FLUX_TASK_RANK", {"FLUX_JOB_SIZE", nullptr}},
    {"jsrun", near, "JSM_NAMESPACE_RANK", {"JSM_NAMESPACE_SIZE", nullptr}},
    {"MPICH, Intel MPI, PMI", near, "PMI_RANK", {"PMI_SIZE", nullptr}},
    {"Horovod", near, "HOROVOD_RANK", {"HOROVOD_SIZE", nullptr}},
    {"PMIx", near, "PMIX_RANK", {nullptr, nullptr}},
    {"Slurm", around_nodes, "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}},
    {"Kubernetes", around_containers, "JOB_COMPLETION_INDEX", {nullptr, nullptr}},
};

constexpr std::string_view kNameThem = "name them: shard(rank, world)";

struct Said {
  const Launcher* launcher = nullptr;
  Nearness nearness = near;
  uint32_t rank = 0;
  std::optional<uint32_t> world;
  std::string text;  // "RANK=1 and WORLD_SIZE=2"
  bool alone() const { return rank == 0 && world == 1; }
};

std::string rank_of(uint32_t rank, uint32_t world) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(world);
}

Result<uint32_t> number(const char* name, const std::string& text) {
  const size_t first = std::min(text.find_first_not_of(' '), text.size());
  const size_t end = text.find_last_not_of(' ') + 1;
  uint32_t out = 0;
  const auto [last, error] = std::from_chars(text.data() + first, text.data() + end, out);
  if (first < end && error == std::errc() && last == text.data() + end) return out;
  return invalid(std::string(name) + " must be a number, got " + in_quotes(text))
      .with({.op = "shard", .option = name, .expected = "a number", .got = in_quotes(text)})
      .in_op("shard");
}

class Asked {
 public:
  explicit Asked(const Environment& environment) : environment_(environment) {}

  std::optional<std::string> at(const char* name) const { return environment_(name); }
  bool has(const char* name) const { return at(name).has_value(); }

  // Only torchrun sets these beside RANK; accelerate, DeepSpeed and people set RANK and WORLD_SIZE, too.
  bool is_torchruns() const { return has("GROUP_RANK") && has("LOCAL_WORLD_SIZE"); }

  // A batch script and an interactive shell have Slurm's variables, but are one process for all tasks. Their
  // numbers of steps, where they have one, are the largest of 32 bits.
  bool is_outside_steps() const {
    constexpr uint64_t kFirstSpecial = 0xfffffff0;
    const auto step = at("SLURM_STEP_ID");
    if (!step) return has("SLURM_JOB_ID");
    return std::strtoull(step->c_str(), nullptr, 10) >= kFirstSpecial;
  }

  // What a launcher says; no launcher if nothing.
  Result<Said> said(const Launcher& launcher) const {
    const auto rank = at(launcher.rank);
    if (!rank) return Said{};
    Said out{&launcher, launcher.nearness, 0, {}, std::string(launcher.rank) + "=" + *rank};
    HEADRACE_ASSIGN(out.rank, number(launcher.rank, *rank));
    for (const char* name : launcher.sizes)
      if (const auto size = name && !out.world ? at(name) : std::nullopt) {
        HEADRACE_ASSIGN(out.world, number(name, *size));
        out.text += " and " + std::string(name) + "=" + *size;
      }
    if (out.world && out.rank >= *out.world)
      return invalid({.expected = "a rank from 0 to below the world size",
                      .got = out.text,
                      .fix = std::string(kNameThem)})
          .in_op("shard");
    return out;
  }

 private:
  const Environment& environment_;
};

// Whether the ranks of `one` are those that processes of `around` started: as many for each, in its order.
bool is_within(const Said& one, const Said& around) {
  const uint32_t each = *one.world / std::max(*around.world, 1U);
  return each > 1 && *one.world % *around.world == 0 && one.rank / each == around.rank;
}

Status without_world(const Said& said) {
  const char* const size = said.launcher->sizes[0];
  const std::string expected =
      size ? size : std::string("the number of ") + (said.nearness == near ? "processes" : "pods");
  const std::string fix =
      said.launcher == kLaunchers ? "set both or neither, or " : "set RANK and WORLD_SIZE, or ";
  return invalid({.expected = expected + " beside " + said.text,
                  .got = "none",
                  .fix = fix + std::string(kNameThem)})
      .in_op("shard");
}

// Nobody says a rank and a world size: what is odd about that.
Result<Ranks> alone(const Asked& asked) {
  Ranks out{.why = "No launcher has set its variables, so this is the only process."};
  const auto tasks = asked.at("SLURM_NTASKS");
  if (tasks && asked.is_outside_steps()) {
    HEADRACE_ASSIGN(const uint32_t count, number("SLURM_NTASKS", *tasks));
    out.why =
        "Slurm's variables are those of a batch script or a shell, not of a step, so this is one process.";
    if (count > 1)
      out.warning =
          "shard: expected a step of Slurm, got a batch script of " + *tasks +
          " tasks: this is one process and reads everything. Start it with srun to have all tasks, or "
          "set shard(rank, world)";
    return out;
  }
  const auto size = asked.at("WORLD_SIZE");
  if (!size) return out;
  HEADRACE_ASSIGN(const uint32_t world, number("WORLD_SIZE", *size));
  if (world <= 1) return out;
  const auto local = asked.at("LOCAL_RANK"), node = asked.at("NODE_RANK");
  if (local && node && *node == "0") {  // the ranks of the first node come first
    HEADRACE_ASSIGN(const uint32_t rank, number("LOCAL_RANK", *local));
    if (rank < world)
      return Ranks{rank, world, "Lightning",
                   "LOCAL_RANK=" + *local + ", NODE_RANK=0 and WORLD_SIZE=" + *size + " are set."};
  }
  out.why = "WORLD_SIZE=" + *size + " is set without a rank, so this counts as the only process for now.";
  out.warning = "shard: expected RANK beside WORLD_SIZE=" + *size +
                ", got none: this process reads everything. Set RANK, or set shard(rank, world)";
  return out;
}

}  // namespace

std::optional<std::string> variable_of_process(const char* name) {
  const char* const value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<Ranks> ranks(const Environment& environment) {
  const Asked asked(environment);
  std::vector<Said> found, without_size;
  for (const Launcher& launcher : kLaunchers) {
    HEADRACE_ASSIGN(Said said, asked.said(launcher));
    if (!said.launcher || (said.nearness == around_nodes && asked.is_outside_steps())) continue;
    if (said.launcher == kLaunchers) {
      if (!said.world) return without_world(said);
      if (asked.is_torchruns()) said.nearness = nearest;
    }
    (said.world ? found : without_size).push_back(std::move(said));
  }
  Nearness deciding = around_containers;
  const auto counts = [&](const Said& one) { return one.nearness == nearest || !one.alone(); };
  const bool any_counts = std::ranges::any_of(found, counts);
  // RANK and WORLD_SIZE that torchrun did not set may be copied from any launcher: they agree with it, or are
  // of what it started.
  const auto is_copied = [&](const Said& one) {
    const auto contains = [&](const Said& other) { return other.nearness < near && is_within(one, other); };
    return one.launcher == kLaunchers && one.nearness == near && std::ranges::none_of(found, contains);
  };
  // A single task is ignored if another launcher has several: `mpirun` under `srun -n1` has its own world.
  for (const Said& one : found)
    if (counts(one) || !any_counts)
      deciding = std::max(deciding, is_copied(one) ? around_containers : one.nearness);
  std::vector<const Said*> equals;
  std::string around;
  for (const Said& one : found) {
    if (any_counts && !counts(one)) continue;
    if (one.nearness >= deciding)
      equals.push_back(&one);
    else
      around += "; " + std::string(one.launcher->name) + " around it has " + rank_of(one.rank, *one.world);
  }
  const auto differs = [&](const Said* one) {
    return one->rank != equals[0]->rank || one->world != equals[0]->world;
  };
  if (std::ranges::any_of(equals, differs)) {
    std::string all;
    for (const Said* one : equals)
      all += (all.empty() ? "" : ", ") + std::string(one->launcher->name) + " has " +
             rank_of(one->rank, *one->world);
    return invalid("the launchers disagree: " + all + "; set shard(rank, world)").in_op("shard");
  }
  // A launcher that says no size has that of the one around it, if that has the same rank.
  for (const Said& one : without_size)
    if (equals.empty() || (one.nearness > deciding && one.rank != equals[0]->rank)) return without_world(one);
  if (equals.empty()) return alone(asked);
  const Said& one = *equals[0];
  return Ranks{one.rank, *one.world, one.launcher->name, one.text + " are set" + around + "."};
}

Result<Ranks> with_replicas(Ranks of, uint32_t replicate) {
  if (of.rank >= of.world)
    return invalid({.expected = "0 <= rank < world", .got = rank_of(of.rank, of.world)}).in_op("shard");
  if (replicate == 0 || of.world % replicate != 0)
    return invalid({.expected = "a world size that replicate=" + std::to_string(replicate) + " divides",
                    .got = std::to_string(of.world)})
        .in_op("shard");
  of.rank /= replicate, of.world /= replicate;
  return of;
}

}  // namespace headrace
