#include "headrace/io/archives/archive_store.h"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "headrace/core/text/text.h"
#include "headrace/io/archives/archive.h"
#include "headrace/io/look_up.h"

namespace headrace {
namespace {

// Limits of archives that are kept open: memory of their directories, and their number.
constexpr size_t kMostHeld = size_t{1} << 30, kMostOpen = 512;

// For a path that leads through an archive.
struct Inside {
  std::shared_ptr<const Archive> archive;
  FileInfo file;     // of the archive
  std::string path;  // clean
};

class Archives {
 public:
  explicit Archives(std::shared_ptr<Store> files) : files_(std::move(files)) {}

  // The archive at `path`, whose file is `info`; null where it is not one.
  Result<std::shared_ptr<const Archive>> at(std::string_view path, const FileInfo& info);
  // The part of `path` before a slash that was an archive when last checked; "" when there is none.
  std::string_view known(std::string_view path) const;
  void forget(std::string_view path);

 private:
  struct Slot {
    std::shared_mutex opening;               // held exclusively while opening
    FileInfo info;                           // this and the next: guarded by opening
    std::shared_ptr<const Archive> archive;  // null: not opened
    std::atomic<size_t> held{0};
    std::atomic<uint64_t> used{0};
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::shared_ptr<Slot> slot_of(std::string_view path);
  void drop_some(const Slot& but);

  const std::shared_ptr<Store> files_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Slot>, Hash, std::equal_to<>> slots_;  // guarded by mutex_
  std::atomic<size_t> num_slots_{0};
  std::atomic<uint64_t> clock_{0};  // counts uses
};

std::string_view Archives::known(std::string_view path) const {
  if (num_slots_.load(std::memory_order_relaxed) == 0) return {};
  const std::shared_lock lock(mutex_);
  for (size_t slash = path.find('/', 1); slash != std::string_view::npos; slash = path.find('/', slash + 1))
    if (slots_.contains(path.substr(0, slash))) return path.substr(0, slash);
  return {};
}

void Archives::forget(std::string_view path) {
  const std::unique_lock lock(mutex_);
  if (const auto it = slots_.find(path); it != slots_.end()) slots_.erase(it);
  num_slots_ = slots_.size();
}

std::shared_ptr<Archives::Slot> Archives::slot_of(std::string_view path) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto it = slots_.find(path); it != slots_.end()) return it->second;
  }
  const std::unique_lock lock(mutex_);
  auto& slot = slots_[std::string(path)];
  if (!slot) slot = std::make_shared<Slot>();
  num_slots_ = slots_.size();
  return slot;
}

// Drops the least recently used archive; files that are open keep it alive.
void Archives::drop_some(const Slot& but) {
  std::vector<std::shared_ptr<Slot>> dropped;  // freed without the lock
  const std::unique_lock lock(mutex_);
  while (true) {
    size_t held = 0;
    auto oldest = slots_.end();
    for (auto it = slots_.begin(); it != slots_.end(); ++it) {
      held += it->second->held;
      if (it->second.get() != &but && (oldest == slots_.end() || it->second->used < oldest->second->used))
        oldest = it;
    }
    if (oldest == slots_.end() || (held <= kMostHeld && slots_.size() <= kMostOpen)) break;
    dropped.push_back(oldest->second);
    slots_.erase(oldest);
  }
  num_slots_ = slots_.size();
}

