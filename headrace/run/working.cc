#include "headrace/run/working.h"

namespace headrace {
namespace {

thread_local const Working* innermost = nullptr;

}  // namespace

Working::Working(const Crew& crew) : crew_(crew), around_(innermost) { innermost = this; }

Working::~Working() { innermost = around_; }

bool Working::is_for(const Crew& crew) {
  const Working* one = innermost;
  while (one && &one->crew_ != &crew) one = one->around_;
  return one != nullptr;
}

}  // namespace headrace
