#include "headrace/run/report/timeline.h"

#include <algorithm>

#include "headrace/run/engine/trace.h"

namespace headrace {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
// The number of elements shown, and bounds on the length of the window.
constexpr size_t kElements = 8;
constexpr uint64_t kShortestSpan = 20 * kMillisecond, kLongestSpan = 2'000 * kMillisecond;
constexpr size_t kMostTracks = 40, kMostSlices = 6'000;

size_t num_slices(const Trace::Copy& all) {
  size_t out = all.consumer.size();
  for (const auto* tracks : {&all.workers, &all.io})
    for (const std::vector<Slice>& track : *tracks) out += track.size();
  return out;
}

// When the last work began: after that the run has nothing left to do.
uint64_t last_work_ns(const Trace::Copy& all) {
  uint64_t out = 0;
  for (const auto* tracks : {&all.workers, &all.io})
    for (const std::vector<Slice>& track : *tracks)
      if (!track.empty()) out = std::max(out, track.back().begin_ns);
  return out;
}

// A window long enough for kElements elements before `to_ns`.
uint64_t length_of(const std::vector<Slice>& consumer, uint64_t to_ns) {
  size_t elements = 0;
  uint64_t from_ns = to_ns;
  for (auto slice = consumer.rbegin(); slice != consumer.rend() && elements < kElements; ++slice) {
    if (slice->begin_ns >= to_ns || slice->kind != Slice::Kind::step) continue;
    elements += slice->times, from_ns = slice->begin_ns;
  }
  return std::clamp(to_ns - from_ns, kShortestSpan, kLongestSpan);
}

std::string_view kind_of(const Slice& slice) {
  switch (slice.kind) {
    case Slice::Kind::samples: return slice.calls ? "python" : "samples";
    case Slice::Kind::finish: return slice.calls ? "python" : "finish";
    case Slice::Kind::read: return "read";
    case Slice::Kind::wait: return "wait";
    default: return "step";
  }
}

double rounded_us(uint64_t ns) { return static_cast<double>(ns / 100) / 10; }

}  // namespace

Timeline::Timeline(const Trace& trace, std::shared_ptr<const SampleNames> names) : names_(std::move(names)) {
  const uint64_t written_ns = trace.last_ns();
  Trace::Copy all = trace.copy(written_ns > kLongestSpan ? written_ns - kLongestSpan : 0);
  to_ns_ = last_work_ns(all);
  if (to_ns_ == 0) return;
  uint64_t length = length_of(all.consumer, to_ns_);
  while (num_slices(all) > kMostSlices && length > kMillisecond) {
    all = trace.copy(to_ns_ > length ? to_ns_ - length : 0);
    if (num_slices(all) > kMostSlices) length /= 2;
  }
  from_ns_ = to_ns_ > length ? to_ns_ - length : 0;
  const auto add = [&](const std::string& name, std::vector<Slice>& slices) {
    std::erase_if(slices, [&](const Slice& s) { return s.begin_ns >= to_ns_ || s.end_ns() <= from_ns_; });
    const bool is_consumer = tracks_.empty();  // shown even when it did nothing
    if ((is_consumer || !slices.empty()) && tracks_.size() < kMostTracks)
      tracks_.push_back({name, std::move(slices)});
  };
  add("consumer", all.consumer);
  for (size_t i = 0; i < all.workers.size(); ++i) add("worker " + std::to_string(i), all.workers[i]);
  for (size_t i = 0; i < all.io.size(); ++i) add("io " + std::to_string(i), all.io[i]);
}

Value Timeline::value() const {
  if (empty()) return {};
  Value::List tracks;
  for (const Lane& track : tracks_) {
    Value::List slices;
    for (const Slice& slice : track.slices) {
      const uint64_t begin = std::max(slice.begin_ns, from_ns_), end = std::min(slice.end_ns(), to_ns_);
      slices.push_back(Value::List{rounded_us(begin - from_ns_), rounded_us(end - begin), kind_of(slice),
                                   slice.times,
                                   slice.has_name ? Value(names_->of({slice.read, slice.index})) : Value()});
    }
    tracks.push_back(Value::Object{{"name", track.name}, {"slices", std::move(slices)}});
  }
  return Value::Object{{"from_s", static_cast<double>(from_ns_) * 1e-9},
                       {"to_s", static_cast<double>(to_ns_) * 1e-9},
                       {"tracks", std::move(tracks)}};
}

}  // namespace headrace
