#include "headrace/io/skipping_store.h"

#include <algorithm>

#include "headrace/io/look_up.h"

namespace headrace {

Result<Listing> SkippingStore::list(const std::string& root) {
  HEADRACE_ASSIGN(Listing out, store_->list_readable(root));
  add(root, out.unread);
  return out;
}

Result<Entries> SkippingStore::entries(const std::string& folder) {
  HEADRACE_ASSIGN(Entries out, store_->entries_readable(folder));
  add(folder == "." ? "" : folder, out.unread);
  return out;
}

bool SkippingStore::leaves_out(const std::string& path, const Status& why) {
  add("", {{path, reason_of(why)}});
  return true;
}

void SkippingStore::add(const std::string& folder, const std::vector<Listing::Problem>& unread) {
  const std::lock_guard lock(mutex_);
  for (const Listing::Problem& one : unread) {
    const bool is_joined = folder.empty() || folder.ends_with('/');
    left_out_.push_back({folder + (is_joined ? "" : "/") + one.path, one.reason});
  }
}

std::vector<Listing::Problem> SkippingStore::left_out() const {
  const std::lock_guard lock(mutex_);
  std::vector<Listing::Problem> out = left_out_;
  std::ranges::stable_sort(out, {}, &Listing::Problem::path);
  const auto twice = std::ranges::unique(out, {}, &Listing::Problem::path);
  out.erase(twice.begin(), twice.end());
  return out;
}

}  // namespace headrace
