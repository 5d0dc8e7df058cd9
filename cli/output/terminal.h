// Terminal output of the subcommands: a progress line, sizes and counts as text, bars.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace headrace::cli {

// A progress line on stderr that is overwritten at most ten times per second, and erased by the destructor.
// Prints nothing if stderr is not a terminal. For one thread.
class Progress {
 public:
  // `doing`: such as "decoding"; `total`: 0 if not known.
  Progress(std::string doing, uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(uint64_t done, std::string_view more = "");

 private:
  using Clock = std::chrono::steady_clock;
  std::string doing_;
  uint64_t total_;
  bool visible_;
  bool shown_ = false;
  Clock::time_point last_{};
};

double seconds_since(std::chrono::steady_clock::time_point begin);

std::string size_text(double bytes);                        // "110.3 kB"
std::string count_text(uint64_t count);                     // "1 281 167"
std::string plural(uint64_t count, std::string_view noun);  // "1 sample", "3 000 samples"
std::string bar(double share, int width);                   // "█████▌"; share of 0 to 1

}  // namespace headrace::cli
