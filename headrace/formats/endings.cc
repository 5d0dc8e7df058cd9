#include "headrace/formats/endings.h"

#include <algorithm>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr size_t kMostEndings = 1000, kLongest = 24, kShown = 6;

std::string ending_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return "none";
  if (name.size() - dot > kLongest) return "other";
  return lower_case(name.substr(dot));
}

}  // namespace

void Endings::add(std::string_view path) {
  ++files_;
  std::string ending = ending_of(path);
  if (counts_.size() >= kMostEndings && !counts_.contains(ending)) ending = "other";
  ++counts_[std::move(ending)];
}

Value Endings::value() const {
  std::vector<std::pair<std::string, uint64_t>> sorted(counts_.begin(), counts_.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, [](const auto& entry) { return entry.second; });
  Value out{Value::Object()};
  for (auto& [ending, count] : sorted) out.set(ending, count);
  return out;
}

std::string endings_text(const Value& endings) {
  std::string out;
  const Value::Object* object = endings.object();
  if (!object) return out;
  for (size_t i = 0; i < std::min(object->size(), kShown); ++i)
    out += (i == 0 ? "" : ", ") + (*object)[i].first + " (" + (*object)[i].second.dump() + ")";
  return object->size() > kShown ? out + ", …" : out;
}

}  // namespace headrace
