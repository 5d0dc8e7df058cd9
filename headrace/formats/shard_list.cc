#include "headrace/formats/shard_list.h"

#include <algorithm>

#include "headrace/core/value.h"

namespace headrace {
namespace {

constexpr uint64_t kHead = 4096, kMost = uint64_t{64} << 20;

std::string text_of(const BufferPtr& bytes) {
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

Result<std::string> shard_of(const Value& entry, const std::string& folder) {
  HEADRACE_ASSIGN(std::string url, entry.get_text("url"));
  if (url.starts_with("file:")) url.erase(0, url.starts_with("file://") ? 7 : 5);
  if (url.find("://") != std::string::npos || url.starts_with("pipe:"))
    return Status(Code::unavailable, "wants shards that are files, got '" + url + "'");
  return url.starts_with('/') ? url : folder + url;
}

Result<std::vector<std::string>> shards_of(const std::string& text, const std::string& path) {
  HEADRACE_ASSIGN(const Value list, Value::parse(text));
  const Value* shards = list.find("shardlist");
  if (!shards || !shards->list() || shards->list()->empty())
    return corrupt("wants a 'shardlist' of at least one shard, got none");
  std::vector<std::string> out;
  for (const Value& entry : *shards->list()) {
    HEADRACE_ASSIGN(std::string shard, shard_of(entry, path.substr(0, path.rfind('/') + 1)));
    out.push_back(std::move(shard));
  }
  return out;
}

}  // namespace

Result<std::optional<std::vector<std::string>>> listed_shards(Store& store, const std::string& path) {
  if (!path.ends_with(".json")) return std::optional<std::vector<std::string>>();
  const auto info = store.info(path);
  if (!info.ok() || info->is_directory || info->size > kMost)
    return std::optional<std::vector<std::string>>();
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, store.open(path));
  HEADRACE_ASSIGN(const BufferPtr head, read_bytes(*file, 0, std::min(info->size, kHead)));
  if (text_of(head).find("\"wids-shard-index-v") == std::string::npos)
    return std::optional<std::vector<std::string>>();
  HEADRACE_ASSIGN(const BufferPtr all, read_bytes(*file, 0, info->size));
  auto shards = shards_of(text_of(all), path);
  if (!shards.ok()) return shards.status().before("'" + path + "': ");
  return std::optional(*std::move(shards));
}

}  // namespace headrace
