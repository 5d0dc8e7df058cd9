// A Store that misbehaves on purpose: slow, short or failing reads, the same ones each time for the same
// seed.
//
// What happens to a read depends on (path, offset, seed) and on nothing else, so a failing test fails again.
// Thread-safe where the wrapped store and `delay` are.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "headrace/core/random/key.h"
#include "headrace/io/store.h"

namespace headrace {

struct Faults {
  uint64_t seed = 0;
  // Out of a thousand reads, how many return fewer bytes than requested, and how many (others) fail.
  uint32_t short_reads = 0, errors = 0;
  uint32_t failed_opens = 0;  // out of a thousand paths
  // Called before every read, outside any lock; a test may wait or count here. Optional.
  std::function<void(const std::string& path, uint64_t offset)> delay = {};
};

class FaultyStore final : public Store {
 public:
  FaultyStore(std::shared_ptr<Store> below, Faults faults)
      : below_(std::move(below)), faults_(std::make_shared<const Faults>(std::move(faults))) {}

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    if (draw(*faults_, path, 0, 1) % 1000 < faults_->failed_opens)
      return Status(Code::io, "cannot open '" + path + "': a fault injected by a test");
    HEADRACE_ASSIGN(std::unique_ptr<OpenFile> file, below_->open(path));
    return std::unique_ptr<OpenFile>(std::make_unique<File>(std::move(file), path, faults_));
  }
  Result<FileInfo> info(const std::string& path) override { return below_->info(path); }
  Result<Listing> list(const std::string& root) override { return below_->list(root); }

 private:
  class File final : public OpenFile {
   public:
    File(std::unique_ptr<OpenFile> below, std::string path, std::shared_ptr<const Faults> faults)
        : below_(std::move(below)), path_(std::move(path)), faults_(std::move(faults)) {}
    Result<uint64_t> size() override { return below_->size(); }
    Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
      if (faults_->delay) faults_->delay(path_, offset);
      const uint32_t fate = draw(*faults_, path_, offset, 0);
      if (fate % 1000 < faults_->errors) return Status(Code::io, "cannot read: a fault injected by a test");
      if (out.size() > 1 && fate % 1000 < faults_->errors + faults_->short_reads)
        out = out.first(1 + (fate / 1000) % (out.size() - 1));
      return below_->read(offset, out);
    }

   private:
    std::unique_ptr<OpenFile> below_;
    std::string path_;
    std::shared_ptr<const Faults> faults_;
  };

  static uint32_t draw(const Faults& faults, const std::string& path, uint64_t offset, uint32_t word) {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: std::hash may differ between libraries
    for (const char c : path) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return Key(faults.seed, 0, {.index = hash, .epoch = offset}).bits(word);
  }

  std::shared_ptr<Store> below_;
  std::shared_ptr<const Faults> faults_;
};

}  // namespace headrace