Result<std::shared_ptr<const Archive>> Archives::at(std::string_view path, const FileInfo& info) {
  const std::shared_ptr<Slot> slot = slot_of(path);
  slot->used.store(clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  const auto is_current = [&] {
    const FileInfo& then = slot->info;
    return slot->archive && then.size == info.size && then.mtime_ns == info.mtime_ns &&
           then.changed_ns == info.changed_ns;
  };
  if (const std::shared_lock lock(slot->opening); is_current()) return slot->archive;
  const std::unique_lock lock(slot->opening);
  if (is_current()) return slot->archive;
  slot->archive = nullptr;
  auto opened = [&]() -> Result<std::shared_ptr<const Archive>> {
    HEADRACE_ASSIGN(std::shared_ptr<OpenFile> file, files_->open(std::string(path)));
    return open_archive(std::move(file));
  }();
  if (!opened.ok() || !*opened) {
    forget(path);
    return opened;
  }
  slot->archive = *opened, slot->info = info, slot->held = (*opened)->held_bytes();
  drop_some(*slot);
  return opened;
}

class ArchiveStore final : public Store {
 public:
  explicit ArchiveStore(std::shared_ptr<Store> files) : files_(std::move(files)), archives_(files_) {}

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    return open_in(path, [&] { return files_->open(path); });
  }
  Result<std::unique_ptr<OpenFile>> open_known(const std::string& path) override {
    return open_in(path, [&] { return files_->open_known(path); });
  }

  Result<FileInfo> info(const std::string& path) override {
    const auto outside = [&] { return files_->info(path); };
    return look<FileInfo>(path, false, outside, [&](const Inside& inside) -> Result<FileInfo> {
      FileInfo out = inside.file;  // its times apply to everything in the archive
      const auto number = inside.archive->names().find(inside.path);
      out.is_directory = !number;
      out.size = number ? inside.archive->size_of(*number) : 0;
      if (!number && !inside.archive->names().has_folder(inside.path))
        return not_there("cannot access ", path);
      return out;
    });
  }

  Result<Listing> list(const std::string& root) override {
    return whole(root, list_in(root, [&] { return files_->list(root); }));
  }
  Result<Listing> list_readable(const std::string& root) override {
    return list_in(root, [&] { return files_->list_readable(root); });
  }
  Result<Entries> entries(const std::string& folder) override {
    return whole(folder, entries_in(folder, [&] { return files_->entries(folder); }));
  }
  Result<Entries> entries_readable(const std::string& folder) override {
    return entries_in(folder, [&] { return files_->entries_readable(folder); });
  }

  bool persistent() const override { return files_->persistent(); }
  size_t reads_at_first() const override { return files_->reads_at_first(); }

 private:
  template <class Outside>
  Result<std::unique_ptr<OpenFile>> open_in(const std::string& path, const Outside& outside) {
    return look<std::unique_ptr<OpenFile>>(
        path, false, outside, [&](const Inside& inside) -> Result<std::unique_ptr<OpenFile>> {
          const auto number = inside.archive->names().find(inside.path);
          if (number) {
            auto file = inside.archive->open(*number, inside.archive);
            return file.ok() ? std::move(file)
                             : file.status().before("cannot read " + in_quotes(path) + ": ");
          }
          if (inside.archive->names().has_folder(inside.path))
            return Status(Code::io, "cannot read " + in_quotes(path) + ": it is a folder")
                .refused(EISDIR, path);
          return not_there("cannot read ", path);
        });
  }

  template <class Outside> Result<Listing> list_in(const std::string& root, const Outside& outside) {
    return look<Listing>(root, true, outside, [&](const Inside& inside) -> Result<Listing> {
      if (!inside.archive->names().has_folder(inside.path)) return no_folder(inside, root);
      return inside.archive->names().list(inside.path);
    });
  }

  template <class Outside> Result<Entries> entries_in(const std::string& folder, const Outside& outside) {
    return look<Entries>(folder, true, outside, [&](const Inside& inside) -> Result<Entries> {
      if (!inside.archive->names().has_folder(inside.path)) return no_folder(inside, folder);
      return inside.archive->names().entries(inside.path);
    });
  }

  // An error if something could not be examined.
  template <class T> static Result<T> whole(const std::string& folder, Result<T> listed) {
    if (!listed.ok() || listed->unread.empty()) return listed;
    const Listing::Problem& first = listed->unread[0];
    const std::string path = folder + (folder.ends_with('/') ? "" : "/") + first.path;
    return cannot_examine(Status(Code::io, first.reason).in_file(path).refused(ENOENT, path), path);
  }

  static Status not_there(std::string_view what, const std::string& path) {
    return Status(Code::not_found,
                  std::string(what) + in_quotes(path) + ": the archive has no such file or folder")
        .refused(ENOENT, path);
  }

  static Status no_folder(const Inside& inside, const std::string& path) {
    if (!inside.archive->names().find(inside.path)) return not_there("cannot list ", path);
    return Status(Code::io, "cannot list " + in_quotes(path) +
                                ": it is a file in an archive, and archives in archives are not read; unpack "
                                "the outer one first")
        .refused(ENOTDIR, path);
  }

  // Calls `inside` for a path that leads through an archive, or to one where `itself`; otherwise returns the
  // answer of the file store.
  template <class T, class Outside, class In>
  Result<T> look(const std::string& path, bool itself, const Outside& outside, const In& inside) {
    if (const std::string_view archive = archives_.known(path); !archive.empty()) {
      auto there = through(archive, path);
      if (there.ok() && *there) return inside(**there);
      if (!there.ok()) return there.status();
    }
    auto out = outside();
    if (out.ok() || out.status().code() != Code::not_found) return out;
    auto there = find(path, itself);
    if (!there.ok()) return there.status();
    return *there ? inside(**there) : std::move(out);
  }

  // The longest prefix that is a file, if that is an archive.
  Result<std::optional<Inside>> find(const std::string& path, bool itself) {
    for (size_t end = itself ? path.size() : path.rfind('/'); end != std::string::npos && end > 0;
         end = path.rfind('/', end - 1)) {
      const auto info = files_->info(path.substr(0, end));
      if (info.ok())
        return info->is_directory ? std::optional<Inside>()
                                  : through(std::string_view(path).substr(0, end), path);
      if (!is_absent(info.status())) return info.status();
    }
    return std::optional<Inside>();
  }

  Result<std::optional<Inside>> through(std::string_view archive, const std::string& path) {
    const auto info = files_->info(std::string(archive));
    if (!info.ok() && !is_absent(info.status())) return info.status();
    if (!info.ok() || info->is_directory) {
      archives_.forget(archive);
      return std::optional<Inside>();
    }
    auto opened = archives_.at(archive, *info);
    if (!opened.ok()) return opened.status().in_file(archive);
    if (!*opened) return std::optional<Inside>();
    auto inner = clean_path(std::string_view(path).substr(archive.size()));
    if (!inner) return not_there("cannot access ", path);
    return std::optional<Inside>({*std::move(opened), *info, *std::move(inner)});
  }

  std::shared_ptr<Store> files_;
  Archives archives_;
};

}  // namespace

