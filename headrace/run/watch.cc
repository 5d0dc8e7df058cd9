#include "headrace/run/watch.h"

#include <cstdio>

#include "headrace/core/value.h"

namespace headrace {

Watch::Watch(const std::vector<Stage*>& stages, bool is_on, std::string file)
    : is_on_(is_on), counted_stages_(is_on ? stages.size() : 0), file_(std::move(file)) {
  auto names = std::make_shared<SampleNames>();
  for (const Stage* stage : stages) names->add(*stage);
  names_ = std::move(names);
}

Trace* Watch::begin(uint64_t at_ns) {
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
  auto out = std::make_shared<const Timeline>(*trace_, names_);
  return out->empty() ? nullptr : std::move(out);
}

}  // namespace headrace
