#include "headrace/run/report/watch.h"

#include <algorithm>
#include <cstdio>

#include "headrace/core/value.h"
#include "headrace/run/row_paths/level_body.h"

namespace headrace {
namespace {

constexpr uint64_t kEnoughNs = 1'000'000'000;

}  // namespace

Watch::Watch(const std::vector<Stage*>& stages, bool is_on, std::string file)
    : is_on_(is_on), counted_stages_(is_on ? stages.size() : 0), file_(std::move(file)) {
  auto names = std::make_shared<SampleNames>();
  for (const Stage* stage : stages)
    if (const auto* body = dynamic_cast<const LevelBody*>(&stage->body())) names->add(body->level());
  names_ = std::move(names);
}

Trace* Watch::begin(uint64_t at_ns) {
  before_ = is_on_ ? std::move(trace_) : nullptr;
  trace_.reset();
  if (is_on_ || !file_.empty())
    trace_ = std::make_unique<Trace>(file_.empty() ? Trace::Size::page : Trace::Size::file, at_ns);
  return trace_.get();
}

void Watch::end() {
  if (!trace_) return;
  trace_->close();
  if (file_.empty()) return;
  if (const Status written = write_trace(*trace_, *names_, file_); !written.ok())
    std::fprintf(stderr, "headrace: %s\n", std::string(written.text()).c_str());
  file_.clear();  // the first iteration only
}

Value Watch::sample_cost(const std::vector<const Counters*>& workers) const {
  return headrace::sample_cost(workers, *names_);
}

std::shared_ptr<const Timeline> Watch::timeline() const {
  if (!trace_) return nullptr;
  // An iteration that has just begun has little to show; use the one before then.
  const bool has_begun = !before_ || trace_->last_ns() >= std::min(kEnoughNs, before_->last_ns());
  auto out = std::make_shared<const Timeline>(has_begun ? *trace_ : *before_, names_);
  return out->empty() ? nullptr : std::move(out);
}

}  // namespace headrace
