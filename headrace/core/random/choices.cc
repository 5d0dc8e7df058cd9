#include "headrace/core/random/choices.h"

#include <algorithm>

namespace headrace {

Result<Choices> Choices::make(std::span<const int64_t> sources, uint32_t count) {
  if (sources.size() > ~uint32_t{0})
    return invalid({.expected = "fewer than 2^32 choices", .got = std::to_string(sources.size())})
        .in_op("choose");
  Choices out;
  std::vector<uint32_t> taken(count);
  out.turns_.reserve(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] < 0 || sources[i] >= count)
      return invalid("choices must be from 0 to " + std::to_string(int64_t{count} - 1) + ", got " +
                     std::to_string(sources[i]) + " at position " + std::to_string(i))
          .in_op("choose");
    const auto source = static_cast<uint32_t>(sources[i]);
    out.turns_.push_back({source, taken[source]++});
  }
  return out;
}

Result<uint64_t> Choices::settle(MixStop stop, std::span<const uint64_t> sizes) {
  const auto ended = [&](const Turn& turn) { return turn.index >= sizes[turn.source]; };
  if (stop == MixStop::first_exhausted)
    return static_cast<uint64_t>(std::ranges::find_if(turns_, ended) - turns_.begin());
  if (stop == MixStop::all_exhausted) std::erase_if(turns_, ended);
  for (const Turn& turn : turns_)
    if (sizes[turn.source] == 0)
      return invalid("dataset " + std::to_string(turn.source) +
                     " is empty and cannot be repeated; leave it out, or set stop=\"all_exhausted\"")
          .in_op("choose");
  return turns_.size();
}

}  // namespace headrace
