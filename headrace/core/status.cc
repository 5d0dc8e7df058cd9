#include "headrace/core/status.h"

#include <array>

namespace headrace {

std::string_view code_name(Code code) {
  constexpr std::array<std::string_view, 10> names{"ok",      "invalid",   "corrupt",     "not_found",
                                                   "io",      "exhausted", "unavailable", "cancelled",
                                                   "foreign", "internal"};
  return names[static_cast<size_t>(code)];
}

Status Status::before(std::string_view fact) && {
  if (rep_) rep_->text.insert(0, fact);
  return std::move(*this);
}

Status Status::after(std::string_view fact) && {
  if (rep_) rep_->text.append(fact);
  return std::move(*this);
}

}  // namespace headrace
