#include "headrace/run/measure/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace headrace {
namespace {

// The first two words of a small file as numbers; -1 for others ("max").
std::pair<double, double> two_numbers(const std::string& path) {
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

GroupLimits group_limits(const std::string& membership, const std::string& root) {
  GroupLimits out;
  const auto lower = [](double& bound, double value) {
    if (value > 0 && (bound < 0 || value < bound)) bound = value;
  };
  // The group and all groups above it; in a container, the path of the group may not exist.
  const auto each_level = [&](const std::string& tree, std::string group, auto look) {
    while (true) {
      look(tree + group);
      const size_t last = group.find_last_of('/');
      if (group.empty() || last == std::string::npos) return;
      group.resize(last);
    }
  };
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/slurm/job_7", or "0::/user.slice"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (names == ",,")
      each_level(root, group, [&](const std::string& at) {
        const auto [quota, period] = two_numbers(at + "/cpu.max");
        if (period > 0) lower(out.cores, quota / period);
        lower(out.memory_bytes, two_numbers(at + "/memory.max").first);
      });
    if (names.find(",cpu,") != std::string::npos)
      each_level(root + "/cpu", group, [&](const std::string& at) {
        const double period = two_numbers(at + "/cpu.cfs_period_us").first;
        if (period > 0) lower(out.cores, two_numbers(at + "/cpu.cfs_quota_us").first / period);
      });
    if (names.find(",memory,") != std::string::npos)
      each_level(root + "/memory", group, [&](const std::string& at) {
        lower(out.memory_bytes, two_numbers(at + "/memory.limit_in_bytes").first);
      });
  }
  return out;
}

namespace {

GroupLimits own_group_limits() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream text;
  text << file.rdbuf();
  return group_limits(text.str(), "/sys/fs/cgroup");
}

}  // namespace

double usable_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const double cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const double quota = own_group_limits().cores;
  return quota > 0 ? std::min(cores, quota) : cores;
}

size_t usable_cores() { return std::max<size_t>(1, static_cast<size_t>(std::ceil(usable_cpu()))); }

uint64_t process_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

namespace {

// The affinity of the main thread, whichever thread calls. Empty where unknown.
cpu_set_t machine_set() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

}  // namespace

size_t machine_cores() {
  const cpu_set_t set = machine_set();
  return static_cast<size_t>(CPU_COUNT(&set));
}

uint64_t machine_cpu_ns() {
  const cpu_set_t set = machine_set();
  std::ifstream file("/proc/stat");
  uint64_t ticks = 0;
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));  // "1 user nice system idle iowait irq softirq steal ..."
    size_t cpu = 0;
    if (line[3] == ' ' || !(words >> cpu) || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &set)) continue;
    uint64_t time = 0;
    for (int kind = 0; kind < 8 && words >> time; ++kind)
      if (kind != 3 && kind != 4) ticks += time;
  }
  return ticks * (1'000'000'000 / static_cast<uint64_t>(std::max(1L, sysconf(_SC_CLK_TCK))));
}

size_t usable_memory_bytes() {
  double bytes = 1e18;
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  double value = 0;
  while (info >> name >> value >> unit)
    if (name == "MemAvailable:") bytes = value * 1024;
  if (const double limit = own_group_limits().memory_bytes; limit > 0) bytes = std::min(bytes, limit);
  if (bytes > 1e17) bytes = 4e9;  // unknown
  return std::max<size_t>(size_t{64} << 20, static_cast<size_t>(bytes));
}

CoreWait::CoreWait() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) { since_last(); }

CoreWait::~CoreWait() {
  if (file_ >= 0) close(file_);
}

uint64_t CoreWait::since_last() {
  char text[128];  // ns on a core, ns runnable without a core, number of time slices
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
