#include "headrace/run/report/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "headrace/core/byte_size.h"

namespace headrace {
namespace {

constexpr std::string_view kReading = "reading";  // a row in the table of operators

struct Sum {
  uint64_t calls = 0, timed_calls = 0, timed_ns = 0, bytes = 0;
  std::map<std::string_view, uint64_t> decoders;  // images per decoder
  // CPU time of all calls, extrapolated from the timed ones.
  double cpu_s() const {
    return timed_calls == 0
               ? 0
               : seconds(timed_ns) * static_cast<double>(calls) / static_cast<double>(timed_calls);
  }
};

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "1 element", "2 elements".
std::string plural(double count, std::string_view noun) {
  return number("%.0f ", count) + std::string(noun) + (count == 1 ? "" : "s");
}

// The limit as text; `slowest` is the operator that takes most CPU time, or reading.
std::string limit_text(Limit limit, const Gauge& g, const std::string& slowest) {
  const std::string most = slowest.empty() ? "the engine" : slowest;
  switch (limit) {
    case Limit::consumer:
      return g.wait_share() < 0.05 ? "the consumer: it hardly ever waits for data"
                                   : "the consumer: it works " + number("%.0f", 100 * (1 - g.wait_share())) +
                                         " % of the time, and nothing else is fully used";
    case Limit::cpu:
      return std::string("CPU: the ") + (slowest == kReading ? "readers" : "workers") +
             " are busy, most of the time in " + most;
    case Limit::python:
      return "Python: one thread at a time holds the GIL, most of the time in " + most +
             (slowest == kReading ? "; the same work in a map(..., python=\"processes\") would use all cores"
                                  : "; python=\"processes\" would use all cores");
    case Limit::functions:
      return "functions that wait: " + number("%.0f", g.workers_occupied()) + " of " +
             std::to_string(g.settings.workers) + " workers are in them while cores are idle";
    case Limit::workers:
      return "the number of workers: " + std::to_string(g.settings.workers) +
             (g.settings.workers == 1 ? " is" : " are") + " busy while cores are idle";
    case Limit::readers:
      return "the number of reads in flight (io=): " + std::to_string(g.settings.io) +
             (g.settings.io == 1 ? " reader is" : " readers are") + " busy while cores are idle";
    case Limit::store_latency:
      return "storage latency: all " + std::to_string(g.settings.io) +
             " reads in flight wait for storage; more of them may help";
    case Limit::store_bandwidth:
      return "storage bandwidth: " + number("%.0f", static_cast<double>(g.bytes) / g.seconds * 1e-6) +
             " MB/s, and more reads in flight are not faster";
    case Limit::memory: return "the memory budget: work is held back for lack of memory";
    case Limit::cores:
      return "other programs use the cores: there was work for " +
             number("%.2f", g.busy + g.reading_cpu + g.lacked + g.reading_lacked) +
             " s, but a core for only " + number("%.2f", g.busy + g.reading_cpu) + " s";
    case Limit::caller:
      if (g.reads_wait() && g.reading >= g.occupied)
        return "the caller's thread: with workers=0 it reads one after the other, and waits for storage " +
               number("%.0f", 100 * g.store_waits() / (g.reading + g.occupied)) +
               " % of its time; threads have many reads in flight";
      return "the caller's thread: with workers=0 it does all the work, most of the time in " +
             (g.reading > g.occupied ? std::string(kReading) : most);
    case Limit::unknown: break;
  }
  return "neither CPU nor storage is fully used: more elements in flight (ready=) may help";
}

// The effect of a change in a sentence: its factor and the next limit.
std::string what_if_text(const WhatIf& what) {
  if (!std::isfinite(what.speedup)) return what.change + ": nothing else would limit the run";
  std::string out = what.change + number(": %.2gx", what.speedup);
  if (what.speedup >= 10) out = what.change + number(": %.0fx", what.speedup);
  return out + ", then limited by: " + std::string(limit_name(what.then));
}

double real(const Value& v, std::string_view key) {
  const Value* f = v.find(key);
  if (f && f->real()) return *f->real();
  return f && f->integer() ? static_cast<double>(*f->integer()) : 0;
}

// The peak memory of each use.
std::string most_memory_text(const Value& memory) {
  std::string out;
  for (size_t i = 0; i < kUses; ++i) {
    const std::string use(use_name(static_cast<Use>(i)));
    const double bytes = real(memory, "peak_" + use);
    if (bytes > 0) out += (out.empty() ? "  peak by use: " : ", ") + use + " " + byte_size_text(bytes);
  }
  return out.empty() ? "" : out + "\n";
}

std::string settings_text(const Value& r) {
  std::string out = "settings:";
  for (const auto& [name, value] : *r.find("settings")->object())
    out += " " + name + "=" + std::to_string(*value.integer());
  if (const Value* decisions = r.find("decisions"); decisions && !decisions->list()->empty())
    out += " (" + plural(static_cast<double>(decisions->list()->size()), "tuner decision") + ")";
  const Value& phases = *r.find("phases");
  const auto waiting = [&](const char* phase) { return real(*phases.find(phase), "queued"); };
  const double reading = waiting("io"), ready = real(phases, "done");
  return out + "; now " + plural(reading, "part") + (reading == 1 ? " waits" : " wait") + " for a reader, " +
         number("%.0f", waiting("cpu")) + " for a worker, " + plural(ready, "element") +
         (ready == 1 ? " is" : " are") + " ready\n";
}

}  // namespace

Value make_report(const RunTotals& totals, const Gauge& lately, const std::vector<const Counters*>& workers,
                  const std::vector<ReportedOp>& operators, const Pool::Ledger& ledger) {
  std::vector<Sum> sums(operators.size());
  uint64_t busy = 0, reading_cpu_ns = 0, core_wait_ns = 0, io_reads = 0, io_bytes = 0, io_ns = 0, skipped = 0,
           replaced = 0, opened_again = 0;
  for (const Counters* w : workers) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i].calls += w->ops[i].calls.get(), sums[i].timed_calls += w->ops[i].timed_calls.get();
      sums[i].timed_ns += w->ops[i].timed_ns.get(), sums[i].bytes += w->ops[i].bytes.get();
      w->ops[i].decoders.each([&](const char* name, uint64_t images) { sums[i].decoders[name] += images; });
    }
    opened_again += w->opened_again.get();
    busy += w->busy_ns.get(), reading_cpu_ns += w->reading_cpu_ns.get();
    core_wait_ns += w->core_wait_ns.get() + w->reading_core_wait_ns.get();
    io_reads += w->io_reads.get(), io_bytes += w->io_bytes.get(), io_ns += w->io_ns.get();
    skipped += w->skipped.get(), replaced += w->replaced.get();
  }
  Value::List ops;
  std::string slowest;
  double most = 0;
  if (reading_cpu_ns > 0) most = seconds(reading_cpu_ns), slowest = kReading;
  for (size_t i = 0; i < sums.size(); ++i) {
    Value op{Value::Object()};
    op.set("name", operators[i].name), op.set("calls", sums[i].calls), op.set("cpu_s", sums[i].cpu_s());
    op.set("bytes", sums[i].bytes);
    if (!sums[i].decoders.empty()) {
      Value decoders{Value::Object()};
      for (const auto& [name, images] : sums[i].decoders) decoders.set(name, images);
      op.set("decoders", std::move(decoders));
    }
    if (!operators[i].within.empty()) op.set("within", operators[i].within);
    if (sums[i].cpu_s() > most) most = sums[i].cpu_s(), slowest = operators[i].name;
    ops.push_back(std::move(op));
  }
  const double wall = seconds(totals.wall_ns);
  Value out{Value::Object()};
  out.set("elements", totals.elements), out.set("samples", totals.samples), out.set("wall_s", wall);
  out.set("samples_per_s", wall > 0 ? static_cast<double>(totals.samples) / wall : 0.0);
  out.set("consumer_wait_s", seconds(totals.waited_ns)), out.set("cpu_s", seconds(busy + reading_cpu_ns));
  out.set("core_wait_s", seconds(core_wait_ns));
  const Model model = Model::of(lately, totals.cores, totals.tried);
  Limit limit = limit_of(lately, model, totals.cores);
  if (limit == Limit::functions && !totals.may_wait) limit = Limit::unknown;  // too short a run to tell
  if (totals.alone && limit != Limit::consumer) limit = Limit::caller;
  const std::string again =
      opened_again == 0
          ? ""
          : "; " + std::to_string(opened_again) +
                " blocks were opened again for lack of memory: with fewer blocks= in shuffle, or a larger "
                "memory_budget=, each is opened once";
  out.set("limit", totals.wall_ns == 0    ? "nothing has run"
                   : totals.elements == 0 ? "unknown: the run has not delivered an element"
                                          : limit_text(limit, lately, slowest) + again);
  out.set("limited_by", limit_name(totals.elements == 0 ? Limit::unknown : limit));
  const double own = lately.seconds - lately.waited;
  if (own > 0 && lately.samples > 0)
    out.set("consumer_samples_per_s", static_cast<double>(lately.samples) / own);
  Value::List changes;
  const std::vector<WhatIf> all = totals.alone ? what_ifs_of_threads(lately, model)
                                               : what_ifs(model, totals.cores, totals.most, lately.settings);
  for (const WhatIf& what : all) {
    if (what.then == Limit::functions && !totals.may_wait) continue;
    Value one{Value::Object()};
    one.set("change", what.change);
    if (std::isfinite(what.speedup)) one.set("speedup", what.speedup);
    one.set("then", limit_name(what.then));
    one.set("text", what_if_text(what));
    changes.push_back(std::move(one));
  }
  out.set("what_if", std::move(changes));
  out.set("operators", std::move(ops));
  Value io{Value::Object()};
  if (opened_again > 0) io.set("opened_again", opened_again);
  if (totals.retried > 0) io.set("retried", totals.retried);
  io.set("reads", io_reads), io.set("bytes", io_bytes), io.set("seconds", seconds(io_ns));
  io.set("cpu_s", seconds(reading_cpu_ns));
  out.set("io", std::move(io));
  out.set("skipped", skipped), out.set("replaced", replaced), out.set("in_flight", totals.in_flight);
  Value settings{Value::Object()};
  const uint64_t threads = totals.alone ? 0 : totals.found.workers;
  for (const Knob knob : kKnobs)
    settings.set(knob_name(knob), knob == Knob::workers ? threads : uint64_t{totals.found.of(knob)});
  out.set("workers", threads), out.set("io_in_flight", uint64_t{totals.found.io}),
      out.set("ready", uint64_t{totals.found.ready}), out.set("settings", std::move(settings));
  const auto phase = [](size_t queued, size_t running) {
    Value one{Value::Object()};
    one.set("queued", uint64_t{queued}), one.set("running", uint64_t{running});
    return one;
  };
  Value phases{Value::Object()};
  phases.set("io", phase(totals.phases.io_queued, totals.phases.io_running));
  phases.set("cpu", phase(totals.phases.cpu_queued, totals.phases.cpu_running));
  phases.set("done", uint64_t{totals.phases.ready});
  out.set("phases", std::move(phases));
  Value memory{Value::Object()};
  memory.set("budget", uint64_t{ledger.budget}), memory.set("in_use", uint64_t{ledger.in_use});
  memory.set("peak", uint64_t{ledger.peak}), memory.set("kept_for_reuse", uint64_t{ledger.retained});
  memory.set("with_the_consumer", uint64_t{ledger.handed_over});
  for (size_t i = 0; i < kUses; ++i)
    memory.set(std::string("peak_") + std::string(use_name(static_cast<Use>(i))),
               uint64_t{ledger.peak_by_use[i]});
  memory.set("allocations", ledger.allocations), memory.set("reuses", ledger.reuses);
  out.set("memory", std::move(memory));
  return out;
}

