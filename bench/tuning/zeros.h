// Shared by the benchmarks of the tuner: files of any size without content, with a simulated latency and
// bandwidth, and printing of decisions.
#pragma once
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "headrace/core/value.h"
#include "headrace/io/store.h"

namespace headrace::tuning {

// How long a read takes: each waits for its latency; the bytes share one line, one read after the other.
struct Pace {
  double latency_s = 0, bytes_per_s = 0;  // 0: no latency, unlimited bandwidth
};

class Zeros final : public Store {
 public:
  explicit Zeros(uint64_t size, Pace pace = {}) : line_{pace}, size_(size) {}
  Result<std::unique_ptr<OpenFile>> open(const std::string&) override {
    return std::unique_ptr<OpenFile>(std::make_unique<File>(size_, line_));
  }
  Result<FileInfo> info(const std::string&) override { return FileInfo{size_, 0, 0, false}; }
  Result<Listing> list(const std::string&) override { return invalid("no folder"); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Line {
    Pace pace;
    std::mutex mutex = {};
    Clock::time_point free = {};  // when it has finished its queued reads

    void wait_for(size_t bytes) {
      if (pace.latency_s == 0) return;
      const auto duration = [](double s) {
        return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
      };
      Clock::time_point there = Clock::now() + duration(pace.latency_s);
      if (pace.bytes_per_s > 0) {
        const std::scoped_lock lock(mutex);
        free = std::max(free, Clock::now()) + duration(static_cast<double>(bytes) / pace.bytes_per_s);
        there = std::max(there, free);
      }
      std::this_thread::sleep_until(there);
    }
  };

  class File final : public OpenFile {
   public:
    File(uint64_t size, Line& line) : size_(size), line_(line) {}
    Result<uint64_t> size() override { return size_; }
    // The bytes are left uninitialised: writing them would cost time that a store does not cost.
    Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
      const size_t count = offset >= size_ ? 0 : std::min<uint64_t>(out.size(), size_ - offset);
      line_.wait_for(count);
      return count;
    }

   private:
    uint64_t size_;
    Line& line_;
  };

  Line line_;
  uint64_t size_;
};

template <class T> T must(Result<T> result, const char* what) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s: %s\n", what, std::string(result.status().text()).c_str());
  std::exit(1);
}

inline double real(const Value& v, const char* key) {
  const Value* f = v.find(key);
  return f && f->real() ? *f->real() : f && f->integer() ? static_cast<double>(*f->integer()) : 0;
}

inline void print_decisions(const Value& report) {
  for (const Value& d : *report.find("decisions")->list())
    fmt::print("    {:5.2f} s  {:7} {:>3} -> {:>3}  predicted {:8.0f}  obtained {:8.0f}{}  {}\n",
               real(d, "at_s"), *d.find("knob")->text(), real(d, "from"), real(d, "to"),
               real(d, "predicted_samples_per_s"), real(d, "obtained_samples_per_s"),
               *d.find("undone")->boolean() ? "  undone" : "", *d.find("why")->text());
}

}  // namespace headrace::tuning
