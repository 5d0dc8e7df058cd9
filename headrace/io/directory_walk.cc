#include "headrace/io/directory_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>

#include "headrace/core/text/text.h"
#include "headrace/io/look_up.h"
#include "headrace/io/system.h"

namespace headrace {
namespace {

constexpr size_t kMaxDepth = 128;    // nested directories: each is a recursion
constexpr size_t kMostAbove = 1024;  // folders above the root
constexpr size_t kMaxFollowedLinks =
    100'000;  // to directories; links among n directories make n! paths through them

enum class Entry : uint8_t { file, directory, neither, unknown };

struct Identity {
  dev_t device;
  ino_t inode;
  bool operator==(const Identity&) const = default;
};

Entry kind_of(mode_t mode) {
  return S_ISREG(mode) ? Entry::file : S_ISDIR(mode) ? Entry::directory : Entry::neither;
}

// Directories may have any name, but these are far more often a mistake of the tool that unpacked the data.
bool named_like_a_file(std::string_view name) {
  constexpr std::array<std::string_view, 15> endings{".jpg", ".jpeg", ".png",      ".webp", ".bmp",
                                                     ".gif", ".tif",  ".tiff",     ".xml",  ".json",
                                                     ".txt", ".tar",  ".tfrecord", ".rec",  ".parquet"};
  for (std::string_view ending : endings)
    if (name.size() > ending.size() &&
        std::equal(ending.begin(), ending.end(), name.end() - static_cast<ptrdiff_t>(ending.size()),
                   [](char a, char b) { return a == lower_case(b); }))
      return true;
  return false;
}

// File systems of the kernel, which show processes and devices: no data.
bool is_of_the_kernel(int descriptor) {
  constexpr std::array<uint32_t, 4> kKinds{0x9fa0, 0x62656572, 0x1cd1,
                                           0x27e0eb};  // proc, sysfs, devpts, cgroup
  struct statfs s;
  return ::fstatfs(descriptor, &s) == 0 &&
         std::ranges::find(kKinds, static_cast<uint32_t>(s.f_type)) != kKinds.end();
}

class Walk {
 public:
  Walk(std::string root, Unreadable unreadable) : path_(std::move(root)), unreadable_(unreadable) {
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
    if (path_ == "/") path_.clear();  // so that path_ + '/' + name is right for it, too
    root_length_ = path_.size();
  }

  Result<Listing> run() {
    HEADRACE_TRY(enter(Way::root));
    listing_.files.shrink();
    return std::move(listing_);
  }

  Result<Entries> only_here() {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(open(here()), ::closedir);
    if (!directory) return cannot_list(here());
    Children children;
    HEADRACE_TRY(read(*directory, children));
    Entries out;
    for (const uint32_t i : in_order(children.names)) {
      const std::string_view name = children.names[i].substr(1);
      switch (children.names[i][0]) {
        case 'f': out.files.add(name); break;
        case 'u': HEADRACE_TRY(unread(name, children.unread.find(name)->second)); break;
        default: out.folders.add(name.substr(0, name.size() - 1));
      }
    }
    out.unread = std::move(listing_.unread);
    return out;
  }

 private:
  enum class Way : uint8_t { root, folder, link };  // how the walk got to a directory

  // Files "f<name>", directories "d<name>/", linked directories "l<name>/", and those that could not be
  // examined, "u<name>", with the reasons.
  struct Children {
    Names names;
    std::map<std::string, Status, std::less<>> unread;
  };

  std::string here() const { return path_.empty() ? "/" : path_; }

  std::string_view relative() const {
    return path_.size() <= root_length_ ? std::string_view()
                                        : std::string_view(path_).substr(root_length_ + 1);
  }

  std::string below_root(std::string_view name) const {
    std::string out(relative());
    if (!out.empty() && !name.empty()) out += '/';
    return out.append(name);
  }

  void problem(std::string_view name, std::string reason) {
    listing_.problems.push_back({below_root(name), std::move(reason)});
  }

  // A name that was listed and cannot be examined; `name` is empty for the folder at path_. Hidden ones are
  // no data.
  Status unread(std::string_view name, const Status& why) {
    std::string path = below_root(name);
    if (is_hidden_path(path))
      listing_.problems.push_back({std::move(path), reason_of(why)});
    else if (unreadable_ == Unreadable::is_left_out)
      listing_.unread.push_back({std::move(path), reason_of(why)});
    else
      return cannot_examine(why, "");
    return {};
  }

  static Status cannot_list(const std::string& path) { return system_error("cannot list", path); }

