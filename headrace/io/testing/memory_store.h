// A Store whose files are byte strings in memory: for tests and fuzz targets.
//
// Fill it first; after that any thread may read. Directories exist where files are in them.
#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "headrace/io/store.h"

namespace headrace {

class MemoryStore final : public Store {
 public:
  void add(std::string path, std::string bytes) {
    files_[std::move(path)] = std::make_shared<const std::string>(std::move(bytes));
  }

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    const auto it = files_.find(path);
    if (it == files_.end()) return missing(path);
    return std::unique_ptr<OpenFile>(std::make_unique<File>(it->second));
  }

  Result<FileInfo> info(const std::string& path) override {
    if (const auto it = files_.find(path); it != files_.end())
      return FileInfo{it->second->size(), 0, 0, false};
    const auto below = files_.lower_bound(path + "/");
    if (below == files_.end() || !below->first.starts_with(path + "/")) return missing(path);
    return FileInfo{0, 0, 0, true};
  }

  Result<Listing> list(const std::string& root) override {
    Listing out;
    const std::string prefix = root == "." ? "" : root + "/";
    for (auto it = files_.lower_bound(prefix); it != files_.end() && it->first.starts_with(prefix); ++it)
      out.files.add(std::string_view(it->first).substr(prefix.size()));
    if (out.files.empty()) return missing(root);
    return out;
  }

 private:
  class File final : public OpenFile {
   public:
    explicit File(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)) {}
    Result<uint64_t> size() override { return uint64_t{bytes_->size()}; }
    Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
      if (offset >= bytes_->size() || out.empty()) return size_t{0};
      const size_t count = std::min<size_t>(out.size(), bytes_->size() - offset);
      std::memcpy(out.data(), bytes_->data() + offset, count);
      return count;
    }

   private:
    std::shared_ptr<const std::string> bytes_;
  };

  static Status missing(const std::string& path) {
    return {Code::not_found, "cannot open '" + path + "': no such file in memory"};
  }

  std::map<std::string, std::shared_ptr<const std::string>> files_;
};

}  // namespace headrace
