#include "headrace/formats/index/list_place.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include "headrace/io/archives/archive_store.h"

namespace headrace {
namespace {

constexpr std::string_view kListVersion = "list 1 ", kListName = "list";

// Without "." and "..". The current directory has no links in it, so that the latter are taken off its end;
// in the middle they may follow a link, which only the file system can tell.
std::string absolute_path(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const size_t first_name = path.find_first_not_of("./");
  const bool is_plain = first_name == std::string::npos ||
                        (path.find("/../", first_name) == std::string::npos && !path.ends_with("/.."));
  const fs::path from = path.starts_with('/') ? fs::path() : fs::current_path(error);
  if (error) return "";
  const fs::path out = is_plain ? (from / path).lexically_normal() : fs::weakly_canonical(from / path, error);
  if (error) return "";
  std::string text = out.string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

// The part of a path before its first pattern.
std::string literal_part(const std::string& path) {
  const size_t wildcard = path.find_first_of("*?[{");
  return wildcard == std::string::npos ? path : std::string(folder_of_name(path.substr(0, wildcard)));
}

bool is_below(const std::string& path, const std::string& folder) {
  return folder == "/" ||
         (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

std::string common_folder(std::string one, const std::string& other) {
  while (!one.empty() && one != other && !is_below(other, one)) one = folder_of_name(one);
  return one;
}

}  // namespace

std::string_view folder_of_name(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, std::max<size_t>(slash, 1));
}

std::optional<ListPlace> ListPlace::of(std::span<const std::string> paths) {
  ListPlace out;
  for (const std::string& path : paths) {
    const std::string literal = literal_part(path);
    const std::string one = absolute_path(literal.empty() ? "." : literal);
    out.root_ = out.root_.empty() ? one : common_folder(std::move(out.root_), one);
    if (one.empty() || out.root_.empty()) return std::nullopt;
  }
  out.base_ = folder_of_name(out.root_);
  if (out.base_.empty()) return std::nullopt;
  return out;
}

std::string ListPlace::name_of(const std::string& path) const {
  std::string out = absolute_path(path);
  if (out != base_ && is_below(out, base_)) out.erase(0, base_ == "/" ? 1 : base_.size() + 1);
  return out;
}

std::string ListPlace::path_of(std::string_view name) const {
  if (name.starts_with('/')) return std::string(name);
  if (name.empty()) return base_;
  return base_ + (base_ == "/" ? "" : "/") + std::string(name);
}

SidecarPlace ListPlace::in_cache() const { return {std::string(kListVersion) + root_}; }

SidecarPlace ListPlace::beside() const {
  const PathParts parts = parts_there(root_);
  std::string inner = parts.rest;
  std::ranges::replace(inner, '/', '!');
  const auto named = [](std::string of) { return std::move(of) + "." + std::string(kListName); };
  if (parts.is_folder)
    return SidecarPlace::beside(parts.there, inner.empty() ? std::string(kListName) : named(inner));
  const std::filesystem::path file(parts.there);
  return SidecarPlace::beside(file.parent_path().string(),
                              named(file.filename().string() + (inner.empty() ? "" : "!" + inner)));
}

SidecarPlace ListPlace::beside_folder() const { return SidecarPlace::beside(root_, kListName); }

std::optional<ListIndex> stored_list(const SidecarPlace& place) {
  const std::unique_ptr<SidecarFile> file = open_sidecar(place);
  if (!file) return std::nullopt;
  return list_index_from([&](std::string_view name) {
    auto bytes = file->section(name);
    return bytes.ok() ? *std::move(bytes) : BufferPtr();
  });
}

Status store_list(const SidecarPlace& place, const ListIndex& index) {
  return store_made_sidecar(place, list_index_sections(index));
}

namespace {

// Nothing if others hold the lock for longer than an error can wait. Without it, what they store meanwhile
// may be lost, which only costs time, or may bring back what is forgotten, which is found out again.
std::optional<SidecarLock> lock_soon(const SidecarPlace& place) {
  constexpr int kTries = 100;
  constexpr auto kPause = std::chrono::milliseconds(10);
  for (int i = 0; i < kTries; ++i) {
    auto lock = SidecarLock::try_take(place);
    if (lock.ok()) return std::optional<SidecarLock>(*std::move(lock));
    if (lock.status().code() != Code::unavailable) break;
    std::this_thread::sleep_for(kPause);
  }
  return std::nullopt;
}

}  // namespace

std::function<void()> forgetting_names(const SidecarPlace& place, const SidecarPlace& in_cache) {
  return [place, in_cache, is_done = std::make_shared<std::atomic<bool>>(false)] {
    if (is_done->exchange(true)) return;
    ListIndex records;
    {
      const auto lock = lock_soon(place);
      auto index = stored_list(place);
      if (!index) return;
      records.records = std::move(index->records);
      if (store_list(place, records).ok() || place.is_cache()) return;
    }
    const auto lock = lock_soon(in_cache);
    (void)store_list(in_cache, records);
  };
}

}  // namespace headrace
