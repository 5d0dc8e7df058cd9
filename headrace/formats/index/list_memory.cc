#include "headrace/formats/index/list_memory.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "headrace/formats/index/unchanged.h"
#include "headrace/io/system.h"

namespace headrace {
namespace {

// A folder that changed just before a name in it was looked up may change again within one tick of the file
// system's clock, which may not be ours: what was found there is not stored.
constexpr int64_t kTick = 50'000'000, kTickOfServer = 2'000'000'000;
constexpr size_t kMostNames = size_t{1} << 22, kMostHeads = 16;
bool is_no_name(const Status& failure) { return failure.error_number() == ENOENT; }

int64_t now_ns() { return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

template <class Map, class Drop> void drop_if(Map& map, const Drop& drop) {
  for (auto it = map.begin(); it != map.end();) it = drop(it->first) ? map.erase(it) : std::next(it);
}

// Whether a folder, or a file, has not changed for so long that another change would show. `asked_ns`: before
// it was looked at. `folder`: the path of it, or of the file's.
bool has_settled(const FileInfo& info, const std::string& folder, int64_t asked_ns) {
  if (info.changed_ns + kTickOfServer <= asked_ns) return true;
  return info.changed_ns + kTick <= asked_ns && has_times_of_this_machine(folder);
}

// Takes out what was known of the names in a folder, which may be others by now.
void forget_names(ListIndex& index, std::string_view folder) {
  const auto is_in = [&](const std::string& name) { return folder_of_name(name) == folder; };
  drop_if(index.names, is_in), drop_if(index.heads, is_in);
  if (const auto it = index.entries.find(folder); it != index.entries.end()) index.entries.erase(it);
  if (const auto it = index.folders.find(folder); it != index.folders.end()) index.folders.erase(it);
}

// Takes out the indexes of files that are gone from a folder.
void forget_lost(ListIndex& index, std::string_view folder, const std::string& path, Store& store) {
  const auto there = store.entries_readable(path);
  if (!there.ok() || !there->unread.empty()) return;
  std::set<std::string_view> names;
  for (size_t i = 0; i < there->files.size(); ++i) names.insert(there->files[i]);
  drop_if(index.records, [&](const std::string& key) {
    const std::string_view name = std::string_view(key).substr(key.find('\0') + 1);
    return folder_of_name(name) == folder && !names.contains(name.substr(name.rfind('/') + 1));
  });
}

// The file of each folder that was written last, the newest first.
using NamePtr = const std::pair<const std::string, ListIndex::Name>*;
std::vector<NamePtr> last_written(const ListIndex& index) {
  std::unordered_map<std::string_view, NamePtr> of_folders;
  const auto is_newer = [](NamePtr a, NamePtr b) {
    return std::pair(a->second.info.mtime_ns, b->first) > std::pair(b->second.info.mtime_ns, a->first);
  };
  for (const auto& one : index.names) {
    if (!one.second.is_there) continue;
    NamePtr& last = of_folders.try_emplace(folder_of_name(one.first), &one).first->second;
    if (is_newer(&one, last)) last = &one;
  }
  std::vector<NamePtr> out;
  for (const auto& [folder, last] : of_folders) out.push_back(last);
  std::ranges::sort(out, is_newer);
  return out;
}

using LookedAt = std::map<std::string, std::optional<FileInfo>, std::less<>>;
using Folders = std::map<std::string, FileInfo, std::less<>>;

bool is_empty(const ListIndex& learned) {
  return learned.records.empty() && learned.names.empty() && learned.entries.empty() &&
         learned.listings.empty();
}

// The folders of which something was learned, as they were before, if they still are. What was learned of
// others, which may have changed meanwhile, is taken out.
Folders keep_settled(ListIndex& learned, const LookedAt& before, const ListPlace& place, Store& store,
                     int64_t asked_ns) {
  std::set<std::string, std::less<>> folders;
  for (const auto& [name, one] : learned.names) folders.emplace(folder_of_name(name));
  for (const auto& [folder, entries] : learned.entries) folders.insert(folder);
  Folders out;
  for (const std::string& folder : folders) {
    const auto then = before.find(folder);
    if (then == before.end() || !then->second) continue;
    const std::string path = place.path_of(folder);
    const auto now = store.info(path);
    if (now.ok() && is_same(*now, *then->second) && has_settled(*then->second, path, asked_ns))
      out.emplace(folder, *then->second);
  }
  std::erase_if(learned.names, [&](const auto& one) {
    const auto folder = out.find(folder_of_name(one.first));
    if (folder == out.end() || !has_settled(one.second.info, place.path_of(folder->first), asked_ns))
      return true;
    std::error_code failure;  // what a link leads to may change while its folder does not
    return std::filesystem::is_symlink(place.path_of(one.first), failure);
  });
  std::erase_if(learned.entries, [&](const auto& one) { return !out.contains(one.first); });
  return out;
}

// Takes out of what is known what is no longer so; with `all`, of all folders that were looked at.
void forget_changed(ListIndex& known, const LookedAt& looked_at, bool all, const ListPlace& place,
                    Store& store) {
  for (const auto& [folder, now] : looked_at) {
    const auto then = known.folders.find(folder);
    const bool has_changed = then != known.folders.end() && (!now || !is_same(*now, then->second));
    if (has_changed || all) forget_names(known, folder);
    if (has_changed && now) forget_lost(known, folder, place.path_of(folder), store);
  }
}

SidecarPlace place_of(const ListPlace& place, bool beside) {
  return beside ? place.beside() : place.in_cache();
}

}  // namespace

ListMemory::ListMemory(Store& store, std::span<const std::string> paths, bool beside)
    : store_(store),
      beside_(beside),
      place_(store.persistent() ? ListPlace::of(paths) : std::nullopt),
      begun_ns_(now_ns()) {
  if (!place_) return;
  at_ = place_of(*place_, beside_);
  if (!beside_ || !make_folder_of(*at_).ok()) return;  // storing it says why
  // Making its folder has changed that of the data, in which names are looked up from now on.
  const std::string data_folder(folder_of_name(at_->folder()));
  const auto info = store_.info(data_folder);
  const int64_t tick = has_times_of_this_machine(data_folder) ? kTick : kTickOfServer;
  const int64_t left = info.ok() ? info->changed_ns + tick - begun_ns_ : 0;
  if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, tick)));
  begun_ns_ = now_ns();
}

