// What samples cost: a histogram, and the slowest of them. One of these belongs to one worker and one stage;
// a report adds them up.
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "headrace/run/names.h"
#include "headrace/run/tally.h"

namespace headrace {

class Counters;
class Value;

struct SlowSample {
  SampleRef sample;
  uint64_t ns = 0;
  uint32_t of = 1;  // samples, of which `ns` is the mean and `sample` the first
};

class SampleCosts {
 public:
  static constexpr size_t kSlowest = 10;
  // Four buckets an octave from 128 ns on; the first holds what is below, the last what is above 68 s.
  static constexpr size_t kBuckets = 4 * 29 + 2;
  static size_t bucket_of(uint64_t ns);
  static uint64_t begin_of(size_t bucket);  // ns

  // By its worker.
  void add(uint64_t ns, uint64_t samples = 1);
  void add_averaged(uint64_t ns, uint64_t samples);        // `ns` is their mean
  bool is_slow(uint64_t ns) const { return ns > least_; }  // then keep() it
  void keep(const SlowSample& slow);

  // By anybody, at any time.
  uint64_t count(size_t bucket) const { return buckets_[bucket].get(); }
  uint64_t total_ns() const { return total_ns_.get(); }
  uint64_t averaged() const { return averaged_.get(); }
  std::vector<SlowSample> slowest() const;

 private:
  std::array<Tally, kBuckets> buckets_;
  Tally total_ns_, averaged_;
  uint64_t least_ = 0;  // its worker's own: what a sample must cost more than
  mutable std::mutex mutex_;
  std::vector<SlowSample> slowest_;  // guarded by mutex_
};

// {histogram: [{from_us, to_us, count}], averaged, slowest: [{sample, us, of}]}: of the stage in which the
// samples cost most. `averaged`: samples of which only the mean of some neighbours is known.
Value sample_cost(const std::vector<const Counters*>& workers, const SampleNames& names);

}  // namespace headrace
