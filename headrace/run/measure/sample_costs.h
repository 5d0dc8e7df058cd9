// What samples cost: a histogram, and the slowest of them. One of these belongs to one worker and one stage;
// a report adds them up.
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "headrace/run/measure/counter.h"
#include "headrace/run/measure/sample_names.h"

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
  void are_averaged(uint64_t samples) { averaged_.add(samples); }  // those that were added
  // To count each of those that take microseconds would cost more than it tells. So some are left out, and
  // the next that is taken stands for them. Not those that may be among the slowest: neither is left out what
  // took `ns` together, nor does it stand for others.
  bool may_be_slow(uint64_t ns, uint64_t samples) const {
    return least_ * samples < ns && unnamed_ < kSlowest;
  }
  void leave_out(uint64_t samples) { left_out_.add(samples); }
  uint64_t take_left_out(uint64_t ns);                     // to be added with it, which is like `ns`
  bool is_slow(uint64_t ns) const { return ns > least_; }  // then keep() it, or say that it has no name
  void keep(const SlowSample& slow);
  void has_no_name() { ++unnamed_; }

  // By anybody, at any time.
  std::array<uint64_t, kBuckets> counts() const;
  uint64_t total_ns() const { return total_ns_.get(); }
  uint64_t averaged() const { return averaged_.get() + left_out_.get(); }
  std::vector<SlowSample> slowest() const;

 private:
  // Its worker's own.
  uint64_t least_ = 0;    // what a sample must cost more than to be among the slowest
  uint64_t unnamed_ = 0;  // of those, that have no name: their like are not looked for

  SingleWriterCounter left_out_, like_ns_;  // since others were taken, which were like this
  SingleWriterCounter total_ns_, averaged_;
  std::array<SingleWriterCounter, kBuckets> buckets_;
  mutable std::mutex mutex_;
  std::vector<SlowSample> slowest_;  // guarded by mutex_
};

// {histogram: [{from_us, to_us, count}], averaged, slowest: [{sample, us, of}]}: of the stage in which the
// samples cost most. `averaged`: samples of which only is known what some neighbours cost.
Value sample_cost(const std::vector<const Counters*>& workers, const SampleNames& names);

}  // namespace headrace