void ListMemory::load() {
  if (is_loaded_ || !place_) return;
  is_loaded_ = true;
  known_ = {};
  const auto read = [this](const SidecarPlace& place) {
    auto index = stored_list(place);
    if (!index) return false;
    known_ = *std::move(index), at_ = place;
    return true;
  };
  // What is next to the data helps those who have nothing of their own.
  if ((beside_ && read(place_->beside())) || read(place_->in_cache()) || beside_) return;
  if (look_at(place_->name_of(place_->path())) && read(place_->beside_folder())) return;
  (void)read(place_->beside());
}

const FileInfo* ListMemory::look_at(const std::string& folder) {
  const auto [it, is_first] = looked_at_.try_emplace(folder);
  if (is_first)
    if (const auto info = store_.info(place_->path_of(folder));
        info.ok() && info->is_directory && info->changed_ns != 0)
      it->second = *info;
  return it->second ? &*it->second : nullptr;
}

bool ListMemory::is_believed(const std::string& folder) {
  load();
  if (!recalls_ || !place_) return false;
  const auto then = known_.folders.find(folder);
  if (then == known_.folders.end()) return false;
  const FileInfo* now = look_at(folder);
  return now && is_same(*now, then->second);
}

const ListIndex::Name* ListMemory::known(const std::string& name) {
  load();
  const auto it = known_.names.find(name);
  return it != known_.names.end() && is_believed(std::string(folder_of_name(name))) ? &it->second : nullptr;
}

bool ListMemory::is_borne_out_by_two(const std::string& name, const ListIndex::Name& found) {
  const auto is_still = [&](const std::string& one, const FileInfo& then) {
    const auto now = store_.info(place_->path_of(one));
    return now.ok() && is_same(*now, then);
  };
  if (!is_still(name, found.info)) return false;
  for (const auto* last : last_written(known_))
    if (is_believed(std::string(folder_of_name(last->first))))  // else it is looked up anyway
      return last->first == name || is_still(last->first, last->second.info);
  return true;
}

