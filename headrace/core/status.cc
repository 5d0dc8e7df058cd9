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

Status Status::refused(int error_number, std::string_view path) && {
  if (rep_) rep_->error_number = error_number, rep_->path = path;
  return std::move(*this);
}

}  // namespace headrace
