#include "cli/output/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "headrace/core/text/text.h"

namespace headrace::cli {

Progress::Progress(std::string doing, uint64_t total)
    : doing_(std::move(doing)), total_(total), visible_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::show(uint64_t done, std::string_view more) {
  if (!visible_) return;
  const auto now = Clock::now();
  if (shown_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now, shown_ = true;
  std::string line = doing_ + "  ";
  if (total_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    line += fmt::format("{:3.0f} % |{:<20}| {} of {}", 100 * share, bar(share, 20), count_text(done),
                        count_text(total_));
  } else {
    line += count_text(done);
  }
  fmt::print(stderr, "\r\033[K{}{}{}", printable(line), more.empty() ? "" : "  ", printable(more));
  std::fflush(stderr);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string size_text(double bytes) {
  constexpr std::array units{"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 999.95 && unit + 1 < units.size()) bytes /= 1000, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string count_text(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ' ');
  return digits;
}

std::string plural(uint64_t count, std::string_view noun) {
  return count_text(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string bar(double share, int width) {
  constexpr std::array<std::string_view, 8> parts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * width * 8 + 0.5);
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += parts[static_cast<size_t>(eighths % 8)];
  return out;
}

}  // namespace headrace::cli
