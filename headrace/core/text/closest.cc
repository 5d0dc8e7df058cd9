#include "headrace/core/text/closest.h"

#include <algorithm>
#include <vector>

namespace headrace {
namespace {

constexpr size_t kLongest = 100;  // bytes of a name in a message

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names) {
  std::string_view best;
  const size_t most = std::max<size_t>(2, wrong.size() / 3);
  size_t distance = std::min(most + 1, wrong.size());  // one letter is too likely to match by chance
  constexpr size_t kBegins = 3;                        // letters that may abbreviate the whole
  for (const std::string_view name : names) {
    const bool is_begin = wrong.size() >= kBegins && name.starts_with(wrong);
    const size_t longer = std::max(name.size(), wrong.size()) - std::min(name.size(), wrong.size());
    if (!is_begin && longer >= distance) continue;
    if (const size_t d = is_begin ? 1 : edit_distance(wrong, name); d < distance) distance = d, best = name;
  }
  return best.empty() ? "" : ", did you mean '" + std::string(best) + "'?";
}

std::string first_names(std::span<const std::string_view> names) {
  constexpr size_t kShown = 10;  // names
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    out += (i == 0 ? "" : ", ") + std::string(names[i].substr(0, kLongest));
  return names.size() > kShown ? out + ", …" : out;
}

}  // namespace headrace
