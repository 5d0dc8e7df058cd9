// A Store that leaves out what cannot be examined, and keeps what it left out: skip_unreadable=True.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "headrace/io/store.h"

namespace headrace {

// Any thread. REQUIRES: `below` outlives it.
class SkippingStore final : public Store {
 public:
  explicit SkippingStore(Store& below) : below_(below) {}

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override { return below_.open(path); }
  Result<FileInfo> info(const std::string& path) override { return below_.info(path); }
  Result<Listing> list(const std::string& root) override;
  Result<Entries> entries(const std::string& folder) override;
  Result<Listing> list_readable(const std::string& root) override { return below_.list_readable(root); }
  Result<Entries> entries_readable(const std::string& folder) override {
    return below_.entries_readable(folder);
  }
  bool persistent() const override { return below_.persistent(); }
  bool leaves_out(const std::string& path, const Status& why) override;

  // So far, each path once, sorted.
  std::vector<Listing::Problem> left_out() const;

 private:
  void add(const std::string& folder, const std::vector<Listing::Problem>& unread);

  Store& below_;
  mutable std::mutex mutex_;
  std::vector<Listing::Problem> left_out_;  // guarded by mutex_
};

}  // namespace headrace
