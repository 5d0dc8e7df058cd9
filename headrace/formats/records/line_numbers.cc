#include "headrace/formats/records/line_numbers.h"

#include <algorithm>
#include <cstring>

namespace headrace {

uint64_t LineNumbers::of(uint64_t record) const {
  const auto is_before = [&](const Known& known) { return known.record <= record; };
  const auto after = std::ranges::partition_point(known_, is_before);
  return after == known_.begin() ? record + 1 : after[-1].line + (record - after[-1].record);
}

std::string LineNumbers::pack() const {
  return {reinterpret_cast<const char*>(known_.data()), known_.size() * sizeof(Known)};
}

std::optional<LineNumbers> LineNumbers::unpack(std::string_view bytes) {
  if (bytes.size() % sizeof(Known) != 0) return std::nullopt;
  LineNumbers out;
  out.known_.resize(bytes.size() / sizeof(Known));
  if (!bytes.empty()) std::memcpy(out.known_.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace headrace
