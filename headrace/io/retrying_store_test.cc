#include "headrace/io/retrying_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

// Each call fails so often with this error before it succeeds.
class HiccupStore final : public Store {
 public:
  HiccupStore(int error, int failures) : error_(error), failures_(failures) { below_.add("d/x", "abcd"); }
  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    HEADRACE_TRY(hiccup());
    HEADRACE_ASSIGN(std::unique_ptr<OpenFile> file, below_.open(path));
    return std::unique_ptr<OpenFile>(std::make_unique<File>(*this, std::move(file)));
  }
  Result<FileInfo> info(const std::string& path) override {
    HEADRACE_TRY(hiccup());
    return below_.info(path);
  }
  Result<Listing> list(const std::string& root) override {
    HEADRACE_TRY(hiccup());
    return below_.list(root);
  }

 private:
  struct File final : OpenFile {
    File(HiccupStore& in, std::unique_ptr<OpenFile> of) : store(in), file(std::move(of)) {}
    Result<uint64_t> size() override {
      HEADRACE_TRY(store.hiccup());
      return file->size();
    }
    Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
      HEADRACE_TRY(store.hiccup());
      return file->read(offset, out);
    }
    HiccupStore& store;
    std::unique_ptr<OpenFile> file;
  };
  Status hiccup() {
    if (calls_++ % (failures_ + 1) == failures_) return {};
    return Status(Code::io, "cannot read").refused(error_, "x");
  }
  MemoryStore below_;
  int error_, failures_, calls_ = 0;
};

Status read_all(Store& store) {
  HEADRACE_TRY(store.info("d/x").status());
  HEADRACE_TRY(store.list("d").status());
  HEADRACE_ASSIGN(const auto file, store.open("d/x"));
  HEADRACE_ASSIGN(const BufferPtr bytes, read_bytes(*file, 0, ~uint64_t{0}));
  return bytes->size() == 4 ? Status() : internal_error("other bytes");
}

TEST(RetryingStore, EveryCallIsTriedAgain) {
  for (const int error : {EIO, ESTALE, EAGAIN, ETIMEDOUT, EINTR}) {
    const auto retries = std::make_shared<Retries>();
    const auto store = with_retries(std::make_shared<HiccupStore>(error, 1), retries);
    const Status status = read_all(*store);
    EXPECT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(retries->done, 5u);  // info, list, open, size, read
  }
}

TEST(RetryingStore, OtherErrorsAndTooManyAreErrors) {
  const auto retries = std::make_shared<Retries>();
  for (const int error : {EACCES, ENOENT, EMFILE, ENOMEM}) {
    EXPECT_EQ(read_all(*with_retries(std::make_shared<HiccupStore>(error, 1), retries)).error_number(),
              error);
    EXPECT_EQ(retries->done, 0u);
  }
  retries->most = 1;
  EXPECT_EQ(read_all(*with_retries(std::make_shared<HiccupStore>(EIO, 2), retries)).error_number(), EIO);
  EXPECT_EQ(retries->done, 1u);
}

TEST(RetryingStore, StoppingEndsTheWait) {
  const auto stop = std::make_shared<StopFlag>();
  const auto retries = std::make_shared<Retries>();
  retries->most = 1000, retries->stop = stop;
  const auto store = with_retries(std::make_shared<HiccupStore>(EIO, 1 << 30), retries);
  const std::jthread stopping([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop->raise();
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(read_all(*store).error_number(), EIO);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(RetryingStore, OneWithinTheOtherIsOne) {
  const auto outer = std::make_shared<Retries>(), inner = std::make_shared<Retries>();
  outer->most = 2, inner->most = 2;
  const auto store = with_retries(with_retries(std::make_shared<HiccupStore>(EIO, 1 << 30), inner), outer);
  EXPECT_FALSE(store->info("d/x").ok());
  EXPECT_EQ(outer->done + inner->done, 2u);
}

}  // namespace
}  // namespace headrace
