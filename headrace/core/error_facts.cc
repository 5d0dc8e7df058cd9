#include "headrace/core/error_facts.h"

#include "headrace/core/value.h"

namespace headrace {
namespace {

using StringFact = std::string ErrorFacts::*;
using NumberFact = std::optional<uint64_t> ErrorFacts::*;

constexpr std::pair<const char*, StringFact> kStrings[] = {
    {"format", &ErrorFacts::format}, {"file", &ErrorFacts::file},     {"field", &ErrorFacts::field},
    {"operator", &ErrorFacts::op},   {"option", &ErrorFacts::option}, {"expected", &ErrorFacts::expected},
    {"got", &ErrorFacts::got},       {"place", &ErrorFacts::place},
};
constexpr std::pair<const char*, NumberFact> kNumbers[] = {
    {"byte", &ErrorFacts::byte}, {"record", &ErrorFacts::record}, {"sample", &ErrorFacts::sample}};

}  // namespace

void ErrorFacts::add(const ErrorFacts& other) {
  for (const auto& [name, member] : kStrings)
    if ((this->*member).empty()) this->*member = other.*member;
  for (const auto& [name, member] : kNumbers)
    if (!(this->*member)) this->*member = other.*member;
  if (exception == 0) exception = other.exception;
}

Value ErrorFacts::values() const {
  Value out{Value::Object()};
  for (const auto& [name, member] : kStrings)
    if (!(this->*member).empty()) out.set(name, this->*member);
  for (const auto& [name, member] : kNumbers)
    if (this->*member) out.set(name, *(this->*member));
  return out;
}

}  // namespace headrace
