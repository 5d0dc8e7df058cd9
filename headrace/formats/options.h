// Options of a format or a writer: which exist, and typed access to the given ones.
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
  std::string name, type, doc;  // type: as Python spells it; doc: sentences, without the default
  Value fallback;               // the default; if null, doc describes what applies
  bool required = false;
};

// "has no option 'nuls', did you mean 'nulls'? (it has columns, nulls)".
std::string no_option(std::string_view wrong, std::span<const std::string_view> known);
// Of an option that names columns: "columns: expected names of columns (id, name), got 'idd', did you mean
// 'id'?"
Status no_such_column(std::string_view option, std::string_view wrong,
                      std::span<const std::string_view> names);
std::string no_option(std::string_view wrong, const std::vector<OptionInfo>& known);

// An object whose keys are known to be among the OptionInfos.
struct GivenOptions {
  Value options;

  // The option, or `fallback` if it is absent or null. An error of another type names the option.
  Result<std::string> text(std::string_view option, std::string fallback = "") const;
  Result<int64_t> integer(std::string_view option, int64_t fallback) const;
  Result<bool> flag(std::string_view option, bool fallback) const;
  Result<std::vector<std::string>> strings(std::string_view option) const;  // empty when not given
};

}  // namespace headrace
