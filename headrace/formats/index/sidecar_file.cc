// Where sidecars are stored: the part of sidecar.h that accesses files.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "headrace/core/stop_flag.h"
#include "headrace/core/text/text.h"
#include "headrace/core/value.h"
#include "headrace/formats/index/sidecar.h"
#include "headrace/io/bounded_file.h"
#include "headrace/io/new_file.h"
#include "headrace/io/store.h"
#include "headrace/io/system.h"

namespace headrace {
namespace {

std::string absolute_variable(const char* name) {
  const char* value = std::getenv(name);
  return value && value[0] == '/' ? value : "";
}

std::string cache_folder() {
  const std::string cache = absolute_variable("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/headrace";
  const std::string home = absolute_variable("HOME");
  return home.empty() ? "" : home + "/.cache/headrace";
}

// Whether the last part of `path` is a folder owned by this user and not writable by others.
bool is_ours(const std::string& path) {
  struct stat s;
  return ::lstat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == ::geteuid() &&
         (s.st_mode & 022) == 0;
}

Status make_cache_folder(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    (void)::mkdir(path.substr(0, slash).c_str(),
                  0700);  // an existing one is fine; any other failure shows below
  (void)::mkdir(path.c_str(), 0700);
  if (is_ours(path)) return {};
  return Status(Code::io, {.expected = "a folder that only this user may write to", .got = in_quotes(path)})
      .in_option("sidecar");
}

// Whatever the umask says: others may write to what is made only where they may write to the data's folder,
// for it is not read otherwise (is_as_safe()).
Status as_open_as_data(const std::string& path, const SidecarPlace& place, mode_t more) {
  struct stat s;
  if (::stat((place.folder() + "/..").c_str(), &s) != 0)
    return system_error("cannot look at", place.folder());
  const mode_t others = (s.st_mode & S_ISVTX) != 0 ? 0 : s.st_mode & 022;
  if (::chmod(path.c_str(), 0644 | more | others) == 0) return {};
  return system_error("cannot set who may write to", path);
}

// Whether only those may have written what is next to data who may replace the data: then it is as true as
// these. Others who may write to the folder of sidecars alone must not decide what is read.
bool is_as_safe(const std::string& path, const struct stat& data_folder) {
  struct stat s;
  if (::stat(path.c_str(), &s) != 0) return false;
  const auto all_may = [&](mode_t who) {
    return (data_folder.st_mode & who) != 0 && (data_folder.st_mode & S_ISVTX) == 0;
  };
  const bool by_all = all_may(S_IWOTH),
             by_group = by_all || (all_may(S_IWGRP) && s.st_gid == data_folder.st_gid);
  if ((s.st_mode & S_IWOTH) != 0 && !by_all) return false;
  if ((s.st_mode & S_IWGRP) != 0 && !by_group) return false;
  return s.st_uid == ::geteuid() || s.st_uid == 0 || s.st_uid == data_folder.st_uid || by_group;
}

int64_t time_shown(int descriptor) {
  struct stat s;
  return ::fstat(descriptor, &s) == 0 ? s.st_mtim.tv_sec * int64_t{1'000'000'000} + s.st_mtim.tv_nsec : 0;
}

bool is_trusted(const SidecarPlace& place) {
  const std::string folder = place.folder();
  if (place.is_cache()) return is_ours(folder);
  struct stat data_folder;
  if (::stat((folder + "/..").c_str(), &data_folder) != 0) return false;
  return is_as_safe(folder, data_folder) && is_as_safe(place.path(), data_folder);
}

}  // namespace

Status make_folder_of(const SidecarPlace& place) {
  if (place.path().empty()) return {Code::io, "sidecar: expected $XDG_CACHE_HOME or $HOME to be set"};
  if (place.is_cache()) return make_cache_folder(place.folder());
  // Next to the data: for all its readers.
  if (::mkdir(place.folder().c_str(), 0777) == 0) return as_open_as_data(place.folder(), place, 0111);
  return errno == EEXIST ? Status() : system_error("cannot create", place.folder());
}

Result<std::string> own_cache_folder(std::string_view name) {
  const std::string folder = cache_folder();
  if (folder.empty()) return Status(Code::io, "cache folder: expected $XDG_CACHE_HOME or $HOME to be set");
  HEADRACE_TRY(make_cache_folder(folder));
  const std::string path = folder + "/" + std::string(name);
  HEADRACE_TRY(make_cache_folder(path));
  return path;
}

SidecarPlace::SidecarPlace(std::string_view key) : is_cache_(true) {
  const std::string folder = cache_folder();
  if (!folder.empty()) path_ = folder + "/" + hash_text(key) + ".hri";
}

SidecarPlace SidecarPlace::beside(const std::string& folder, std::string_view name) {
  return {(folder.empty() ? "." : folder) + "/.headrace/" + std::string(name) + ".hri", false};
}

std::optional<Sidecar> load_sidecar(const SidecarPlace& place, std::string_view fingerprint) {
  if (!is_trusted(place)) return std::nullopt;
  auto file = file_store()->open(place.path());
  if (!file.ok()) return std::nullopt;
  auto bytes = read_bytes(**file, 0, ~uint64_t{0});
  if (!bytes.ok()) return std::nullopt;
  auto sidecar = parse_sidecar(*std::move(bytes));
  if (!sidecar.ok()) return std::nullopt;
  if (!fingerprint.empty() && sidecar->fingerprint != fingerprint) return std::nullopt;
  return *std::move(sidecar);
}

std::unique_ptr<SidecarFile> open_sidecar(const SidecarPlace& place) {
  if (!is_trusted(place)) return nullptr;
  auto file = file_store()->open_known(place.path());
  if (!file.ok()) return nullptr;
  const auto info = (*file)->as_opened();
  if (!info.ok()) return nullptr;
  std::vector<std::byte> head(std::min<uint64_t>(info->size, kMaxSidecarTable));
  if (!read_exactly(**file, 0, head).ok()) return nullptr;
  auto table = parse_sidecar_table(head, info->size);
  return table.ok() ? std::make_unique<SidecarFile>(*std::move(table), *std::move(file)) : nullptr;
}

Status store_sidecar(const SidecarPlace& place, const Sidecar& sidecar) {
  HEADRACE_TRY(make_folder_of(place));
  HEADRACE_ASSIGN(const std::vector<std::byte> bytes, serialise_sidecar(sidecar));
  return write_atomically(place.path(), bytes);
}

Status store_made_sidecar(const SidecarPlace& place, std::span<const MadeSection> sections) {
  HEADRACE_TRY(make_folder_of(place));
  HEADRACE_ASSIGN(const std::unique_ptr<NewFile> file, NewFile::make(place.path()));
  SidecarTable table;
  uint64_t end = sidecar_table_size(sections.size());
  for (const MadeSection& section : sections) {
    const uint64_t begin = end = sidecar_section_offset(end);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    HEADRACE_TRY(section.make([&](std::span<const std::byte> bytes) -> Status {
      HEADRACE_TRY(file->write(end, bytes));
      XXH3_64bits_update(&state, bytes.data(), bytes.size());
      end += bytes.size();
      return {};
    }));
    table.sections.push_back({section.name, begin, end - begin, XXH3_64bits_digest(&state)});
  }
  HEADRACE_ASSIGN(const std::vector<std::byte> head, serialise_sidecar_table(table));
  HEADRACE_TRY(file->write(0, head));
  HEADRACE_TRY(file->commit(NewFile::Lasts::as_the_system_likes));
  return place.is_cache() ? Status() : as_open_as_data(place.path(), place, 0);
}

// The lock file's time shows that its holder goes on. It is compared with what it was before, never with a
// clock.
Result<SidecarLock> SidecarLock::take(const SidecarPlace& place, const StopFlag* stop,
                                      std::chrono::milliseconds patience) {
  HEADRACE_TRY(make_folder_of(place));
  SidecarLock lock(
      open_with_room((place.path() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(5);
  auto since = Clock::now();
  std::optional<int64_t> last;
  while (lock.descriptor_ >= 0 && ::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (stop && stop->raised()) return stopped();
    if (error == EINTR) continue;
    if (error != EWOULDBLOCK) break;
    const int64_t shown = time_shown(lock.descriptor_);
    if (std::exchange(last, shown) != shown) since = Clock::now();
    if (Clock::now() - since >= patience)
      return Status(Code::unavailable, "another process holds the lock " + in_quotes(place.path() + ".lock"));
    std::this_thread::sleep_for(kPause);
  }
  return lock;
}

void SidecarLock::goes_on() const {
  if (descriptor_ >= 0) (void)::futimens(descriptor_, nullptr);
}

SidecarLock::~SidecarLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace headrace
