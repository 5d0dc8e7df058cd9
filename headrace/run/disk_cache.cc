// Elements in files. Each process that adds some makes a segment of its own: `<key>-<pid>-<time>.data`,
// elements one after the other, and `.index`, an entry for each: where it is, and its checksum. What a crash
// cut short, or anything that does not fit its checksum, is not there.
#include "headrace/run/disk_cache.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <unordered_map>

#include "headrace/codecs/crc32c.h"
#include "headrace/core/text.h"
#include "headrace/core/value.h"
#include "headrace/io/file_system.h"
#include "headrace/io/new_file.h"
#include "headrace/io/store.h"

namespace headrace {
namespace {

constexpr std::string_view kData = ".data", kIndex = ".index";

// A process that is killed loses what lies in its own memory: so many bytes at most, and where elements take
// long to make, only those of the last moments.
constexpr uint64_t kMostUnwritten = 1 << 20;
constexpr std::chrono::milliseconds kLongestUnwritten{500};

struct Entry {
  CacheKey key;
  uint64_t offset = 0;
  uint32_t length = 0, checksum = 0;  // of the element
  uint32_t self = 0, zero = 0;        // checksum of what stands before
};
static_assert(sizeof(Entry) == 40);

uint32_t checksum_of(const Entry& entry) {
  return crc32c(std::as_bytes(std::span(&entry, 1)).first(offsetof(Entry, self)));
}

struct Place {
  std::shared_ptr<OpenFile> file;
  uint64_t offset = 0;
  uint32_t length = 0, checksum = 0;
};

class DiskCache final : public ElementCache {
 public:
  DiskCache(std::string folder, std::string key) : folder_(std::move(folder)), key_(std::move(key)) {}
  ~DiskCache() override {
    std::lock_guard lock(mutex_);
    flush();
  }

  Status open() {
    if (!exists(folder_)) HEADRACE_TRY(make_folder(folder_));
    HEADRACE_ASSIGN(const Entries entries, file_store()->entries(folder_));
    for (size_t i = 0; i < entries.files.size(); ++i) {
      const std::string_view name = entries.files[i];
      if (name.starts_with(key_ + "-") && name.ends_with(kIndex))
        add_segment(name.substr(0, name.size() - kIndex.size()));
    }
    return {};
  }

  bool has(const CacheKey& key) override {
    std::lock_guard lock(mutex_);
    return places_.contains(key);
  }

  Status put(const CacheKey& key, std::span<const Tensor> fields) override {
    const std::vector<std::byte> packed = pack_fields(fields);
    std::lock_guard lock(mutex_);
    if (!trouble_.empty() || places_.contains(key) || packed.size() > ~uint32_t{0}) return {};
    if (const Status status = append(key, packed); !status.ok())
      trouble_ = std::string(status.text()) + "; nothing more is kept in " + in_quotes(folder_);
    return {};
  }

  size_t size() override {
    std::lock_guard lock(mutex_);
    return places_.size();
  }
  uint64_t bytes() override {
    std::lock_guard lock(mutex_);
    uint64_t out = 0;
    for (const auto& [key, place] : places_) out += place.length;
    return out;
  }
  std::string trouble() override {
    std::lock_guard lock(mutex_);
    return trouble_;
  }

 private:
  bool find(const CacheKey& key, std::vector<Tensor>& fields) override {
    Place place;
    {
      std::lock_guard lock(mutex_);
      const auto it = places_.find(key);
      if (it == places_.end()) return false;
      place = it->second;
      if (!place.file && !reopen(place)) return false;
    }
    const auto bytes = read_bytes(*place.file, place.offset, place.length);
    if (bytes.ok() && crc32c((*bytes)->bytes()) == place.checksum && unpack_fields(*bytes, fields).ok())
      return true;
    std::lock_guard lock(mutex_);
    places_.erase(key);
    return false;
  }

