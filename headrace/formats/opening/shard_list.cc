#include "headrace/formats/opening/shard_list.h"

#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/core/value.h"
#include "headrace/formats/index/unchanged.h"
#include "headrace/io/look_up.h"

namespace headrace {
namespace {

constexpr uint64_t kHead = 4096, kMost = uint64_t{64} << 20;
constexpr uint64_t kMostList = uint64_t{512} << 20;  // of FormatInfo::list: a million shards

std::string text_of(const BufferPtr& bytes) {
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

Result<std::string> shard_of(const Value& entry, const std::string& folder) {
  HEADRACE_ASSIGN(std::string url, entry.get_text("url"));
  if (url.starts_with("file:")) url.erase(0, url.starts_with("file://") ? 7 : 5);
  if (url.find("://") != std::string::npos || url.starts_with("pipe:"))
    return Status(Code::unavailable, {.expected = "shards that are files", .got = in_quotes(url)});
  return url.starts_with('/') ? url : folder + url;
}

Result<std::vector<std::string>> shards_of(const std::string& text, const std::string& path) {
  HEADRACE_ASSIGN(const Value list, Value::parse(text));
  const Value* shards = list.find("shardlist");
  if (!shards || !shards->list() || shards->list()->empty())
    return corrupt({.expected = "a 'shardlist' of at least one shard", .got = "none"});
  std::vector<std::string> out;
  for (const Value& entry : *shards->list()) {
    HEADRACE_ASSIGN(std::string shard, shard_of(entry, path.substr(0, path.rfind('/') + 1)));
    out.push_back(std::move(shard));
  }
  return out;
}

// Names in a list may only refer to files in its folder.
bool stays_in_folder(const std::string& name) {
  if (name.empty() || name.starts_with('/') || name.find('\0') != std::string::npos) return false;
  for (size_t at = 0; at != std::string::npos && at < name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    if (name.compare(at, end - at, "..") == 0) return false;
    at = end + 1;
  }
  return true;
}

Result<SourceFile> listed_file(Store& store, const std::string& folder, const ListedFile& file) {
  Status missing;
  for (const std::string* name : {&file.name, &file.otherwise}) {
    if (name->empty() && name == &file.otherwise) continue;
    if (!stays_in_folder(*name))
      return corrupt({.expected = "names of files in its folder", .got = in_quotes(*name)});
    const auto info = store.info(folder + *name);
    if (info.ok() && !info->is_directory) return source_file(folder + *name, *info);
    if (!info.ok() && !is_absent(info.status())) return info.status();
    missing = info.ok() ? invalid({.expected = "a file", .got = "the folder " + in_quotes(folder + *name)})
                        : info.status();
  }
  return missing;
}

}  // namespace

Status take_list(const FormatInfo& format, Store& store, OpenRequest& request) {
  if (!format.list) return {};
  HEADRACE_ASSIGN(const std::string path, format.list(request.path(), request));
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, store.open(path));
  HEADRACE_ASSIGN(const uint64_t size, file->size());
  if (size > kMostList)
    return Status(Code::exhausted, {.expected = "a list of at most " + std::to_string(kMostList) + " bytes",
                                    .got = std::to_string(size)})
        .in_file(path);
  HEADRACE_ASSIGN(const BufferPtr bytes, read_bytes(*file, 0, size));
  request.list = text_of(bytes);
  const auto listed = format.listed(request.list);
  if (!listed.ok()) return listed.status().in_file(path);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::vector<SourceFile>& files = request.probes[0].files;
  files.clear();
  for (const ListedFile& one : *listed) {
    auto found = listed_file(store, folder, one);
    if (!found.ok()) return found.status().in_file(path);
    files.push_back(*std::move(found));
  }
  return {};
}

Result<std::optional<std::vector<std::string>>> listed_shards(Store& store, const std::string& path) {
  if (!path.ends_with(".json")) return std::optional<std::vector<std::string>>();
  HEADRACE_ASSIGN(const auto info, find(store, path));
  if (!info || info->is_directory || info->size > kMost) return std::optional<std::vector<std::string>>();
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, store.open(path));
  HEADRACE_ASSIGN(const BufferPtr head, read_bytes(*file, 0, std::min(info->size, kHead)));
  if (text_of(head).find("\"wids-shard-index-v") == std::string::npos)
    return std::optional<std::vector<std::string>>();
  HEADRACE_ASSIGN(const BufferPtr all, read_bytes(*file, 0, info->size));
  auto shards = shards_of(text_of(all), path);
  if (!shards.ok()) return shards.status().in_file(path);
  return std::optional(*std::move(shards));
}

}  // namespace headrace
