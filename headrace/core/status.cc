#include "headrace/core/status.h"

#include <array>

#include "headrace/core/text/text.h"

namespace headrace {

std::string_view code_name(Code code) {
  constexpr std::array<std::string_view, 10> names{"ok",      "invalid",   "corrupt",     "not_found",
                                                   "io",      "exhausted", "unavailable", "cancelled",
                                                   "foreign", "internal"};
  return names[static_cast<size_t>(code)];
}

Status::Status(Code code, Mismatch mismatch)
    : Status(code, "expected " + mismatch.expected + ", got " + mismatch.got +
                       (mismatch.fix.empty() ? "" : "; " + mismatch.fix)) {
  rep_->facts.expected = std::move(mismatch.expected);
  rep_->facts.got = std::move(mismatch.got);
}

const ErrorFacts& Status::facts() const {
  static const ErrorFacts none;
  return rep_ ? rep_->facts : none;
}

Status Status::before(std::string_view context) && {
  if (rep_) rep_->text.insert(0, context);
  return std::move(*this);
}

Status Status::after(std::string_view context) && {
  if (rep_) rep_->text.append(context);
  return std::move(*this);
}

Status Status::with(const ErrorFacts& facts) && {
  if (rep_) rep_->facts.add(facts);
  return std::move(*this);
}

Status Status::refused(int error_number, std::string_view path) && {
  if (rep_) rep_->error_number = error_number;
  return std::move(*this).with({.file = std::string(path)});
}

// Operators pass here with every call, so nothing is made for those that are ok.
Status Status::in_file(std::string_view path) && {
  if (ok()) return {};
  return std::move(*this).with({.file = std::string(path)}).before(in_quotes(path) + ": ");
}

Status Status::in_format(std::string_view name) && {
  if (ok()) return {};
  return std::move(*this).with({.format = std::string(name)}).before(std::string(name) + ": ");
}

Status Status::in_op(std::string_view name) && {
  if (ok()) return {};
  return std::move(*this).with({.op = std::string(name)}).before(std::string(name) + ": ");
}

Status Status::in_option(std::string_view name) && {
  if (ok()) return {};
  return std::move(*this).with({.option = std::string(name)}).before(std::string(name) + ": ");
}

Status Status::in_field(std::string_view name) && {
  if (ok()) return {};
  return std::move(*this).with({.field = std::string(name)}).before("field " + in_quotes(name) + ": ");
}

Status Status::of_field(std::string_view name) && {
  if (ok()) return {};
  return std::move(*this).with({.field = std::string(name)}).before(in_quotes(name) + ": ");
}

Status Status::in_column(std::string_view name) && {
  if (ok()) return {};
  return std::move(*this).with({.field = std::string(name)}).before("column " + in_quotes(name) + ": ");
}

Status Status::at_byte(uint64_t byte) && {
  if (ok()) return {};
  return std::move(*this).with({.byte = byte}).after(" (at byte " + std::to_string(byte) + ")");
}

Status Status::at_record(uint64_t record, uint64_t byte) && {
  if (ok()) return {};
  return std::move(*this)
      .with({.byte = byte, .record = record})
      .after(" (record " + std::to_string(record) + " at byte " + std::to_string(byte) + ")");
}

Status Status::at_place(std::string_view place) && {
  if (ok() || place.empty() || !facts().place.empty()) return std::move(*this);
  return std::move(*this).with({.place = std::string(place)}).after(" (" + std::string(place) + ")");
}

}  // namespace headrace
