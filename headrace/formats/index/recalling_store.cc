#include "headrace/formats/index/recalling_store.h"

#include <algorithm>
#include <cstring>

#include "headrace/formats/index/unchanged.h"

namespace headrace {
namespace {

constexpr size_t kMostOfHead = 4096;  // what a probe reads of a file

Result<std::unique_ptr<OpenFile>> open_as_recalled(ListMemory& memory, const std::string& path,
                                                   const FileInfo& recalled) {
  HEADRACE_ASSIGN(std::unique_ptr<OpenFile> file, memory.store().open_known(path));
  HEADRACE_ASSIGN(const FileInfo now, file->as_opened());
  if (!is_same(now, recalled)) {
    memory.was_wrong();
    return stale("changed since its index was made").in_file(path);
  }
  memory.was_checked(path);
  return file;
}

// A file whose first bytes are known: opened when more of it is needed. One thread.
class HeadOfFile final : public OpenFile {
 public:
  HeadOfFile(ListMemory& memory, std::string path, const FileInfo& info, std::string head)
      : memory_(memory), path_(std::move(path)), info_(info), head_(std::move(head)) {}

  Result<uint64_t> size() override { return info_.size; }
  Result<FileInfo> as_opened() override { return info_; }
  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    if (offset <= head_.size() && out.size() <= head_.size() - offset) {
      if (!out.empty()) std::memcpy(out.data(), head_.data() + offset, out.size());
      return out.size();
    }
    if (!file_) {
      HEADRACE_ASSIGN(file_, open_as_recalled(memory_, path_, info_));
    }
    return file_->read(offset, out);
  }

 private:
  ListMemory& memory_;
  const std::string path_;
  const FileInfo info_;
  const std::string head_;
  std::unique_ptr<OpenFile> file_;
};

// Remembers the first bytes, if they are read at once. One thread.
class LearningFile final : public OpenFile {
 public:
  LearningFile(ListMemory& memory, std::string path, std::unique_ptr<OpenFile> file)
      : memory_(memory), path_(std::move(path)), file_(std::move(file)) {}

  Result<uint64_t> size() override { return file_->size(); }
  Result<FileInfo> as_opened() override { return file_->as_opened(); }
  std::shared_ptr<const FileMap> map() override { return file_->map(); }
  bool is_cached(uint64_t offset) override { return file_->is_cached(offset); }
  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    HEADRACE_ASSIGN(const size_t count, file_->read(offset, out));
    HEADRACE_ASSIGN(const FileInfo info, file_->as_opened());
    if (offset == 0 && count == out.size() && count == std::min<uint64_t>(info.size, kMostOfHead))
      memory_.learn_head(path_, {reinterpret_cast<const char*>(out.data()), count});
    return count;
  }

 private:
  ListMemory& memory_;
  const std::string path_;
  std::unique_ptr<OpenFile> file_;
};

}  // namespace

Result<std::unique_ptr<OpenFile>> RecallingStore::open(const std::string& path) {
  const auto recalled = memory_.recall(path);
  if (!recalled) {
    HEADRACE_ASSIGN(std::unique_ptr<OpenFile> file, store_->open(path));
    return std::unique_ptr<OpenFile>(std::make_unique<LearningFile>(memory_, path, std::move(file)));
  }
  if (auto head = memory_.head(path))
    return std::unique_ptr<OpenFile>(
        std::make_unique<HeadOfFile>(memory_, path, *recalled, *std::move(head)));
  return open_as_recalled(memory_, path, *recalled);
}

Result<FileInfo> RecallingStore::info(const std::string& path) {
  if (const auto recalled = memory_.recall(path)) return *recalled;
  Result<FileInfo> info = store_->info(path);
  memory_.learn(path, info);
  return info;
}

Result<Listing> RecallingStore::list(const std::string& root) {
  if (const auto known = memory_.listing(root)) return *known;
  HEADRACE_ASSIGN(Listing out, store_->list(root));
  memory_.learn_listing(root, out);
  return out;
}

Result<Listing> RecallingStore::list_readable(const std::string& root) {
  if (const auto known = memory_.listing(root)) return *known;
  HEADRACE_ASSIGN(Listing out, store_->list_readable(root));
  memory_.learn_listing(root, out);
  return out;
}

Result<Entries> RecallingStore::entries(const std::string& folder) {
  if (auto known = memory_.entries(folder)) return *std::move(known);
  HEADRACE_ASSIGN(Entries out, store_->entries(folder));
  memory_.learn_entries(folder, out);
  return out;
}

Result<Entries> RecallingStore::entries_readable(const std::string& folder) {
  if (auto known = memory_.entries(folder)) return *std::move(known);
  HEADRACE_ASSIGN(Entries out, store_->entries_readable(folder));
  memory_.learn_entries(folder, out);
  return out;
}

}  // namespace headrace
