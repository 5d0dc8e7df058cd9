#include "headrace/formats/hdf5/structures/fetches.h"

#include <algorithm>

namespace headrace::hdf5 {
namespace {

constexpr uint64_t kFirstRead = 256 << 10;  // writers place most structures at the beginning
constexpr uint64_t kStep = 16 << 20;        // bytes in memory at once, or one read
constexpr size_t kMostReads = 1024;         // of one step
// Structures may be referenced several times, and guesses of their length overlap: beyond this limit, the
// file is assumed to be malicious.
constexpr uint64_t kMostTimes = 8, kFree = 64 << 20;

}  // namespace

void Fetches::ask(Owner owner, uint64_t address, uint64_t length, Then then) {
  if (has_failed(owner)) return;
  if (address >= file_size_)
    return fail(owner, corrupt("expected an address below byte " + std::to_string(file_size_)), address);
  waiting_.push_back({owner, address, std::min(length, file_size_ - address), std::move(then)});
}

void Fetches::ask_all(Owner owner, uint64_t address, uint64_t length,
                      std::function<Status(std::span<const std::byte>)> then) {
  ask(owner, address, length,
      [length, then = std::move(then)](std::span<const std::byte> bytes) -> Result<uint64_t> {
        if (bytes.size() < length) return length;
        HEADRACE_TRY(then(bytes));
        return uint64_t{0};
      });
}

void Fetches::fail(Owner owner, Status status, uint64_t address) {
  if (has_failed(owner)) return;
  if (owner >= failed_.size()) failed_.resize(owner + 1);
  failed_[owner] = 1;
  fail_(owner, std::move(status).at_byte(address));
}

void Fetches::run(Fetch fetch, std::span<const std::byte> bytes) {
  if (has_failed(fetch.owner)) return;
  bytes_read_ += bytes.size();
  if (bytes_read_ > kMostTimes * file_size_ + kFree)
    return fail(fetch.owner,
                corrupt({.expected = "structures that are referenced once or twice", .got = "cycles"}),
                fetch.address);
  const Result<uint64_t> needs = fetch.then(bytes);
  if (!needs.ok()) return fail(fetch.owner, needs.status(), fetch.address);
  if (*needs <= bytes.size()) return;
  if (*needs > file_size_ - fetch.address)
    return fail(fetch.owner,
                corrupt("expected " + std::to_string(*needs) + " bytes, but the file has only " +
                        std::to_string(file_size_ - fetch.address) + " from here"),
                fetch.address);
  fetch.length = *needs;
  waiting_.push_front(std::move(fetch));
}

std::vector<Extent> Fetches::advance(std::span<const BufferPtr> bytes) {
  if (!head_) {
    if (bytes.empty()) return {{0, 0, std::min(file_size_, kFirstRead)}};
    head_ = bytes[0];
  } else {
    std::vector<Fetch> answered = std::move(asked_);
    asked_.clear();
    for (size_t i = 0; i < answered.size(); ++i) run(std::move(answered[i]), bytes[i]->bytes());
  }
  std::vector<Extent> out;
  uint64_t asked = 0;
  while (!waiting_.empty() && asked_.size() < kMostReads && asked < kStep) {
    Fetch fetch = std::move(waiting_.front());
    waiting_.pop_front();
    if (has_failed(fetch.owner)) continue;
    if (fetch.address + fetch.length <= head_->size()) {
      const auto part = head_->bytes().subspan(fetch.address, fetch.length);
      run(std::move(fetch), part);
      continue;
    }
    asked += fetch.length;
    out.push_back({0, fetch.address, fetch.length});
    asked_.push_back(std::move(fetch));
  }
  return out;
}

}  // namespace headrace::hdf5