  // Reads the directory at path_, then everything below it.
  Status enter(Way way) {
    if (above_.size() >= kMaxDepth)
      return unread("", Status(Code::exhausted, "more than 128 nested folders").in_file(path_));
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(open(here()), ::closedir);
    struct stat s;
    if (!directory || ::fstat(::dirfd(directory.get()), &s) != 0)
      return cannot_enter(way, cannot_list(here()));
    const Identity identity{s.st_dev, s.st_ino};
    if (std::ranges::find(above_, identity) != above_.end() ||
        (way == Way::link && is_above_root(identity))) {
      problem("", std::string(kLeadsBack));
      return {};
    }
    if (way == Way::link && is_of_the_kernel(::dirfd(directory.get()))) {
      problem("", "a link that leads to a file system of the kernel");
      return {};
    }
    Children children;
    if (Status status = read(*directory, children); !status.ok()) return cannot_enter(way, status);
    listing_.directories.add(relative());
    listing_.changed_ns.push_back(nanoseconds(s.st_ctim));
    above_.push_back(identity);
    Status status = below(children);
    above_.pop_back();
    return status;
  }

  Status cannot_enter(Way way, const Status& why) { return way == Way::root ? why : unread("", why); }

  // Whether it is a folder that the root is in: a link there would lead through everything beside the data.
  bool is_above_root(Identity identity) {
    if (!knows_above_root_) find_above_root();
    return std::ranges::find(above_root_, identity) != above_root_.end();
  }

  void find_above_root() {
    constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    knows_above_root_ = true;
    const std::string root = root_length_ == 0 ? "/" : path_.substr(0, root_length_);
    int folder = ::open(root.c_str(), kFlags);
    struct stat s;
    for (size_t i = 0; folder >= 0 && i < kMostAbove && ::fstat(folder, &s) == 0; ++i) {
      const Identity identity{s.st_dev, s.st_ino};
      if (!above_root_.empty() && above_root_.back() == identity) break;  // "/", which is above itself
      above_root_.push_back(identity);
      const int above = ::openat(folder, "..", kFlags);
      ::close(folder);
      folder = above;
    }
    if (folder >= 0) ::close(folder);
  }

  static DIR* open(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return nullptr;
    DIR* directory = ::fdopendir(descriptor);
    if (!directory) ::close(descriptor);
    return directory;
  }

  Status read(DIR& directory, Children& children) {
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(&directory);
      if (!entry) return errno == 0 ? Status() : cannot_list(here());
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      const bool linked = entry->d_type != DT_DIR;
      const Entry kind = look(directory, *entry);
      if (kind != Entry::file && is_no_data(name)) continue;
      switch (kind) {
        case Entry::file: children.names.add(std::string("f").append(name)); break;
        case Entry::directory:
          if (named_like_a_file(name)) problem(name, "a folder");
          children.names.add(std::string(linked ? "l" : "d").append(name) + '/');
          break;
        case Entry::neither: problem(name, "neither a file nor a folder"); break;
        case Entry::unknown:
          children.unread.emplace(name, cannot_look(name));
          children.names.add(std::string("u").append(name));
          break;
      }
    }
  }

  // After look() returned `unknown`.
  Status cannot_look(std::string_view name) const {
    const int number = errno;
    const std::string path = path_ + "/" + std::string(name);
    if (number != ENOENT && number != ELOOP) return system_error("cannot access", path);
    return Status(Code::io, std::string(kLeadsNowhere))
        .in_file(path)
        .with({.got = std::string(kLeadsNowhere)})
        .refused(number, path);
  }

  static Entry look(DIR& directory, const dirent& entry) {
    if (entry.d_type == DT_REG) return Entry::file;
    if (entry.d_type == DT_DIR) return Entry::directory;
    if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return Entry::neither;
    struct stat s;
    return ::fstatat(::dirfd(&directory), entry.d_name, &s, 0) == 0 ? kind_of(s.st_mode) : Entry::unknown;
  }

  // Children in the order of their full paths: a directory sorts as its name plus '/', so no overall sort is
  // needed.
  static std::vector<uint32_t> in_order(const Names& children) {
    std::vector<uint32_t> order(children.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return children[a].substr(1) < children[b].substr(1); });
    return order;
  }

  Status below(const Children& children) {
    for (const uint32_t i : in_order(children.names)) {
      const char kind = children.names[i][0];
      const std::string_view name = children.names[i].substr(1);
      if (kind == 'f') {
        listing_.files.add(relative(), name);
        continue;
      }
      if (kind == 'u') {
        HEADRACE_TRY(unread(name, children.unread.find(name)->second));
        continue;
      }
      if (kind == 'l' && ++links_ > kMaxFollowedLinks)
        return Status(Code::exhausted, "more than 100000 links to folders; are they circular?");
      const size_t length = path_.size();
      path_.append("/").append(name.substr(0, name.size() - 1));
      HEADRACE_TRY(enter(kind == 'l' ? Way::link : Way::folder));
      path_.resize(length);
    }
    return {};
  }

  std::string path_;
  Unreadable unreadable_;
  size_t root_length_ = 0;
  Listing listing_;
  std::vector<Identity> above_, above_root_;
  bool knows_above_root_ = false;
  size_t links_ = 0;
};

}  // namespace

Result<Listing> walk(const std::string& root, Unreadable unreadable) { return Walk(root, unreadable).run(); }
Result<Entries> look_into(const std::string& folder, Unreadable unreadable) {
  return Walk(folder, unreadable).only_here();
}

}  // namespace headrace
