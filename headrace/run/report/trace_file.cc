// A trace as JSON: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, the
// "Trace Event Format" of Chrome, which Perfetto reads.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <map>
#include <span>
#include <tuple>

#include "headrace/core/value.h"
#include "headrace/io/new_file.h"
#include "headrace/run/engine/trace.h"

namespace headrace {
namespace {

// With paths in more slices than this the file would be too large for viewers; then numbers replace names.
constexpr size_t kMostNames = 300'000;
constexpr int kConsumer = 1, kFirstWorker = 100, kFirstIo = 100'000;  // numbers of tracks

std::string_view name_of(const Slice& slice) {
  switch (slice.kind) {
    case Slice::Kind::samples: return slice.calls ? "samples (Python)" : "samples";
    case Slice::Kind::finish: return slice.calls ? "finish (Python)" : "finish";
    case Slice::Kind::read: return "read";
    case Slice::Kind::wait: return "wait";
    case Slice::Kind::step: return "step";
    case Slice::Kind::state: break;
  }
  return "state";
}

struct Finished {
  int track;
  uint64_t end_ns;
};
using TicketKey = std::pair<uint8_t, uint64_t>;

class Writer {
 public:
  Writer(NewFile& file, const SampleNames& names, bool with_names)
      : file_(file), names_(names), with_names_(with_names) {
    text_.append(std::string_view("{\"traceEvents\":[\n"));
  }

  void track(int number, const std::string& name, int place) {
    event(R"({{"ph":"M","name":"thread_name","pid":1,"tid":{},"args":{{"name":"{}"}}}})", number, name);
    event(R"({{"ph":"M","name":"thread_sort_index","pid":1,"tid":{},"args":{{"sort_index":{}}}}})", number,
          place);
  }

  void slices(int track, const std::vector<Slice>& all) {
    for (const Slice& slice : all) {
      put(FMT_COMPILE(R"({{"ph":"X","name":"{}","pid":1,"tid":{},"ts":{}.{:03},"dur":{}.{:03},"args":{{)"),
          name_of(slice), track, slice.begin_ns / 1000, slice.begin_ns % 1000, slice.wall_ns / 1000,
          slice.wall_ns % 1000);
      args(slice);
      text_.append(std::string_view("}},\n"));
      flush_if_much();
      if (slice.ticket == Slice::kNone || slice.times != 1) continue;
      const TicketKey ticket{slice.stage, slice.ticket};
      if (slice.kind == Slice::Kind::step) {
        if (const auto from = finished_.find(ticket); from != finished_.end())
          arrow(from->second, track, slice.begin_ns);
      } else if (slice.kind != Slice::Kind::wait) {
        const auto [one, is_new] = finished_.try_emplace(ticket, Finished{track, slice.end_ns()});
        if (!is_new && one->second.end_ns < slice.end_ns()) one->second = {track, slice.end_ns()};
      }
    }
  }

  void counter(std::string_view name, std::string_view unit, uint64_t at_ns, double value) {
    event(R"({{"ph":"C","name":"{}","pid":1,"ts":{},"args":{{"{}":{}}}}})", name, us(at_ns), unit, value);
  }
  void instant(uint64_t at_ns, const std::string& text) {
    event(R"({{"ph":"i","s":"g","name":{},"cat":"tuner","pid":1,"tid":{},"ts":{}}})", Value(text).dump(),
          kConsumer, us(at_ns));
  }
  Status finish(uint64_t dropped) {
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph":"M","name":"process_name","pid":1,"args":{{"name":"headrace"}}}}],)"
                   "\n"
                   R"("displayTimeUnit":"ms","metadata":{{"slices_dropped":{}}}}})"
                   "\n",
                   dropped);
    flush();
    return failure_;
  }