void add_what_if(Value& report, const Value::List& more) {
  Value::List all = *report.find("what_if")->list();
  all.insert(all.end(), more.begin(), more.end());
  report.set("what_if", std::move(all));
}

std::string report_text(const Value& r) {
  char line[256];
  std::string out;
  const double wall = real(r, "wall_s"), samples = std::max(1.0, real(r, "samples"));
  const double sample_us = 1e6 * real(r, "cpu_s") / samples;
  std::snprintf(line, sizeof line, "%s in %.2f s: %.0f samples/s, %s delivered\n",
                plural(real(r, "samples"), "sample").c_str(), wall, real(r, "samples_per_s"),
                plural(real(r, "elements"), "element").c_str());
  out += line;
  std::snprintf(line, sizeof line,
                "consumer waited %.2f s (%.0f %%), the run used %.2f CPU s (%.*f us per sample)\n",
                real(r, "consumer_wait_s"), wall > 0 ? 100 * real(r, "consumer_wait_s") / wall : 0,
                real(r, "cpu_s"), sample_us < 10 ? 2 : 1, sample_us);
  out += line;
  out += "limit: " + r.find("limit")->text()[0] + "\n";
  for (const Value& what : *r.find("what_if")->list()) out += "  " + *what.find("text")->text() + "\n";
  // Meaningless if the consumer hardly does anything but wait.
  const bool has_work = real(r, "consumer_wait_s") < 0.9 * wall;
  if (const double most = real(r, "consumer_samples_per_s"); most > 0 && has_work)
    out += "a loader that takes no time would give " + number("%.0f samples/s\n", most);
  out += "  operator                     calls      CPU s us per call        bytes out\n";
  const auto row = [&](std::string_view name, double calls, const Value& of) {
    const std::string a_call = calls > 0 ? number("%.1f", 1e6 * real(of, "cpu_s") / calls) : "-";
    std::snprintf(line, sizeof line, "  %-24s %9.0f %10.3f %11s %16s\n", std::string(name).c_str(), calls,
                  real(of, "cpu_s"), a_call.c_str(), byte_size_text(real(of, "bytes")).c_str());
    out += line;
  };
  const Value& io = *r.find("io");
  if (real(io, "cpu_s") > 0) row(kReading, real(io, "reads"), io);
  for (const Value& op : *r.find("operators")->list()) {
    const Value* within = op.find("within");
    row(*op.find("name")->text() + (within ? " (in " + *within->text() + ")" : ""), real(op, "calls"), op);
    if (const Value* decoders = op.find("decoders"))
      for (const auto& [decoder, images] : *decoders->object()) {
        std::snprintf(line, sizeof line, "    %-22s %9lld\n", decoder.c_str(),
                      static_cast<long long>(*images.integer()));
        out += line;
      }
  }
  const Value& memory = *r.find("memory");
  std::snprintf(line, sizeof line, "read %s in %s (%.2f s); memory peak %s of %s\n",
                byte_size_text(real(io, "bytes")).c_str(), plural(real(io, "reads"), "read").c_str(),
                real(io, "seconds"), byte_size_text(real(memory, "peak")).c_str(),
                byte_size_text(real(memory, "budget")).c_str());
  out += line;
  if (const double retried = real(io, "retried"); retried > 0)
    out += "reads that failed at first: " + plural(retried, "retry") +
           ", waited for as the storage had trouble\n";
  out += most_memory_text(memory) + settings_text(r);
  if (const Value* caches = r.find("caches"))
    for (const Value& cache : *caches->list()) {
      const Value* trouble = cache.find("trouble");
      std::snprintf(line, sizeof line, "cache: %s, %s; %s, %.0f %s",
                    plural(real(cache, "elements"), "element").c_str(),
                    byte_size_text(real(cache, "bytes")).c_str(), plural(real(cache, "hits"), "hit").c_str(),
                    real(cache, "misses"), real(cache, "misses") == 1 ? "miss" : "misses");
      out += line + (trouble ? "; " + *trouble->text() : "") + "\n";
    }
  if (real(r, "skipped") > 0 || real(r, "replaced") > 0) {
    std::snprintf(line, sizeof line, "broken samples: %.0f skipped, %.0f replaced\n", real(r, "skipped"),
                  real(r, "replaced"));
    out += line;
  }
  return out;
}

}  // namespace headrace
