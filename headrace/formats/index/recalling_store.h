// A Store that answers from a ListMemory where that knows, and tells it what it does not know. Any thread.
#pragma once
#include "headrace/formats/index/list_memory.h"
#include "headrace/io/wrapped_store.h"

namespace headrace {

class RecallingStore final : public WrappedStore {
 public:
  // REQUIRES: `memory` outlives it and the files that it opens.
  explicit RecallingStore(ListMemory& memory) : WrappedStore(memory.store()), memory_(memory) {}

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override;
  Result<std::unique_ptr<OpenFile>> open_known(const std::string& path) override { return open(path); }
  Result<FileInfo> info(const std::string& path) override;
  Result<Listing> list(const std::string& root) override;
  Result<Entries> entries(const std::string& folder) override;
  Result<Listing> list_readable(const std::string& root) override;
  Result<Entries> entries_readable(const std::string& folder) override;
  bool is_known_absent(const std::string& path) override { return memory_.is_absent(path); }
  std::shared_ptr<const Listing> recalled_listing(const std::string& root) override {
    return memory_.listing(root);
  }
  bool persistent() const override { return store_->persistent(); }

 private:
  ListMemory& memory_;
};

}  // namespace headrace
