// Options of a format or a writer: what may be given, and how what was given is read.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/value.h"

namespace headrace {

struct OptionInfo {
  std::string name, type, doc;  // type: as Python spells it
  Value fallback;
};

// "has no option 'nuls', did you mean 'nulls'? (it has columns, nulls)".
std::string no_option(std::string_view wrong, std::span<const std::string_view> known);
std::string no_option(std::string_view wrong, const std::vector<OptionInfo>& known);

// An object whose names are known to be among the OptionInfos.
struct GivenOptions {
  Value options;

  // An option of the right type, or `fallback` when it is not given or null. The message names the option.
  Result<std::string> text(std::string_view option, std::string fallback = "") const;
  Result<int64_t> integer(std::string_view option, int64_t fallback) const;
  Result<bool> flag(std::string_view option, bool fallback) const;
  Result<std::vector<std::string>> texts(std::string_view option) const;  // empty when not given
};

}  // namespace headrace