  void add_segment(std::string_view name) {
    const std::string path = folder_ + "/" + std::string(name);
    auto data = file_store()->open(path + std::string(kData)),
         index = file_store()->open(path + std::string(kIndex));
    if (!data.ok() || !index.ok()) return;
    const std::shared_ptr<OpenFile> file = std::move(*data);
    const auto size = file->size();
    const auto bytes = read_bytes(**index, 0, kToEnd);
    if (!size.ok() || !bytes.ok()) return;
    for (size_t at = 0; at + sizeof(Entry) <= (*bytes)->size(); at += sizeof(Entry)) {
      Entry entry;
      std::memcpy(&entry, (*bytes)->data() + at, sizeof entry);
      if (entry.self != checksum_of(entry) || entry.offset > *size || entry.length > *size - entry.offset)
        continue;
      places_[entry.key] = {file, entry.offset, entry.length, entry.checksum};
    }
  }

  Status append(const CacheKey& key, std::span<const std::byte> packed) {
    if (!data_) {
      const auto now = std::chrono::system_clock::now().time_since_epoch().count();
      path_ = folder_ + "/" + key_ + "-" + std::to_string(::getpid()) + "-" + std::to_string(now);
      HEADRACE_ASSIGN(data_, AppendedFile::make(path_ + std::string(kData)));
      HEADRACE_ASSIGN(index_, AppendedFile::make(path_ + std::string(kIndex)));
    }
    Entry entry{key, data_->size(), static_cast<uint32_t>(packed.size()), crc32c(packed)};
    entry.self = checksum_of(entry);
    HEADRACE_TRY(data_->append(packed));
    HEADRACE_TRY(index_->append(std::as_bytes(std::span(&entry, 1))));
    places_[key] = {nullptr, entry.offset, entry.length,
                    entry.checksum};  // read back through a file of its own
    const auto now = std::chrono::steady_clock::now();
    if (data_->size() - flushed_ < kMostUnwritten && now - flushed_at_ < kLongestUnwritten) return {};
    flushed_at_ = now;
    return write_out();
  }

  // What this process added lies with the system first, then it can be read.
  bool reopen(Place& place) {
    if (!own_ || flushed_ < place.offset + place.length) {
      if (!flush()) return false;
      auto file = file_store()->open(path_ + std::string(kData));
      if (!file.ok()) return false;
      own_ = std::move(*file);
    }
    place.file = own_;
    return true;
  }

  bool flush() { return !data_ || write_out().ok(); }

  // Elements before the entries that say where they are.
  Status write_out() {
    HEADRACE_TRY(data_->flush());
    HEADRACE_TRY(index_->flush());
    flushed_ = data_->size();
    return {};
  }

  const std::string folder_, key_;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<CacheKey, Place, CacheKeyHash> places_;
  std::string path_;  // of this process's segment, without an ending
  std::unique_ptr<AppendedFile> data_, index_;
  std::shared_ptr<OpenFile> own_;
  uint64_t flushed_ = 0;
  std::chrono::steady_clock::time_point flushed_at_ = std::chrono::steady_clock::now();
  std::string trouble_;
};

}  // namespace

Result<std::shared_ptr<ElementCache>> disk_cache(const std::string& folder, const std::string& key) {
  auto out = std::make_shared<DiskCache>(folder, key);
  HEADRACE_TRY(out->open());
  return std::shared_ptr<ElementCache>(std::move(out));
}

std::string data_key(const Source& source) {
  constexpr uint64_t kMostLooks = 100'000;
  std::string text;
  const bool look = source.num_files() < source.size() || source.num_files() <= kMostLooks;
  for (uint64_t i = 0; i < source.num_files(); ++i) {
    const std::string path = source.file(i);
    std::error_code error;
    text += std::filesystem::absolute(path, error).string();
    if (look)
      if (const auto info = file_store()->info(path); info.ok())
        text += ' ' + std::to_string(info->size) + ' ' + std::to_string(info->mtime_ns) + ' ' +
                std::to_string(info->changed_ns);
    text += '\n';
  }
  return hash_text(text);
}

}  // namespace headrace
