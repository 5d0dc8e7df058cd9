#include "headrace/run/cache/cache_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <set>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/graph/passes/cache_key.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/io/file_system.h"
#include "headrace/io/new_file.h"
#include "headrace/io/store.h"
#include "headrace/run/element_cache/disk_cache.h"

namespace headrace {
namespace {

constexpr std::string_view kChoice = ".choice";
constexpr time_t kUnread = 30 * 24 * 3600;  // s

// Removes our files that were not read or written for a month; a lock is removed with the last file of its
// key.
void remove_unread(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> locks;
  std::set<std::string> keys;  // of the remaining files
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string ending = it->path().extension().string();
    const bool is_lock = ending == kCacheLock;
    if (!is_lock && ending != kCacheData && ending != kCacheIndex && ending != kChoice) continue;
    struct stat info;
    if (::lstat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const std::string stem = it->path().stem().string();
    const bool is_old = std::time(nullptr) - std::max(info.st_atime, info.st_mtime) > kUnread;
    if (is_lock && is_old)
      locks.push_back(stem);
    else if (is_old)
      (void)remove_file(it->path().string());
    else
      keys.insert(stem.substr(0, stem.find('-')));
  }
  for (const std::string& key : locks)
    if (!keys.contains(key)) (void)remove_file(folder + "/" + key + std::string(kCacheLock));
}

std::string text_of(const std::string& path) {
  const auto file = file_store()->open(path);
  if (!file.ok()) return "";
  const auto bytes = read_bytes(**file, 0, kToEnd, 1024);
  if (!bytes.ok()) return "";
  return {reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()};
}

}  // namespace

std::string element_key(const NodePtr& below, const std::string& version, uint64_t seed, DataKeys& known) {
  auto cache = make_node(Cache{.version = version}, {below});
  if (!cache.ok()) return "";
  std::string key = with_cache_keys(*cache, seed)->as<Cache>()->key;
  each_node(*below, [&](const Node& node) {
    const auto* read = node.as<Read>();
    if (!read) return;
    std::string& data = known[read->source.get()];
    if (data.empty()) data = data_key(*read->source);
    key += data;
  });
  return hash_text(key);
}

Result<std::shared_ptr<ElementCache>> open_elements(const std::string& folder, const std::string& key,
                                                    const DiskCacheRoom& room) {
  remove_unread(folder);
  return disk_cache(folder, key, room);
}

std::string agree(const std::string& folder, const std::string& question, const std::string& answer) {
  if (question.empty() || answer.empty()) return "";
  const std::string path = folder + "/" + question + std::string(kChoice);
  if (const std::string said = text_of(path); !said.empty()) return said;
  const std::string own = path + "-" + std::to_string(::getpid());
  if (!write_atomically(own, std::as_bytes(std::span(answer))).ok()) return "";
  (void)move(own, path, Existing::refused);  // if another process was first, its file stays
  (void)remove_file(own);
  return text_of(path);
}

}  // namespace headrace
