#include "headrace/io/retrying_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "headrace/io/file_map.h"
#include "headrace/io/wrapped_store.h"

namespace headrace {
namespace {

constexpr std::chrono::milliseconds kFirstWait(20), kLongestWait(5000), kLook(10);
constexpr int kGrowth = 4;

// False if the run was stopped.
bool wait_before_retry(size_t number, const StopFlag* stop) {
  std::chrono::milliseconds wait = kFirstWait;
  for (size_t i = 0; i < number && wait < kLongestWait; ++i) wait *= kGrowth;
  for (auto left = std::min(wait, kLongestWait); left > kLook; left -= kLook) {
    if (stop && stop->raised()) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

template <class Call> auto call_again(Retries& retries, const Call& call) {
  auto out = call();
  for (size_t i = 0; i < retries.most && !out.ok() && is_transient(out.status()); ++i) {
    if (!wait_before_retry(i, retries.stop.get())) break;
    ++retries.done;
    out = call();
  }
  return out;
}

class RetryingFile final : public OpenFile {
 public:
  RetryingFile(std::unique_ptr<OpenFile> file, std::shared_ptr<Retries> retries)
      : file_(std::move(file)), retries_(std::move(retries)) {}
  Result<uint64_t> size() override {
    return call_again(*retries_, [&] { return file_->size(); });
  }
  Result<FileInfo> as_opened() override {
    return call_again(*retries_, [&] { return file_->as_opened(); });
  }
  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    return call_again(*retries_, [&] { return file_->read(offset, out); });
  }
  std::shared_ptr<const FileMap> map() override { return file_->map(); }
  bool is_cached(uint64_t offset) override { return file_->is_cached(offset); }

 private:
  std::unique_ptr<OpenFile> file_;
  std::shared_ptr<Retries> retries_;
};

class RetryingStore final : public WrappedStore {
 public:
  RetryingStore(std::shared_ptr<Store> store, std::shared_ptr<Retries> retries)
      : WrappedStore(std::move(store)), retries_(std::move(retries)) {}

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    return retried([&] { return store_->open(path); });
  }
  Result<std::unique_ptr<OpenFile>> open_known(const std::string& path) override {
    return retried([&] { return store_->open_known(path); });
  }
  Result<FileInfo> info(const std::string& path) override {
    return call_again(*retries_, [&] { return store_->info(path); });
  }
  Result<Listing> list(const std::string& root) override {
    return call_again(*retries_, [&] { return store_->list(root); });
  }
  Result<Entries> entries(const std::string& folder) override {
    return call_again(*retries_, [&] { return store_->entries(folder); });
  }
  Result<Listing> list_readable(const std::string& root) override {
    return call_again(*retries_, [&] { return store_->list_readable(root); });
  }
  Result<Entries> entries_readable(const std::string& folder) override {
    return call_again(*retries_, [&] { return store_->entries_readable(folder); });
  }
  bool persistent() const override { return store_->persistent(); }

  const std::shared_ptr<Store>& below() const { return store_; }

 private:
  template <class Open> Result<std::unique_ptr<OpenFile>> retried(const Open& open) {
    HEADRACE_ASSIGN(std::unique_ptr<OpenFile> file, call_again(*retries_, open));
    return std::unique_ptr<OpenFile>(std::make_unique<RetryingFile>(std::move(file), retries_));
  }

  const std::shared_ptr<Retries> retries_;
};

}  // namespace

bool is_transient(const Status& status) {
  constexpr std::array<int, 5> kTransient{EIO, ESTALE, EAGAIN, ETIMEDOUT, EINTR};
  return std::ranges::find(kTransient, status.error_number()) != kTransient.end();
}

std::shared_ptr<Store> with_retries(std::shared_ptr<Store> store, std::shared_ptr<Retries> retries) {
  // Not one within the other: the numbers would multiply.
  if (const auto* same = dynamic_cast<const RetryingStore*>(store.get())) store = same->below();
  return std::make_shared<RetryingStore>(std::move(store), std::move(retries));
}

std::shared_ptr<Store> with_usual_retries(Store& store) {
  return with_retries(std::shared_ptr<Store>(std::shared_ptr<Store>(), &store), std::make_shared<Retries>());
}

}  // namespace headrace
