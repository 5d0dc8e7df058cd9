// A Store that leaves out what cannot be examined, and keeps what it left out: skip_unreadable=True.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "headrace/io/wrapped_store.h"

namespace headrace {

// Any thread. REQUIRES: `below` outlives it.
class SkippingStore final : public WrappedStore {
 public:
  explicit SkippingStore(Store& below) : WrappedStore(below) {}

  Result<Listing> list(const std::string& root) override;
  Result<Entries> entries(const std::string& folder) override;
  Result<std::unique_ptr<OpenFile>> open_known(const std::string& path) override {
    return store_->open_known(path);
  }
  bool persistent() const override { return store_->persistent(); }
  bool leaves_out(const std::string& path, const Status& why) override;

  // So far, each path once, sorted.
  std::vector<Listing::Problem> left_out() const;

 private:
  void add(const std::string& folder, const std::vector<Listing::Problem>& unread);

  mutable std::mutex mutex_;
  std::vector<Listing::Problem> left_out_;  // guarded by mutex_
};

}  // namespace headrace
