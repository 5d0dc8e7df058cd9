// Stores that pass on another one, with something changed: which files it opens, how often it asks.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "headrace/io/store.h"

namespace headrace {

// Passes on everything but persistent(): a path may mean another file here. So open_known() is open().
class WrappedStore : public Store {
 public:
  explicit WrappedStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  // REQUIRES: `store` outlives it.
  explicit WrappedStore(Store& store) : store_(std::shared_ptr<Store>(), &store) {}

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override { return store_->open(path); }
  Result<FileInfo> info(const std::string& path) override { return store_->info(path); }
  Result<Listing> list(const std::string& root) override { return store_->list(root); }
  Result<Entries> entries(const std::string& folder) override { return store_->entries(folder); }
  Result<Listing> list_readable(const std::string& root) override { return store_->list_readable(root); }
  Result<Entries> entries_readable(const std::string& folder) override {
    return store_->entries_readable(folder);
  }
  bool is_known_absent(const std::string& path) override { return store_->is_known_absent(path); }
  std::shared_ptr<const Listing> recalled_listing(const std::string& root) override {
    return store_->recalled_listing(root);
  }
  bool leaves_out(const std::string& path, const Status& why) override {
    return store_->leaves_out(path, why);
  }
  size_t reads_at_first() const override { return store_->reads_at_first(); }

 protected:
  const std::shared_ptr<Store> store_;
};

}  // namespace headrace