std::shared_ptr<Store> with_archives(std::shared_ptr<Store> store) {
  return std::make_shared<ArchiveStore>(std::move(store));
}

std::string_view archive_kind(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  // An empty zip is only its directory.
  if (text.starts_with("PK\3\4") || text.starts_with("PK\5\6")) return "zip";
  return text.starts_with("hsqs") ? "squashfs" : "";
}

Result<std::shared_ptr<const Archive>> open_archive(std::shared_ptr<OpenFile> file) {
  HEADRACE_ASSIGN(const uint64_t size, file->size());
  HEADRACE_ASSIGN(const BufferPtr head, read_bytes(*file, 0, std::min<uint64_t>(size, kArchiveHead)));
  const std::string_view kind = archive_kind(head->bytes());
  if (kind == "zip") return open_zip(std::move(file));
  if (kind == "squashfs") return open_squashfs(std::move(file));
  return std::shared_ptr<const Archive>();
}

PathParts parts_there(const std::string& path) {
  std::error_code error;
  for (size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('/', end - 1)) {
    const std::string there = path.substr(0, end);
    const auto status = std::filesystem::status(there, error);
    if (!std::filesystem::exists(status)) continue;
    const size_t rest = path.find_first_not_of('/', end);
    return {there, rest == std::string::npos ? "" : path.substr(rest), std::filesystem::is_directory(status)};
  }
  return {};
}

std::string folder_for_keeping(const std::string& path) {
  const PathParts parts = parts_there(path);
  if (parts.is_folder && parts.rest.empty()) return parts.there;
  const std::string& file = parts.there.empty() || parts.is_folder ? path : parts.there;
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace headrace
