#include "headrace/run/evaluate/hold.h"

#include <algorithm>

#include "headrace/run/evaluate/evaluate.h"

namespace headrace {
namespace {

std::span<const Program> programs_of(const Link& link) {
  if (const auto* filter = std::get_if<FilterLink>(&link)) return {&filter->predicate, 1};
  if (const auto* key = std::get_if<KeyLink>(&link)) return {&key->program, 1};
  if (const auto* maps = std::get_if<std::vector<Program>>(&link)) return *maps;
  return {};
}

}  // namespace

bool calls_functions(std::span<const Program> programs, std::span<const Link> chain) {
  const auto calls = [](const Program& program) {
    return std::ranges::any_of(program.steps,
                               [](const Call& call) { return call.op->phase() == Phase::python; });
  };
  return std::ranges::any_of(programs, calls) || std::ranges::any_of(chain, [&](const Link& link) {
           return std::ranges::any_of(programs_of(link), calls);
         });
}

std::shared_ptr<const void> hold_for(std::span<const Program> programs, std::span<const Link> chain) {
  std::shared_ptr<const void> held;
  const auto add = [&](std::span<const Program> more) {
    if (std::ranges::all_of(more, [](const Program& program) { return program.steps.empty(); })) return true;
    std::shared_ptr<const void> own = hold_for(more);
    if (!own) return false;
    if (!held) held = std::move(own);
    return true;
  };
  if (!add(programs)) return nullptr;
  for (const Link& link : chain)
    if (!add(programs_of(link))) return nullptr;
  return held;
}

}  // namespace headrace
