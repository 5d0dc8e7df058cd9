// Base class of sequential verbs over one child.
#pragma once
#include <utility>

#include "headrace/run/streams/stream.h"

namespace headrace {

// Passes every call on to its child unless overridden.
class OneChild : public Stream {
 public:
  explicit OneChild(StreamPtr child) : child_(std::move(child)) {}
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    child_->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override { child_->save(cursor); }
  void restore(CursorReader& cursor) override { child_->restore(cursor); }
  void describe(StateForm& form) const override { child_->describe(form); }
  uint64_t most_elements() const override { return child_->most_elements(); }
  void stages(std::vector<Stage*>& out) override { child_->stages(out); }
  void open_stages(std::vector<Stage*>& out) override { child_->open_stages(out); }
  Stage* giving() override { return child_->giving(); }

 protected:
  StreamPtr child_;
};

}  // namespace headrace