std::optional<FileInfo> ListMemory::recall(const std::string& path) {
  const std::lock_guard lock(mutex_);
  load();
  if (!place_) return std::nullopt;
  const std::string name = place_->name_of(path);
  (void)look_at(std::string(folder_of_name(name)));  // before the caller looks up what is not known
  if (!recalls_ || known_.names.empty()) return std::nullopt;
  const ListIndex::Name* found = known(name);
  if (!found || !found->is_there) return std::nullopt;
  if (!std::exchange(has_checked_, true)) {
    recalls_ = is_borne_out_by_two(name, *found);
    if (!recalls_) return std::nullopt;
  }
  unchecked_.try_emplace(path, found->info);
  has_recalled_ = true;
  FileInfo out = found->info;
  out.is_recalled = true;
  return out;
}

bool ListMemory::is_absent(const std::string& path) {
  const std::lock_guard lock(mutex_);
  load();
  if (!place_) return false;
  const std::string name = place_->name_of(path);
  (void)look_at(std::string(folder_of_name(name)));
  const ListIndex::Name* found = recalls_ ? known(name) : nullptr;
  return found && !found->is_there;
}

std::optional<Entries> ListMemory::entries(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  load();
  if (!place_) return std::nullopt;
  const std::string name = place_->name_of(folder);
  (void)look_at(name);
  const auto it = known_.entries.find(name);
  return it != known_.entries.end() && is_believed(name) ? std::optional(it->second) : std::nullopt;
}

std::shared_ptr<const Listing> ListMemory::listing(const std::string& root) {
  const std::lock_guard lock(mutex_);
  load();
  if (!recalls_ || known_.listings.empty()) return nullptr;
  const std::string name = place_->name_of(root);
  const auto it = known_.listings.find(name);
  if (it == known_.listings.end() || it->second.directories.empty()) return nullptr;
  const Listing& out = it->second;
  for (size_t i = 0; i < out.directories.size(); ++i) {
    const std::string_view below = out.directories[i];
    const FileInfo* now = look_at(below.empty() ? name : name + "/" + std::string(below));
    if (!now || now->changed_ns != out.changed_ns[i]) return nullptr;
  }
  return std::make_shared<const Listing>(out);
}

std::optional<std::string> ListMemory::head(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!place_) return std::nullopt;
  const auto it = known_.heads.find(place_->name_of(path));
  return it == known_.heads.end() ? std::nullopt : std::optional(it->second);
}

void ListMemory::learn(const std::string& path, const Result<FileInfo>& info) {
  const std::lock_guard lock(mutex_);
  if (!place_ || learned_.names.size() >= kMostNames) return;
  if (info.ok() ? info->is_directory : !is_no_name(info.status())) return;
  const std::string name = place_->name_of(path);
  if (look_at(std::string(folder_of_name(name))))
    learned_.names.insert_or_assign(name, ListIndex::Name{info.ok(), info.ok() ? *info : FileInfo()});
}

void ListMemory::learn_entries(const std::string& folder, const Entries& entries) {
  const std::lock_guard lock(mutex_);
  if (!place_ || !entries.unread.empty()) return;
  const std::string name = place_->name_of(folder);
  if (look_at(name)) learned_.entries.insert_or_assign(name, entries);
}

void ListMemory::learn_listing(const std::string& root, const Listing& listing) {
  const std::lock_guard lock(mutex_);
  const bool is_whole = listing.problems.empty() && listing.unread.empty() && !listing.directories.empty() &&
                        listing.changed_ns.size() == listing.directories.size();
  if (!place_ || !is_whole) return;
  const auto settled = [&](int64_t changed_ns) {
    return has_settled({.changed_ns = changed_ns}, root, begun_ns_);
  };
  if (std::ranges::all_of(listing.changed_ns, settled))
    learned_.listings.insert_or_assign(place_->name_of(root), listing);
}

void ListMemory::learn_head(const std::string& path, std::string head) {
  const std::lock_guard lock(mutex_);
  if (place_ && learned_.heads.size() < kMostHeads)
    learned_.heads.insert_or_assign(place_->name_of(path), std::move(head));
}

