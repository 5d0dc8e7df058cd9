// Costs of samples: a histogram, and the slowest samples. Each object belongs to one worker and one stage; a
// report adds them up.
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
  // Four buckets per octave from 128 ns on; the first is for shorter times, the last for more than 68 s.
  static constexpr size_t kBuckets = 4 * 29 + 2;
  static size_t bucket_of(uint64_t ns);
  static uint64_t begin_of(size_t bucket);  // ns

  // Called by its worker.
  void add(uint64_t ns, uint64_t samples = 1);
  void are_averaged(uint64_t samples) { averaged_.add(samples); }  // of the samples added
  // Counting every sample that takes microseconds would cost too much. So some are left out, and the next one
  // counted stands for them. Samples that may be among the slowest (`ns` is their sum) are neither left out
  // nor stand for others.
  bool may_be_slow(uint64_t ns, uint64_t samples) const {
    return least_ * samples < ns && unnamed_ < kSlowest;
  }
  void leave_out(uint64_t samples) { left_out_.add(samples); }
  uint64_t take_left_out(uint64_t ns);                     // the number to add with a sample that took `ns`
  bool is_slow(uint64_t ns) const { return ns > least_; }  // then call keep() or has_no_name()
  void keep(const SlowSample& slow);
  void has_no_name() { ++unnamed_; }

  // For any thread, at any time.
  std::array<uint64_t, kBuckets> counts() const;
  uint64_t total_ns() const { return total_ns_.get(); }
  uint64_t averaged() const { return averaged_.get() + left_out_.get(); }
  std::vector<SlowSample> slowest() const;

 private:
  // Used only by its worker.
  uint64_t least_ = 0;    // samples must cost more than this to be among the slowest
  uint64_t unnamed_ = 0;  // slow samples without a name: after enough of them the search ends

  SingleWriterCounter left_out_, like_ns_;  // samples left out, and the cost of the last counted one
  SingleWriterCounter total_ns_, averaged_;
  std::array<SingleWriterCounter, kBuckets> buckets_;
  mutable std::mutex mutex_;
  std::vector<SlowSample> slowest_;  // guarded by mutex_
};

// {histogram: [{from_us, to_us, count}], averaged, slowest: [{sample, us, of}]}: for the stage in which
// samples cost most. `averaged`: samples whose cost is an average over neighbors.
Value sample_cost(const std::vector<const Counters*>& workers, const SampleNames& names);

}  // namespace headrace