 private:
  template <class... Args> void event(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_.append(std::string_view(",\n"));
    flush_if_much();
  }
  // The same for frequent events, with a format compiled at build time.
  template <class Format, class... Args> void put(const Format& format, const Args&... args) {
    fmt::format_to(std::back_inserter(text_), format, args...);
  }
  void flush_if_much() {
    if (text_.size() > size_t{1} << 20) flush();
  }
  void flush() {
    const auto bytes = std::as_bytes(std::span(text_.data(), text_.size()));
    if (failure_.ok()) failure_ = file_.write(written_, bytes);
    written_ += bytes.size();
    text_.clear();
  }
  static std::string us(uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  void args(const Slice& slice) {
    const bool is_work = slice.kind != Slice::Kind::wait && slice.kind != Slice::Kind::step;
    put(FMT_COMPILE(R"("times":{})"), slice.times);
    if (slice.ticket != Slice::kNone) put(FMT_COMPILE(R"(,"batch":{})"), slice.ticket);
    if (!is_work) return;
    put(FMT_COMPILE(R"(,"stage":{},"cpu_us":{}.{:03})"), slice.stage, slice.cpu_ns / 1000,
        slice.cpu_ns % 1000);
    if (slice.kind != Slice::Kind::finish) put(FMT_COMPILE(R"(,"rows":{})"), slice.rows);
    if (slice.has_name && with_names_)
      put(FMT_COMPILE(R"(,"sample":{})"), Value(names_.of({slice.read, slice.index})).dump());
    else if (slice.has_name)
      put(FMT_COMPILE(R"(,"index":{},"source":{})"), slice.index, slice.read);
    if (slice.kind == Slice::Kind::read) put(FMT_COMPILE(R"(,"bytes":{})"), slice.bytes);
    if (slice.calls)
      put(FMT_COMPILE(R"(,"python_wait_us":{}.{:03})"), slice.waited_ns / 1000, slice.waited_ns % 1000);
  }

  void arrow(const Finished& from, int track, uint64_t to_ns) {
    const uint64_t id = next_arrow_++, last_ns = from.end_ns > 0 ? from.end_ns - 1 : 0;
    event(R"({{"ph":"s","name":"batch","cat":"batch","pid":1,"tid":{},"ts":{},"id":{}}})", from.track,
          us(last_ns), id);
    event(R"({{"ph":"f","bp":"e","name":"batch","cat":"batch","pid":1,"tid":{},"ts":{},"id":{}}})", track,
          us(to_ns), id);
  }

  NewFile& file_;
  const SampleNames& names_;
  const bool with_names_;
  fmt::memory_buffer text_;  // follows the first written_ bytes
  uint64_t written_ = 0;
  Status failure_;
  std::map<TicketKey, Finished> finished_;  // the last piece of work on each ticket
  uint64_t next_arrow_ = 1;
};

}  // namespace

Status write_trace(const Trace& trace, const SampleNames& names, const std::string& path) {
  const Trace::Copy all = trace.copy();
  size_t slices = all.consumer.size();
  for (const auto* tracks : {&all.workers, &all.io})
    for (const std::vector<Slice>& track : *tracks) slices += track.size();
  auto file = NewFile::make(path);  // atomic: whole or not at all, whenever the process ends
  if (!file.ok()) return Status(file.status()).in_op("trace");
  Writer out(**file, names, slices <= kMostNames);
  const auto add = [&](const std::vector<std::vector<Slice>>& tracks, const char* name, int first) {
    for (size_t i = 0; i < tracks.size(); ++i) {
      if (tracks[i].empty()) continue;
      const int number = first + static_cast<int>(i);
      out.track(number, fmt::format("{} {}", name, i), number);
      out.slices(number, tracks[i]);
    }
  };
  add(all.workers, "worker", kFirstWorker);
  add(all.io, "io", kFirstIo);
  out.track(kConsumer, "consumer", kConsumer);
  out.slices(kConsumer, all.consumer);  // last: arrows lead from where a batch was made to where it was taken
  for (const Slice& state : all.states) {
    out.counter("ready", "elements", state.begin_ns, state.rows);
    out.counter("memory in use", "bytes", state.begin_ns, static_cast<double>(state.bytes));
  }
  for (const Trace::Setting& setting : all.settings) {
    for (const Knob knob : kKnobs)
      out.counter(fmt::format("setting: {}", knob_name(knob)), "value", setting.at_ns,
                  static_cast<double>(setting.settings.of(knob)));
  }
  for (const Trace::Event& decision : all.decisions) out.instant(decision.at_ns, decision.text);
  HEADRACE_TRY(out.finish(all.dropped).in_op("trace"));
  return (*file)->commit(NewFile::Lasts::as_the_system_likes).in_op("trace");
}

}  // namespace headrace