std::optional<ListIndex::Records> ListMemory::find(std::string_view kind, const std::string& path) {
  const std::lock_guard lock(mutex_);
  load();
  if (!place_) return std::nullopt;
  const std::string key = records_key(kind, place_->name_of(path));
  for (const ListIndex* index : {&learned_, &known_})
    if (const auto it = index->records.find(key); it != index->records.end()) return it->second;
  return std::nullopt;
}

void ListMemory::keep(std::string_view kind, const std::string& path, ListIndex::Records records) {
  const std::lock_guard lock(mutex_);
  if (!place_) return;
  // What was written a moment ago may be written again within one tick of the clock: its bytes tell.
  const std::string folder(folder_of_name(place_->name_of(path)));
  if (!has_settled(records.file, place_->path_of(folder), begun_ns_)) records.file.changed_ns = 0;
  learned_.records.insert_or_assign(records_key(kind, place_->name_of(path)), std::move(records));
}

void ListMemory::was_wrong() {
  const std::lock_guard lock(mutex_);
  recalls_ = false, is_wrong_ = true;
}

void ListMemory::was_checked(const std::string& path) {
  const std::lock_guard lock(mutex_);
  unchecked_.erase(path);
}

bool ListMemory::bears_out(const Result<SourcePtr>& source) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, FileInfo> unchecked = std::exchange(unchecked_, {});
  const bool is_true = !is_wrong_ && (source.ok() || !has_recalled_);
  for (uint64_t i = 0; is_true && !unchecked.empty() && source.ok() && i < (*source)->num_files(); ++i) {
    const SourceFile* file = (*source)->known_file(i);
    if (!file || !file->recalled) continue;
    unchecked.erase(file->path);
    if (!file->recalled->drop) file->recalled->drop = forgetting_names(*at_, place_->in_cache());
    // What another tool wrote beside a file was read when its index was made, and that is of the same file.
    for (const std::string& beside : file->beside) unchecked.erase(beside);
  }
  const bool are_same = is_true && std::ranges::all_of(unchecked, [&](const auto& one) {
                          const auto now = store_.info(one.first);
                          return now.ok() && is_same(*now, one.second);
                        });
  if (!are_same) recalls_ = false;
  return are_same;
}

Result<SidecarLock> ListMemory::lock(const StopFlag* stop) {
  if (!place_) return Status(Code::io, "there is no place for an index");
  return SidecarLock::take(place_of(*place_, beside_), stop);
}

void ListMemory::reload() {
  const std::lock_guard lock(mutex_);
  is_loaded_ = false;
  load();
}

std::string ListMemory::path() {
  const std::lock_guard lock(mutex_);
  return at_ ? at_->path() : "";
}

// What is stored, without what is no longer so, and with what was learned.
Status ListMemory::save(bool is_locked) {
  const std::lock_guard guard(mutex_);
  if (!place_ || (learned_.records.empty() && known_.records.empty()) || is_empty(learned_)) return {};
  const Folders settled = keep_settled(learned_, looked_at_, *place_, store_, begun_ns_);
  if (is_empty(learned_)) return {};
  std::optional<SidecarLock> held;
  if (!is_locked) {
    // Those who hold it store much the same, and what they do not is found out again: nobody waits for that.
    auto taken = SidecarLock::try_take(place_of(*place_, beside_));
    if (taken.status().code() == Code::unavailable) return taken.status();
    if (taken.ok()) held.emplace(*std::move(taken));
  }
  is_loaded_ = false;
  load();  // others may have stored more in the meantime
  forget_changed(known_, looked_at_, !recalls_, *place_, store_);
  for (const auto& [folder, info] : settled) known_.folders.insert_or_assign(folder, info);
  for (const auto& [name, one] : learned_.names) {
    known_.names.insert_or_assign(name, one), known_.heads.erase(name);
    if (const auto head = learned_.heads.find(name); head != learned_.heads.end()) known_.heads.insert(*head);
  }
  for (const auto& [folder, entries] : learned_.entries) known_.entries.insert_or_assign(folder, entries);
  for (const auto& [root, listing] : learned_.listings) known_.listings.insert_or_assign(root, listing);
  for (const auto& [key, records] : learned_.records) known_.records.insert_or_assign(key, records);
  learned_ = {};
  at_ = place_of(*place_, beside_);
  return store_list(*at_, known_);
}

}  // namespace headrace
