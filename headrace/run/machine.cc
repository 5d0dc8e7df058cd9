#include "headrace/run/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

namespace headrace {
namespace {

// The first two words of a small file; -1 where there is no number ("max").
std::pair<double, double> two_numbers(const char* path) {
  std::ifstream file(path);
  std::string a, b;
  file >> a >> b;
  const auto number = [](const std::string& s) {
    char* end = nullptr;
    const double v = std::strtod(s.c_str(), &end);
    return s.empty() || end == s.c_str() ? -1 : v;
  };
  return {number(a), number(b)};
}

}  // namespace

size_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  double cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const auto [quota2, period2] = two_numbers("/sys/fs/cgroup/cpu.max");
  if (quota2 > 0 && period2 > 0) cores = std::min(cores, std::ceil(quota2 / period2));
  const double quota1 = two_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").first;
  const double period1 = two_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us").first;
  if (quota1 > 0 && period1 > 0) cores = std::min(cores, std::ceil(quota1 / period1));
  return std::max<size_t>(1, static_cast<size_t>(cores));
}

size_t usable_memory_bytes() {
  double bytes = 1e18;
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  double value = 0;
  while (info >> name >> value >> unit)
    if (name == "MemAvailable:") bytes = value * 1024;
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (const double limit = two_numbers(path).first; limit > 0) bytes = std::min(bytes, limit);
  if (bytes > 1e17) bytes = 4e9;  // nothing known
  return std::max<size_t>(size_t{64} << 20, static_cast<size_t>(bytes));
}

CoreWait::CoreWait() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) { since_last(); }

CoreWait::~CoreWait() {
  if (file_ >= 0) close(file_);
}

uint64_t CoreWait::since_last() {
  char text[128];  // "ns on a core, ns ready without one, times on a core"
  const ssize_t size = file_ < 0 ? -1 : pread(file_, text, sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = 0;
  char* second = nullptr;
  std::strtoull(text, &second, 10);
  const uint64_t before = last_;
  last_ = std::strtoull(second, nullptr, 10);
  return last_ - before;
}

}  // namespace headrace
