#include "headrace/run/measure/sample_costs.h"

#include <algorithm>
#include <bit>

#include "headrace/core/value.h"
#include "headrace/run/measure/counters.h"

namespace headrace {
namespace {

constexpr unsigned kFirstOctave = 7;  // 128 ns

bool is_slower(const SlowSample& a, const SlowSample& b) {
  if (a.ns != b.ns) return a.ns > b.ns;
  return a.sample.read != b.sample.read ? a.sample.read < b.sample.read : a.sample.index < b.sample.index;
}

// Keeps the slowest samples, each once, slowest first.
void keep_slowest(std::vector<SlowSample>& all) {
  std::ranges::sort(all, is_slower);
  std::vector<SlowSample> out;
  for (const SlowSample& one : all) {
    const bool is_there =
        std::ranges::any_of(out, [&](const SlowSample& other) { return other.sample == one.sample; });
    if (!is_there && out.size() < SampleCosts::kSlowest) out.push_back(one);
  }
  all = std::move(out);
}

double microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

size_t SampleCosts::bucket_of(uint64_t ns) {
  const auto octave = static_cast<unsigned>(std::bit_width(ns | 1)) - 1;
  if (octave < kFirstOctave) return 0;
  return std::min<size_t>(kBuckets - 1, 1 + 4 * (octave - kFirstOctave) + (ns >> (octave - 2) & 3));
}

uint64_t SampleCosts::begin_of(size_t bucket) {
  if (bucket == 0) return 0;
  const size_t octave = kFirstOctave + (bucket - 1) / 4;
  return uint64_t{4 + (bucket - 1) % 4} << (octave - 2);
}

void SampleCosts::add(uint64_t ns, uint64_t samples) {
  buckets_[bucket_of(ns)].add(samples);
  total_ns_.add(ns * samples);
}

uint64_t SampleCosts::take_left_out(uint64_t ns) {
  const uint64_t others = left_out_.get();
  left_out_.set(0), like_ns_.set(ns);
  averaged_.add(others);
  return others;
}

std::array<uint64_t, SampleCosts::kBuckets> SampleCosts::counts() const {
  std::array<uint64_t, kBuckets> out;
  std::ranges::transform(buckets_, out.begin(),
                         [](const SingleWriterCounter& bucket) { return bucket.get(); });
  out[bucket_of(like_ns_.get())] += left_out_.get();
  return out;
}

void SampleCosts::keep(const SlowSample& slow) {
  std::lock_guard lock(mutex_);
  slowest_.push_back(slow);
  keep_slowest(slowest_);
  if (slowest_.size() == kSlowest) least_ = slowest_.back().ns;
}

std::vector<SlowSample> SampleCosts::slowest() const {
  std::lock_guard lock(mutex_);
  return slowest_;
}

Value sample_cost(const std::vector<const Counters*>& workers, const SampleNames& names) {
  size_t stages = 0, stage = 0;
  for (const Counters* worker : workers) stages = std::max(stages, worker->costs.size());
  uint64_t most = 0;
  for (size_t s = 0; s < stages; ++s) {
    uint64_t ns = 0;
    for (const Counters* worker : workers) ns += worker->costs[s].total_ns();
    if (ns > most) most = ns, stage = s;
  }
  std::array<uint64_t, SampleCosts::kBuckets> counts{};
  std::vector<SlowSample> slowest;
  uint64_t averaged = 0;
  for (const Counters* worker : workers) {
    if (worker->costs.empty()) continue;
    const SampleCosts& costs = worker->costs[stage];
    const std::array<uint64_t, SampleCosts::kBuckets> its = costs.counts();
    for (size_t b = 0; b < counts.size(); ++b) counts[b] += its[b];
    const std::vector<SlowSample> own = costs.slowest();
    slowest.insert(slowest.end(), own.begin(), own.end());
    averaged += costs.averaged();
  }
  keep_slowest(slowest);
  Value::List histogram, named;
  const auto counted = [](uint64_t n) { return n > 0; };
  const auto first = std::ranges::find_if(counts, counted) - counts.begin();
  const auto end = counts.rend() - std::ranges::find_if(counts.rbegin(), counts.rend(), counted);
  for (auto b = first; b < end; ++b) {
    const auto bucket = static_cast<size_t>(b);
    histogram.push_back(Value::Object{{"from_us", microseconds(SampleCosts::begin_of(bucket))},
                                      {"to_us", microseconds(SampleCosts::begin_of(bucket + 1))},
                                      {"count", counts[bucket]}});
  }
  for (const SlowSample& slow : slowest)
    named.push_back(Value::Object{
        {"sample", names.of(slow.sample)}, {"us", microseconds(slow.ns)}, {"of", uint64_t{slow.of}}});
  return Value::Object{
      {"histogram", std::move(histogram)}, {"averaged", averaged}, {"slowest", std::move(named)}};
}

}  // namespace headrace
