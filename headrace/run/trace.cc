#include "headrace/run/trace.h"

#include <cstdio>
#include <set>

namespace headrace {
namespace {
constexpr size_t kMaxSlices = 2'000'000;  // about 100 MB of JSON: what the viewers open
}

Trace::Trace(std::string path) : path_(std::move(path)) {}

void Trace::add(bool, size_t number, uint64_t begin_ns, uint64_t end_ns, const Work& work) {
  std::lock_guard lock(mutex_);
  if (slices_.size() < kMaxSlices)
    slices_.push_back(
        {begin_ns, end_ns, work.ticket->serial, number, work.part, work.io, work.part == Work::kFinish});
}

Status Trace::write() const {
  std::lock_guard lock(mutex_);
  FILE* file = std::fopen(path_.c_str(), "we");
  if (!file) return {Code::io, "trace: cannot write " + path_};
  std::fputs("{\"traceEvents\":[\n", file);
  // Workers are tracks 1, 2, 3 …, readers those from 1001 on.
  const auto track = [](const Slice& s) { return s.number + (s.io ? 1001 : 1); };
  std::set<size_t> named;
  for (const Slice& s : slices_)
    if (named.insert(track(s)).second)
      std::fprintf(
          file,
          "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%zu,\"args\":{\"name\":\"%s %zu\"}},\n",
          track(s), s.io ? "io" : "worker", s.number);
  const uint64_t origin = slices_.empty() ? 0 : slices_[0].begin;
  for (const Slice& s : slices_) {
    std::fprintf(file,
                 "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":1,\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,\"args\":{"
                 "\"ticket\":%llu,\"part\":%lld}},\n",
                 s.io       ? "read"
                 : s.finish ? "finish"
                            : "samples",
                 track(s), static_cast<double>(static_cast<int64_t>(s.begin - origin)) * 1e-3,
                 static_cast<double>(s.end - s.begin) * 1e-3, static_cast<unsigned long long>(s.ticket),
                 s.finish ? -1LL : static_cast<long long>(s.part));
  }
  std::fprintf(file,
               "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"headrace\"}}\n]}\n");
  const bool ok = std::fclose(file) == 0;
  return ok ? Status() : Status(Code::io, "trace: cannot write " + path_);
}

}  // namespace headrace
