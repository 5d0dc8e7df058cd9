#include "headrace/run/cache/cache_candidates.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "headrace/core/cache/element_cache.h"
#include "headrace/graph/passes/cut.h"
#include "headrace/ops/decode_resampled.h"
#include "headrace/ops/geometry.h"

namespace headrace {
namespace {

constexpr double kLeastSpeedup = 1.1;   // smaller ones are within the error of measuring a few samples
constexpr double kLeastSaved = 20e-6;   // s per sample: finding an element and passing it on costs some µs
constexpr double kLeastShare = 0.05;    // of the elements
constexpr double kAsGood = 0.97;        // share of the best speedup: then the smaller cache is better
constexpr double kMostEpochsToPay = 3;  // epochs after which writing to disk must have paid
constexpr double kMargin = 1.03;        // elements may be larger than the measured ones
constexpr double kBesideOnDisk = 128;   // additional bytes per element, approximately
constexpr double kFind = 2e-6;          // s to find an element in memory
constexpr double kFindFile = 6e-6;      // s to find and read one of a file

template <class... Numbers> std::string text(const char* format, Numbers... numbers) {
  char out[160];
  std::snprintf(out, sizeof out, format, numbers...);
  return out;
}

std::string percent(double share) { return text("%.0f %%", 100 * share); }
std::string gain_text(double speedup) {
  if (speedup >= 10) return text("about %.0fx", speedup);  // depends on how little a hit costs
  return speedup >= 2 ? text("%.1fx", speedup) : text("%+.0f %%", 100 * (speedup - 1));
}

// The user's operators in a step: an image is decoded and resampled in one.
std::string names_of(const Program& program, const Call& call) {
  if (call.op->name() != "decode_resampled") return std::string(call.op->name());
  std::string out = "decode_image";
  int value = call.inputs.back();
  std::vector<std::string> placed;
  for (bool found = true; found;) {
    found = false;
    for (const Call& step : program.steps)
      if (step.first_output == value && step.op->name() != "decode_image") {
        placed.emplace_back(step.op->name());
        value = step.inputs[0], found = true;
        break;
      }
  }
  for (auto name = placed.rbegin(); name != placed.rend(); ++name) out += " + " + *name;
  return out;
}

std::string after_text(const Program& program, const Call& call) {
  return names_of(program, call) + (call.made_at.empty() ? "" : " (" + call.made_at + ")");
}

// The mean bytes of each value.
std::vector<double> value_bytes(const Program& program, const Pilot& measured) {
  std::vector<double> out(program.specs.size(), 0);
  for (size_t i = 0; i < program.input_fields.size(); ++i)
    if (program.input_fields[i] >= 0)
      out[i] = measured.field_bytes[static_cast<size_t>(program.input_fields[i])];
  for (size_t s = 0; s < program.steps.size(); ++s)
    for (size_t i = 0; i < measured.steps[s].bytes.size(); ++i)
      out[static_cast<size_t>(program.steps[s].first_output) + i] = measured.steps[s].bytes[i];
  return out;
}

// The size of a cached element when these steps are before the cache.
struct KeptElement {
  double bytes = 0, beside = 0;
};
KeptElement kept_element(const Program& program, const std::vector<bool>& kept,
                         const std::vector<double>& bytes) {
  std::vector<bool> there(program.specs.size(), false), wanted(program.specs.size(), false);
  for (size_t i = 0; i < program.input_fields.size(); ++i) there[i] = program.input_fields[i] >= 0;
  for (size_t s = 0; s < kept.size(); ++s) {
    const Call& call = program.steps[s];
    for (int i = 0; kept[s] && i < call.outputs; ++i)
      there[static_cast<size_t>(call.first_output + i)] = true;
    for (const int value : call.inputs)
      if (!kept[s]) wanted[static_cast<size_t>(value)] = true;
  }
  for (const int value : program.outputs) wanted[static_cast<size_t>(value)] = true;
  KeptElement out;
  std::vector<TensorSpec> fields;
  for (size_t v = 0; v < bytes.size(); ++v)
    if (there[v] && wanted[v]) out.bytes += bytes[v], fields.push_back(program.specs[v]);
  out.beside = static_cast<double>(beside_in_memory_cache(fields));
  return out;
}

// The cost of a hit, including fetching it.
Demand brought_back(const CacheCandidate& candidate, const CacheMachine& machine, KeptIn where) {
  Demand out = candidate.demand;
  double seconds = kFind + candidate.element_bytes * machine.memory_s_per_byte;
  if (where == KeptIn::disk) seconds = kFindFile + candidate.element_bytes * machine.disk_s_per_byte;
  out.cpu_s += seconds, out.busy_s += seconds;
  return out;
}

bool stays_in_page_cache(double bytes, const CacheMachine& machine) {
  return bytes <= static_cast<double>(machine.page_cache);
}

struct TriedPlace {
  KeptIn where = KeptIn::nowhere;
  double share = 0, seconds = std::numeric_limits<double>::infinity();  // per sample
};

// The time per sample when a share of the elements is cached there.
TriedPlace try_place(const CacheCandidate& candidate, const Demand& base, const CacheUse& use,
                     const CacheMachine& machine, KeptIn where, double share) {
  const double found = where == KeptIn::memory ? use.found_in_memory : 1;
  const Demand demand =
      brought_back(candidate, machine, where) * (share * found) + base * (1 - share * found);
  double seconds = 1 / rate_of(demand, machine);
  if (where == KeptIn::disk && !stays_in_page_cache(share * candidate.bytes(where), machine))
    seconds = std::max(seconds, share * candidate.element_bytes * machine.cold_disk_s_per_byte);
  return {where, share, seconds};
}

}  // namespace

std::string bytes_as_text(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit < 4) bytes /= 1000, ++unit;
  return text(unit == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

double CacheCandidate::bytes(KeptIn place) const {
  const double each = element_bytes + (place == KeptIn::disk ? kBesideOnDisk : beside);
  return each * static_cast<double>(elements);
}

double rate_of(const Demand& demand, const CacheMachine& machine) {
  const double seconds =
      std::max({demand.busy_s / static_cast<double>(machine.workers),
                demand.cpu_s / static_cast<double>(machine.cores), demand.python_s * machine.lock_share,
                demand.read_s / static_cast<double>(machine.io)});
  return 1 / std::max(seconds, 1e-9);
}

namespace {

// Steps that give the same result in every epoch, as declared and as measured.
std::vector<bool> steps_that_stay(const Program& program, const Pilot& measured) {
  std::vector<bool> out = repeatable_steps(program), doubtful(program.specs.size(), false);
  for (size_t s = 0; s < out.size(); ++s) {
    const Call& call = program.steps[s];
    const bool is_doubtful = measured.steps[s].differs || std::ranges::any_of(call.inputs, [&](int value) {
                               return doubtful[static_cast<size_t>(value)];
                             });
    for (int i = 0; is_doubtful && i < call.outputs; ++i)
      doubtful[static_cast<size_t>(call.first_output + i)] = true;
    out[s] = out[s] && !is_doubtful;
  }
  return out;
}

// Adds the first step whose result differs between epochs, as a place where nothing can be cached.
void add_what_varies(const Program& program, const std::vector<bool>& same, const CacheUse& use,
                     std::vector<CacheCandidate>& out) {
  for (size_t s = 0; s < same.size(); ++s) {
    if (same[s]) continue;
    CacheCandidate one;
    one.after = after_text(program, program.steps[s]), one.possible = false, one.elements = use.elements;
    if (repeatable_steps(program)[s])
      one.why = "two calls for one sample gave different results";
    else if (!varies_by_epoch(program.steps[s]) && may_vary_by_call(program.steps[s]))
      one.why =
          "it is a Python function; pass map(pure=True) if it always gives the same result for a sample";
    else
      one.why = "it draws new random numbers in every epoch";
    if (program.specs[static_cast<size_t>(program.steps[s].first_output)] == geometry_spec())
      one.why +=
          ", and decode_image is one step with it; match=\"exact\" or a cache() in between separates them";
    out.push_back(std::move(one));
    return;
  }
}

}  // namespace

std::vector<CacheCandidate> cache_candidates(std::string_view below, const Program& program,
                                             const Pilot& measured, const CacheUse& use) {
  const std::vector<double> bytes = value_bytes(program, measured);
  const std::vector<bool> same = steps_that_stay(program, measured);
  std::vector<CacheCandidate> out;
  const auto add = [&](std::string after, const std::vector<bool>& kept, const Demand& demand) {
    CacheCandidate one;
    one.after = std::move(after), one.kept = kept, one.demand = demand;
    const KeptElement element = kept_element(program, kept, bytes);
    one.elements = use.elements, one.element_bytes = element.bytes, one.beside = element.beside;
    out.push_back(std::move(one));
  };
  std::vector<bool> kept(program.steps.size(), false);
  const auto rest = [&] {
    Demand out;
    for (size_t s = 0; s < kept.size(); ++s)
      if (!kept[s]) out = out + demand_of(program.steps[s], measured.steps[s]);
    return out;
  };
  if (measured.read_bytes > 0 || measured.below.busy_s > 0) add(std::string(below), kept, rest());
  for (size_t s = 0; s < program.steps.size(); ++s) {
    if (!same[s]) continue;
    const Call& call = program.steps[s];
    kept[s] = true;
    const TensorSpec& made = program.specs[static_cast<size_t>(call.first_output)];
    if (made == header_spec() || made == geometry_spec()) continue;  // belongs to an image that is made later
    if (call.op->counted()) add(after_text(program, call), kept, rest());
  }
  add_what_varies(program, same, use, out);
  return out;
}

void judge(CacheCandidate& candidate, const Demand& measured_base, const CacheUse& use,
           const CacheMachine& machine, double output_bytes) {
  if (!candidate.possible) return;
  const double into_batch = output_bytes * machine.write_s_per_byte;
  const Demand written{into_batch, into_batch, 0, 0};
  const Demand base = measured_base + written;
  CacheCandidate hit = candidate;
  hit.demand = candidate.demand + written;
  const double before = 1 / rate_of(base, machine);
  const double in_memory =
      static_cast<double>(use.in_memory) * (candidate.element_bytes + candidate.beside) * kMargin;
  const double on_disk = candidate.bytes(KeptIn::disk) * kMargin;
  const bool may_use_disk = machine.no_disk.empty();
  const auto share_of = [](uint64_t room, double wanted) {
    return wanted <= 0 ? 1 : std::min(1.0, static_cast<double>(room) / wanted);
  };
  const double memory_share = share_of(machine.memory_room, in_memory);
  const double known_share = share_of(machine.disk_places, static_cast<double>(use.elements));
  const double disk_share = may_use_disk ? std::min(known_share, share_of(machine.disk_room, on_disk)) : 0;
  candidate.pays = false;
  TriedPlace best;
  if (memory_share >= 1 && use.found_in_memory >= 1) {
    best = try_place(hit, base, use, machine, KeptIn::memory, 1);
  } else {
    for (const TriedPlace& tried : {try_place(hit, base, use, machine, KeptIn::disk, disk_share),
                                    try_place(hit, base, use, machine, KeptIn::memory, memory_share)})
      if (tried.share >= kLeastShare && tried.seconds < best.seconds) best = tried;
  }
  candidate.where = best.where, candidate.share = best.share, candidate.fits = best.share >= 1;
  candidate.speedup = best.where == KeptIn::nowhere ? 1 : before / best.seconds;
  const double saved = base.busy_s + base.read_s - hit.demand.busy_s - hit.demand.read_s;
  candidate.with_room =
      saved < kLeastSaved ? 1 : before / try_place(hit, base, use, machine, KeptIn::memory, 1).seconds;
  const std::string size = bytes_as_text(candidate.bytes());
  if (best.where == KeptIn::nowhere) {
    candidate.why =
        "needs " + size + ", but there is room for " +
        bytes_as_text(static_cast<double>(machine.memory_room)) + " in memory" +
        (may_use_disk ? " and " + bytes_as_text(static_cast<double>(machine.disk_room)) + " on disk"
                      : "; not on disk: " + machine.no_disk);
    return;
  }
  const bool is_on_disk = best.where == KeptIn::disk;
  candidate.why = std::string(is_on_disk ? "on disk: " : "in memory: ") +
                  (candidate.fits ? size : percent(best.share) + " of " + size) + ", " +
                  gain_text(candidate.speedup);
  const double writing =
      is_on_disk ? best.share * candidate.element_bytes * machine.disk_write_s_per_byte : 0;
  if (candidate.speedup >= 1 && saved < kLeastSaved)
    candidate.why = std::string(is_on_disk ? "on disk: " : "in memory: ") + size + ", saves " +
                    text("%.2g us per sample: too little", std::max(saved, 0.0) * 1e6);
  else if (candidate.speedup < kLeastSpeedup)
    candidate.why +=
        candidate.speedup < 1 ? ": reading it back takes longer than computing it" : ": too little";
  else if (writing > kMostEpochsToPay * (before - best.seconds))
    candidate.why +=
        ": writing it takes longer than it saves in " + text("%.0f", kMostEpochsToPay) + " epochs";
  else
    candidate.pays = true;
}

int choose(std::vector<CacheCandidate>& candidates) {
  double most = 0;
  for (const CacheCandidate& one : candidates)
    if (one.pays) most = std::max(most, one.speedup);
  int best = -1;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const CacheCandidate& one = candidates[i];
    if (!one.pays || one.speedup < kAsGood * most) continue;
    if (best < 0 || one.share * one.bytes() < candidates[static_cast<size_t>(best)].share *
                                                  candidates[static_cast<size_t>(best)].bytes())
      best = static_cast<int>(i);
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    CacheCandidate& one = candidates[i];
    one.chosen = static_cast<int>(i) == best;
    if (one.pays && !one.chosen) one.why += ": less than the chosen one, or the same with more bytes";
  }
  return best;
}

std::optional<Value> what_if(const std::vector<CacheCandidate>& candidates, bool is_kept) {
  const auto with_room = [](const CacheCandidate& one) { return one.possible ? one.with_room : 0; };
  const auto best = std::ranges::max_element(candidates, {}, with_room);
  const auto chosen = std::ranges::find_if(candidates, &CacheCandidate::chosen);
  const double now = is_kept && chosen != candidates.end() ? chosen->speedup : 1;
  if (best == candidates.end() || with_room(*best) < kLeastSpeedup * now) return std::nullopt;
  const bool would_choose = !is_kept && chosen != candidates.end();
  const CacheCandidate& one = would_choose ? *chosen : *best;
  const double speedup = (would_choose ? one.speedup : one.with_room) / now;
  const double bytes = would_choose ? one.bytes() : one.bytes(KeptIn::memory);
  Value out{Value::Object()};
  const std::string change = "with a cache after " + one.after;
  const std::string how = would_choose ? ", as cache=\"auto\" would" : ", in memory";
  out.set("change", change), out.set("speedup", speedup);
  out.set("needs_bytes", static_cast<uint64_t>(bytes));
  out.set("text", change + how + ": " + gain_text(speedup) + " from the second epoch on, for about " +
                      bytes_as_text(bytes));
  return out;
}

std::string to_text(const std::vector<CacheCandidate>& candidates) {
  std::string out;
  const auto chosen = std::ranges::find_if(candidates, &CacheCandidate::chosen);
  if (chosen != candidates.end())
    out += "cache: after " + chosen->after + ", " + chosen->why + " from the second epoch on\n";
  else
    out += "cache: none\n";
  for (const CacheCandidate& one : candidates)
    if (!one.chosen) out += "  not after " + one.after + ": " + one.why + "\n";
  return out;
}

}  // namespace headrace
