#include "headrace/run/engine/headroom.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr size_t kFirst = 8, kLeast = 4;  // shares of the budget
constexpr size_t kManyTickets = 32;

}  // namespace

void Headroom::was_short() {
  well_ = 0;
  if (!admitted_) return;
  admitted_ = false;
  bytes_ = std::min(std::max(2 * bytes_, budget_ / kFirst), budget_ - budget_ / kLeast);
}

void Headroom::admitted() {
  admitted_ = true;
  if (bytes_ == 0 || ++well_ < kManyTickets) return;
  well_ = 0;
  bytes_ = bytes_ < budget_ / (2 * kFirst) ? 0 : bytes_ - bytes_ / 8;
}

}  // namespace headrace
