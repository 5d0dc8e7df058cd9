#include "headrace/run/trace.h"

#include <cstdio>

namespace headrace {
namespace {
constexpr size_t kMaxSlices = 2'000'000;  // about 100 MB of JSON: what the viewers open
}

Trace::Trace(std::string path, size_t cpu_workers, size_t io_workers)
    : path_(std::move(path)), cpu_workers_(cpu_workers), io_workers_(io_workers) {}

void Trace::add(size_t track, uint64_t begin_ns, uint64_t end_ns, const Work& work) {
  std::lock_guard lock(mutex_);
  if (slices_.size() < kMaxSlices)
    slices_.push_back(
        {begin_ns, end_ns, work.ticket->serial, track, work.part, work.io, work.part == Work::kFinish});
}

Status Trace::write() const {
  std::lock_guard lock(mutex_);
  FILE* file = std::fopen(path_.c_str(), "we");
  if (!file) return {Code::io, "trace: cannot write " + path_};
  std::fputs("{\"traceEvents\":[\n", file);
  for (size_t t = 0; t < cpu_workers_ + io_workers_; ++t)
    std::fprintf(
        file,
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%zu,\"args\":{\"name\":\"%s %zu\"}},\n",
        t + 1, t < cpu_workers_ ? "worker" : "io", t < cpu_workers_ ? t : t - cpu_workers_);
  const uint64_t origin = slices_.empty() ? 0 : slices_[0].begin;
  for (const Slice& s : slices_) {
    std::fprintf(file,
                 "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":1,\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,\"args\":{"
                 "\"ticket\":%llu,\"part\":%lld}},\n",
                 s.io       ? "read"
                 : s.finish ? "finish"
                            : "samples",
                 s.track + 1, static_cast<double>(static_cast<int64_t>(s.begin - origin)) * 1e-3,
                 static_cast<double>(s.end - s.begin) * 1e-3, static_cast<unsigned long long>(s.ticket),
                 s.finish ? -1LL : static_cast<long long>(s.part));
  }
  std::fprintf(file,
               "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"headrace\"}}\n]}\n");
  const bool ok = std::fclose(file) == 0;
  return ok ? Status() : Status(Code::io, "trace: cannot write " + path_);
}

}  // namespace headrace
